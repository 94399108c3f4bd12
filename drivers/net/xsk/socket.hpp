// SPDX-License-Identifier: BSD-3-Clause
// An AF_XDP socket on one queue of an interface: its UMEM, rings and counters.
//
// Source: Documentation/networking/af_xdp.rst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "devargs.hpp"
#include "frames.hpp"
#include "interface.hpp"
#include "ring.hpp"

namespace turnpike::xsk {

struct socket_settings {
    std::string iface{};   ///< for messages
    std::string driver{};  ///< the kernel driver: sockets on the same pool and driver share a UMEM
    unsigned ifindex = 0;
    uint32_t queue = 0;
    bind_mode mode = bind_mode::auto_;
    bool multi_buffer = false;
    /// Wait for a busy queue: the kernel may not have released a socket that was just closed.
    bool patient = true;
    uint32_t busy_budget = 0;
    uint32_t rx_entries = 0, tx_entries = 0;  ///< powers of two; 0: no ring
    frame_layout frames{};
};

/// Threads  control; the rings: their queue's thread
class socket {
  public:
    /// Errors  EPERM, ENOBUFS: names the missing capability or limit; EBUSY: the queue has a socket
    ///         already; EINVAL: no such queue, or the pool's memory; EOPNOTSUPP: the mode
    [[nodiscard]] static result<std::unique_ptr<socket>> open(const socket_settings& s);
    /// After it returns, the kernel owns no frames.
    ~socket();
    socket(const socket&) = delete;
    socket& operator=(const socket&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] bool zero_copy() const noexcept { return zero_copy_; }
    /// Maximum descriptors of a frame to send.
    [[nodiscard]] uint32_t max_parts() const noexcept { return max_parts_; }
    /// The socket shares the UMEM of another socket on the same pool.
    [[nodiscard]] bool shares() const noexcept { return shares_; }
    [[nodiscard]] const ring_memory& rx() const noexcept { return rx_.memory; }
    [[nodiscard]] const ring_memory& tx() const noexcept { return tx_.memory; }
    [[nodiscard]] const ring_memory& fill() const noexcept { return fill_.memory; }
    [[nodiscard]] const ring_memory& completion() const noexcept { return completion_.memory; }
    /// The kernel's counters since the socket was created.
    [[nodiscard]] xdp_statistics kernel_statistics() const noexcept;

  private:
    /// A mapped ring.
    struct mapping {
        void* at = nullptr;
        size_t bytes = 0;
        ring_memory memory{};
    };
    explicit socket(const socket_settings& s) : s_(s) {}
    result<void> make_rings();
    result<void> map_rings();
    result<void> set_options();
    result<void> join_umem();
    result<void> make_umem();
    int bind_to(uint16_t flags, int shared_umem_fd) const noexcept;

    const socket_settings s_;
    owned_fd fd_{};
    mapping rx_{}, tx_{}, fill_{}, completion_{};
    bool zero_copy_ = false, shares_ = false;
    uint32_t max_parts_ = 1;
};

/// Waits until the kernel and the NIC have released a closed socket on that queue, two seconds at
/// most. Threads any.
void wait_for_release(unsigned ifindex, uint32_t queue) noexcept;

}  // namespace turnpike::xsk
