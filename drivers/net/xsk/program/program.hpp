// SPDX-License-Identifier: BSD-3-Clause
// The BPF program on an interface, which gives packets to AF_XDP sockets: attached by a link, so that
// the kernel takes it off when the process ends, however it ends.
//
// Sources: the kernel's Documentation/networking/af_xdp.rst; bpf(2), BPF_LINK_CREATE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "filter.hpp"

namespace turnpike::xsk {

/// Where it runs: in the NIC's driver, or on the kernel's copy of the packet (any interface).
enum class attach_mode : uint8_t { auto_, driver, skb };

struct program_options {
    std::string iface{};  ///< for messages
    unsigned ifindex = 0;
    attach_mode mode = attach_mode::auto_;  ///< auto_: driver, else skb
    bool replace = false;  ///< take a netlink-attached program off, put it back at the end
    std::optional<filter>
        keep{};               ///< what stays with the kernel; none: every packet is for the sockets
    bool fragments = false;   ///< frames in several buffers ("xdp.frags"), where the kernel has it
    unsigned max_queues = 1;  ///< sockets that the XSKMAP has room for
};

struct filter_counters {
    uint64_t packets = 0;              ///< kept by the kernel, all CPUs
    std::vector<uint64_t> by_entry{};  ///< of each entry of the filter
};

/// Threads  one at a time, except kept_by_kernel(), still_attached() and the accessors: any
class program {
  public:
    /// Load and attach.
    /// Errors  EBUSY: a program is attached already, named; EPERM: names the capability or limit that
    ///         is missing; ENODEV, EOPNOTSUPP...: what the kernel said, in words
    [[nodiscard]] static result<std::unique_ptr<program>> attach(const program_options& options);

    program(const program&) = delete;
    program& operator=(const program&) = delete;
    /// detach(), whatever it says
    ~program();
    /// Take the program off and put a replaced one back where it was; no more than once.
    /// Errors  EBUSY: another has attached a program meanwhile; what the kernel says
    [[nodiscard]] result<void> detach();

    [[nodiscard]] int xskmap_fd() const noexcept;
    /// Loaded so that it takes frames in several buffers.
    [[nodiscard]] bool fragments() const noexcept;
    /// driver or skb
    [[nodiscard]] attach_mode attached_mode() const noexcept;

    /// From now on packets of this queue go to the socket. Errors: EINVAL, E2BIG: the kernel's reasons
    [[nodiscard]] result<void> set_socket(unsigned queue, int xsk_fd);
    /// Packets of this queue go to the kernel again.
    void clear_socket(unsigned queue) noexcept;

    [[nodiscard]] filter_counters kept_by_kernel() const;
    /// False once the interface is gone, or another has taken the program off.
    [[nodiscard]] bool still_attached() const noexcept;

  private:
    struct state;
    explicit program(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::xsk
