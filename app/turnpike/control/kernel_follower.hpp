// SPDX-License-Identifier: BSD-3-Clause
// Follows what the kernel of a network namespace says: all that there is first, then what changes; and all
// anew, beside what is known, where something may have been missed. What is learned changes only when the new
// picture is whole, so that what is compared is two wholes.
//
//   start, ENOBUFS, doubt --> asking: links, addresses, neighbours, next hops, routes --> whole --> events --> ...
#pragma once

#include <optional>

#include "netlink/link_socket.hpp"
#include "sources/kernel_mirror.hpp"

namespace turnpike::control {

/// Threads  control. Nothing waits.
class kernel_follower {
  public:
    /// socket  listens to groups()
    kernel_follower(netlink::link_socket socket, sources::kernel_mirror::followed ours);
    [[nodiscard]] static std::span<const unsigned> groups() noexcept;

    void set_ours(sources::kernel_mirror::followed ours);
    /// We have taken it away ourselves; what the kernel says of that comes later.
    void forget_address(uint32_t interface, const ip_prefix& a);
    /// Take what has come, for a bounded time.
    /// Answers  whether there is something new to learn
    [[nodiscard]] bool follow(uint64_t now_ms);
    [[nodiscard]] const state::learned& learned() const noexcept { return known_.learned(); }
    [[nodiscard]] const sources::kernel_mirror& known() const noexcept { return known_; }

    /// For operators.
    struct numbers {
        uint64_t messages = 0, refused = 0, overruns = 0, whole = 0;
        bool asking = true;
    };
    [[nodiscard]] numbers counted() const noexcept;

  private:
    void begin(uint64_t now_ms);
    void ask();
    void take(const netlink::message& m);
    void lost();

    netlink::link_socket socket_;
    sources::kernel_mirror::followed ours_;
    sources::kernel_mirror known_;
    std::optional<sources::kernel_mirror> next_{};  ///< while all is asked for
    bool fresh_ = false;                            ///< known_ has just become whole
    size_t step_ = 0;
    uint32_t sequence_ = 0;
    bool interrupted_ = false;
    bool answered_ = false;  ///< the first answer to what is asked for has come
    uint64_t may_begin_ms_ = 0;
    numbers numbers_{};
    std::vector<uint8_t> buffer_;
};

}  // namespace turnpike::control
