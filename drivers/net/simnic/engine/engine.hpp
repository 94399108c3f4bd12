// SPDX-License-Identifier: BSD-3-Clause
// The device: its queues, its wire, its clock. One poll() does what there is to do now; who calls it
// (the driver's bursts, or a thread of the device's own) is decided outside.
//
// Wire time follows the TSC, but never by more than `stall_us` from one poll to the next. Where the
// machine takes the CPU away for a while, the wire stops too: losses say what the forwarder lost, not
// what the scheduler did. And a poll moves no more than the host asks for (rx_budget), so with engine=inline
// a forwarder that is merely slow slows the wire down; it loses where it posts too few buffers.
// With engine=thread the device waits for nobody: what a slow or stalled host does not take is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

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
    double link_gbps = 0;  ///< 0: the wire does not pace
    bool cold = false;     ///< what the device writes stays in no cache (eviction.hpp)
    uint64_t tsc_hz = 1'000'000'000;
    uint16_t rx_queues = 16, tx_queues = 16;
};

/// Which frames are for the host. Threads: control writes, the engine reads.
struct rx_filter {
    static constexpr uint32_t most = 64;
    std::atomic<bool> promiscuous{false}, all_multicast{false};
    std::atomic<bool> verify_checksums{false}, strip_tags{false};
    packet::mac_address own{};         // under the engine's lock
    packet::mac_address also[most]{};  // likewise
    uint32_t also_count = 0;

    /// Where the port is not promiscuous.
    [[nodiscard]] bool takes(const uint8_t* frame) const noexcept;
};

class engine {
  public:
    engine(const engine_settings& s, memory::source from, const std::atomic<uint64_t>* generation,
           std::unique_ptr<wire> w);

    /// Work, unless another thread is at it.
    /// rx_budget  frames to receive at most
    void poll(uint32_t rx_budget) noexcept;
    /// Only what is to be sent.
    void poll_tx() noexcept { poll(0); }

    /// Control: runs `change` while no poll does.
    template <class Change>
    void exclusively(Change change) noexcept {
        lock();
        change();
        unlock();
    }
    /// Control: what was posted to these queues (a bit each) is sent and answered; polls go on meanwhile.
    /// What a second of wire time does not move, for it lies nowhere, stays. The queues in use only, to
    /// which nobody posts any more.
    void drain(uint32_t queues = ~0u) noexcept;

    /// Queues 0 to n - 1 work from here on. Within exclusively().
    void set_queues(uint16_t rx, uint16_t tx) noexcept;
    rx_ring& rx(uint16_t queue) noexcept { return *rx_[queue]; }
    tx_ring& tx(uint16_t queue) noexcept { return *tx_[queue]; }
    rx_filter& filter() noexcept { return filter_; }
    simnic::rss& scaling() noexcept { return rss_; }
    /// Whether answers bear the hash.
    void report_hash(bool on) noexcept { report_hash_.store(on, std::memory_order_relaxed); }
    simnic::wire& line() noexcept { return *wire_; }
    /// Control: a link that is down brings nothing in, and what the host sends is lost on it. What has
    /// come already stays. Once this has returned, no poll goes on as before.
    void set_link(bool up) noexcept;
    /// Pulled out: the link does not come up again.
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
    /// Control waits for its turn: a thread that polls lets it in.
    [[nodiscard]] bool wanted() const noexcept {
        return wanted_.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] uint16_t rx_queues() const noexcept { return static_cast<uint16_t>(rx_.size()); }
    [[nodiscard]] uint16_t tx_queues() const noexcept { return static_cast<uint16_t>(tx_.size()); }

    cost::counter cycles{}, polls{}, missed{}, filtered{};
    cost::counter link_tx_lost{};  ///< to set_link(false)

  private:
    static constexpr uint64_t stall_us = 100;
    static constexpr uint64_t patience_us = 20;
    /// testpmd's longest burst: a host that posts as fast as the device sends does not keep a poll for ever.
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
    /// What is asked for, read once a batch.
    struct wishes {
        bool promiscuous, verify_checksums, strip_tags, hash, report_hash;
    };
    void look_at(const outgoing& frame, const wishes& w, incoming& in) const noexcept;

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
    uint32_t tx_turn_ = 0;  // the queue that is next to send, if it has something
    alignas(64) std::atomic<bool> busy_{false};
    std::atomic<uint32_t> wanted_{0};
};

}  // namespace turnpike::simnic
