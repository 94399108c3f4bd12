// SPDX-License-Identifier: BSD-3-Clause
// The thread that writes a capture as pcapng to a client's descriptor: a file, a pipe or a socket. It may lag: packets are
// then lost, and counted, in the producers' rings. It ends by itself, after it is told to, after a number of packets, or
// when the descriptor takes no more; nothing waits for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/owned_fd.hpp"
#include "base/result.hpp"
#include "control/forwarding/ports.hpp"
#include "datapath/capture.hpp"

namespace turnpike::control {

struct captured_port {
    uint16_t index = 0;
    std::string name{}, description{};
    uint64_t bits_per_second = 0;
};

/// State that control, the workers and the thread share; the last one frees it.
struct capture_session {
    capture_session(datapath::capture_filter f, datapath::packet_mask of_ports, size_t producers)
        : packets(std::move(f), of_ports, producers) {
        for (auto& one : interface_of_) one.store(no_interface, std::memory_order_relaxed);
    }

    datapath::capture packets;
    std::vector<captured_port> ports{};  ///< at the beginning; in the file, the interfaces
    std::string filter_text{}, version{};
    uint64_t max_packets = 0;  ///< 0: no limit
    uint64_t tsc_hz = 0;

    std::atomic<bool> stop{false};  ///< set by control
    std::atomic<bool> done{false};  ///< set by the thread: the descriptor is closed
    std::atomic<uint64_t> written{0}, bytes{0}, unwritten{0};
    std::atomic<uint64_t> timed_by_device{0};  ///< packets with the time of a device's timestamp

    [[nodiscard]] std::string why() const {
        const std::lock_guard hold(lock_);
        return why_;
    }
    void end_because(std::string text) {
        const std::lock_guard hold(lock_);
        if (why_.empty()) why_ = std::move(text);
    }

    /// The file has the port's packets under an interface. (A reopened port has another index.)
    void follow(uint16_t port, size_t interface) noexcept;
    [[nodiscard]] uint8_t interface_of(uint16_t port) const noexcept {
        return interface_of_[port].load(std::memory_order_relaxed);
    }
    /// Totals of an interface.
    [[nodiscard]] datapath::capture::counts counted(size_t interface) const noexcept;

    void set_clocks(const clock_lines& now) {
        const std::lock_guard hold(lock_);
        clocks_ = now;
    }
    [[nodiscard]] clock_lines clocks() const {
        const std::lock_guard hold(lock_);
        return clocks_;
    }

  private:
    mutable std::mutex lock_;
    std::string why_{};  ///< why it ended by itself
    static constexpr uint8_t no_interface = UINT8_MAX;
    static_assert(datapath::max_ports < no_interface);
    /// By port.
    std::array<std::atomic<uint8_t>, datapath::max_ports> interface_of_{};
    clock_lines clocks_{};
    /// By lock_: the counts of an interface by its earlier ports, and the counts of a port when it became an interface's.
    std::array<datapath::capture::counts, datapath::max_ports> earlier_{}, begun_{};
};

/// Starts the thread.
/// Errors  EAGAIN: no thread; `to` stays the caller's
[[nodiscard]] result<void> write_capture(std::shared_ptr<capture_session> s, owned_fd&& to);

}  // namespace turnpike::control
