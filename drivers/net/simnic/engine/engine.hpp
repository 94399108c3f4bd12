// SPDX-License-Identifier: BSD-3-Clause
// The device: its queues, its wire, its clock. One poll() does all pending work; the driver's
// bursts or the device's own thread call it.
//
// Wire time follows the TSC, but advances by at most `stall_us` from one poll to the next. While
// the scheduler preempts the process, the wire stops too: loss counters show frames that the
// forwarder lost, not frames lost to the scheduler. With engine=inline a poll delivers no more
// frames than the host asks for (rx_budget), so a slow forwarder slows down the wire and loses
// frames only when it posts too few buffers. With engine=thread the device does not wait for the
// host: frames for which a slow or stalled host posted no buffer are lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "engine/bus.hpp"
#include "engine/rss.hpp"
#include "engine/rx_ring.hpp"
#include "engine/tx_ring.hpp"
#include "packet/headers.hpp"
#include "pcie/link.hpp"
#include "policy.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

struct engine_settings {
    simnic::policy policy{};
    pcie::link link{};
    double link_gbps = 0;  ///< 0: unpaced
    bool cold = false;     ///< evict device writes from the caches (eviction.hpp)
    uint64_t tsc_hz = 1'000'000'000;
    uint16_t rx_queues = 16, tx_queues = 16;
};

/// Destination MAC filter. Threads: control writes, the engine reads.
struct rx_filter {
    static constexpr uint32_t most = 64;
    std::atomic<bool> promiscuous{false}, all_multicast{false};
    std::atomic<bool> verify_checksums{false}, strip_tags{false};
    packet::mac_address own{};         // under the engine's lock
    packet::mac_address also[most]{};  // likewise
    uint32_t also_count = 0;

    /// Applies unless the port is promiscuous.
    [[nodiscard]] bool accepts(const uint8_t* frame) const noexcept;
};

class engine {
  public:
    engine(const engine_settings& s, memory::source from, const std::atomic<uint64_t>* generation,
           std::unique_ptr<wire> w);

    /// Do pending work, unless another thread holds the lock.
    ///
    /// rx_budget  maximum number of frames to receive
    void poll(uint32_t rx_budget) noexcept;
    /// Transmit only.
    void poll_tx() noexcept { poll(0); }

    /// Control: run `change` while no poll runs.
    template <class Change>
    void exclusively(Change change) noexcept {
        lock();
        change();
        unlock();
    }
    /// Control: transmit and write back descriptors posted to these queues (bitmap) while polls
    /// continue. Frames that a second of wire time does not move remain: their addresses do not
    /// translate. Call it only for queues in use, after the last post.
    void drain(uint32_t queues = ~0u) noexcept;

    /// Enable queues 0 to n - 1. Call it within exclusively().
    void set_queues(uint16_t rx, uint16_t tx) noexcept;
    rx_ring& rx(uint16_t queue) noexcept { return *rx_[queue]; }
    tx_ring& tx(uint16_t queue) noexcept { return *tx_[queue]; }
    rx_filter& filter() noexcept { return filter_; }
    simnic::rss& scaling() noexcept { return rss_; }
    /// Report the RSS hash in RX descriptors.
    void report_hash(bool on) noexcept { report_hash_.store(on, std::memory_order_relaxed); }
    simnic::wire& line() noexcept { return *wire_; }
    /// Control: a link that is down delivers no frames, and frames that the host sends on it are
    /// lost. Frames received before stay in the rings. After it returns, no poll uses the previous
    /// state.
    void set_link(bool up) noexcept;
    /// Remove the device: the link does not come up again.
    void vanish() noexcept {
        gone_.store(true, std::memory_order_relaxed);
        set_link(false);
    }
    [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool link_up() const noexcept {
        return link_.load(std::memory_order_relaxed) && wire_->up();
    }
    simnic::bus& pcie_bus() noexcept { return bus_; }
    const engine_settings& settings() const noexcept { return settings_; }
    /// Control waits for the lock: a polling thread must yield it.
    [[nodiscard]] bool wanted() const noexcept {
        return wanted_.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] uint16_t rx_queues() const noexcept { return static_cast<uint16_t>(rx_.size()); }
    [[nodiscard]] uint16_t tx_queues() const noexcept { return static_cast<uint16_t>(tx_.size()); }

    counters::counter cycles{}, polls{}, missed{}, filtered{};
    counters::counter link_tx_lost{};  ///< frames sent after set_link(false)

  private:
    static constexpr uint64_t stall_us = 100;
    static constexpr uint64_t patience_us = 20;
    /// testpmd's longest burst. Bounds a poll even if the host posts as fast as the device sends.
    static constexpr uint32_t tx_frames_a_poll = 512;

    bool try_lock() noexcept { return !busy_.exchange(true, std::memory_order_acquire); }
    void lock() noexcept;
    void unlock() noexcept { busy_.store(false, std::memory_order_release); }
    void advance_clock(uint64_t now) noexcept;
    bool transmit(uint64_t now) noexcept;
    void send_posted(uint32_t patient) noexcept;
    uint32_t send_some(tx_ring& ring, bool patient, uint32_t most) noexcept;
    void receive(uint32_t budget) noexcept;
    uint32_t deliver(std::span<const outgoing> frames) noexcept;
    /// Settings, read once per batch.
    struct wishes {
        bool promiscuous, verify_checksums, strip_tags, hash, report_hash;
    };
    void read_frame(const outgoing& frame, const wishes& w, incoming& in) const noexcept;

    const engine_settings settings_;
    simnic::bus bus_;
    std::unique_ptr<simnic::wire> wire_;
    std::vector<std::unique_ptr<rx_ring>> rx_;
    std::vector<std::unique_ptr<tx_ring>> tx_;
    rx_filter filter_{};
    simnic::rss rss_{};
    std::atomic<bool> report_hash_{false};
    std::atomic<bool> link_{true};  // written under the lock
    std::atomic<bool> gone_{false};
    pace tx_pace_{};
    uint16_t rx_in_use_ = 0, tx_in_use_ = 0;
    uint64_t last_tsc_ = 0, wire_time_ = 0, stall_cycles_ = 0, patience_cycles_ = 0;
    uint64_t tail_moved_at_ = 0;
    uint32_t tx_turn_ = 0;  // the next queue to serve
    alignas(cache_line_bytes) std::atomic<bool> busy_{false};
    std::atomic<uint32_t> wanted_{0};
};

}  // namespace turnpike::simnic
