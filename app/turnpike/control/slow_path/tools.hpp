// SPDX-License-Identifier: BSD-3-Clause
// What the slow path's handlers work with.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/host_stack.hpp"
#include "control/neighbours.hpp"
#include "control/outlet.hpp"
#include "control/routes.hpp"
#include "control/token_bucket.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
struct tools {
    const std::atomic<const datapath::view*>& published;
    outlet& out;
    neighbours& known;
    route_tables& tables;
    next_hops& hops;
    host_stack& host;
    uint64_t now_ms = 0;

    /// The interface at a place, as it is now: kind none where it has gone meanwhile.
    [[nodiscard]] const datapath::interface& interface(uint16_t place) const noexcept {
        return published.load(std::memory_order_relaxed)->interfaces[place];
    }
    /// By the interface's networks, or by routes to its link.
    [[nodiscard]] bool on_link(uint16_t place, const ip_address& a) const noexcept;
    /// Or a gateway beyond its networks (routes with onlink).
    [[nodiscard]] bool may_be_neighbour(uint16_t place, const ip_address& a) const noexcept {
        return on_link(place, a) || known.knows(place, a);
    }
    /// The hop of a destination of what came in by an interface; of a group's, the member that a worker chose,
    /// while it is one.
    [[nodiscard]] uint32_t hop_of(uint16_t in, const ip_address& to,
                                  uint32_t chosen) const noexcept;
    /// What nobody here ends: the kernel's, where it has the interface, else done with.
    void give_or_consume(packet_in_hand p) noexcept {
        if (!host.has(p.about().in_interface)) return p.consume();
        host.give(std::move(p), now_ms);
    }
    /// Send an IP packet of ours behind 14 free bytes to where its destination is routed.
    /// interface  in whose VRF that is, and that a link-local destination is on
    void route_own(packet_in_hand p, const ip_address& to, uint16_t interface);
};

/// A handler ends the packets that were punted to it; registered by reason (slow_path.hpp).
class handler {
  public:
    explicit handler(tools& t) : tools_(t) {}
    virtual ~handler() = default;
    handler(const handler&) = delete;
    handler& operator=(const handler&) = delete;
    /// May throw bad_alloc: the packet is dropped as control_memory.
    virtual void take(packet_in_hand p) = 0;

  protected:
    [[nodiscard]] const datapath::interface& interface_of(const packet_in_hand& p) const noexcept {
        return tools_.interface(p.about().in_interface);
    }
    tools& tools_;
};

}  // namespace turnpike::control::slow_path
