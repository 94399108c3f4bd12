// SPDX-License-Identifier: BSD-3-Clause
// The XDP program that redirects packets to AF_XDP sockets. A BPF link attaches it, so that the
// kernel detaches it when the process ends for any reason.
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

/// XDP mode: native, in the NIC's driver, or generic, on skbs (any interface).
enum class attach_mode : uint8_t { auto_, driver, skb };

struct program_options {
    std::string iface{};  ///< for messages
    unsigned ifindex = 0;
    attach_mode mode = attach_mode::auto_;  ///< auto_: driver, else skb
    bool replace = false;          ///< detach a netlink-attached program and restore it at the end
    std::optional<filter> keep{};  ///< packets that go to the kernel; empty: all go to the sockets
    bool fragments = false;   ///< multi-buffer frames ("xdp.frags"), if the kernel supports them
    unsigned max_queues = 1;  ///< size of the XSKMAP
};

struct filter_counters {
    uint64_t packets = 0;              ///< packets passed to the kernel, all CPUs
    std::vector<uint64_t> by_entry{};  ///< packets matched by each filter entry
};

/// Threads  one at a time, except kept_by_kernel(), still_attached() and the accessors: any
class program {
  public:
    /// Load and attach.
    ///
    /// Errors  EBUSY: names the program that is already attached; EPERM: names the missing
    ///         capability or limit; ENODEV, EOPNOTSUPP...: the kernel's error, explained
    [[nodiscard]] static result<std::unique_ptr<program>> attach(const program_options& options);

    program(const program&) = delete;
    program& operator=(const program&) = delete;
    /// Calls detach() and ignores its errors.
    ~program();
    /// Detach the program and restore a replaced one; call it at most once.
    ///
    /// Errors  EBUSY: another process has attached a program since; else the kernel's
    [[nodiscard]] result<void> detach();

    [[nodiscard]] int xskmap_fd() const noexcept;
    /// The program accepts multi-buffer frames.
    [[nodiscard]] bool fragments() const noexcept;
    /// driver or skb
    [[nodiscard]] attach_mode attached_mode() const noexcept;

    /// Redirect packets of this queue to the socket. Errors: EINVAL, E2BIG: the kernel's
    [[nodiscard]] result<void> set_socket(unsigned queue, int xsk_fd);
    /// Pass packets of this queue to the kernel again.
    void clear_socket(unsigned queue) noexcept;

    [[nodiscard]] filter_counters kept_by_kernel() const;
    /// False after the interface was removed or another process detached the program.
    [[nodiscard]] bool still_attached() const noexcept;

  private:
    struct state;
    explicit program(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace turnpike::xsk
