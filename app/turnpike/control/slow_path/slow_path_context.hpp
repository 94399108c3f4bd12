// SPDX-License-Identifier: BSD-3-Clause
// Context of the slow path's handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/token_bucket.hpp"
#include "control/control_tx.hpp"
#include "control/host_interfaces/host_stack.hpp"
#include "control/neighbours/neighbours.hpp"
#include "control/routing/routes.hpp"

namespace turnpike::control::slow_path {

/// A host with that MAC address uses a local address.
using conflict_callback =
    std::function<void(uint16_t interface, const ip_address&, const mac_address&)>;

/// Threads  control.
struct slow_path_context {
    const std::atomic<const datapath::snapshot*>& published;
    control_tx& out;
    neighbours& known;
    route_tables& tables;
    next_hops& nexthops;
    host_stack& host;
    uint64_t now_ms = 0;
    bool lent = false;  ///< the tables are management's (controller::lend)
    /// The packet that a handler takes was answered during the loan.
    bool answered = false;
    struct held_packet {
        owned_mbuf packet;
        ip_address to;
        uint16_t interface;
    };
    /// Within a callback of `known`, which resolves no other neighbour then: a new entry may evict the one that it works on.
    bool in_neighbours = false;
    /// Originated packets whose neighbour is not resolved: they wait for the end of the loan, or of the callback.
    std::vector<held_packet> held{};

    /// The current interface at an index: kind none if it was removed meanwhile.
    [[nodiscard]] const datapath::interface& interface(uint16_t ifindex) const noexcept {
        return published.load(std::memory_order_relaxed)->interfaces[ifindex];
    }
    /// By the interface's connected networks and on-link routes; a longer route takes precedence.
    [[nodiscard]] bool on_link(uint16_t ifindex, const ip_address& a) const noexcept;
    /// Or a gateway outside of the interface's networks (routes with onlink).
    [[nodiscard]] bool may_be_neighbour(uint16_t ifindex, const ip_address& a) const noexcept {
        return known.knows(ifindex, a) || on_link(ifindex, a);
    }
    /// The next hop of a destination in the VRF of an interface; for a group, the member that a
    /// worker chose, as long as it is a member.
    [[nodiscard]] uint32_t nexthop_of(uint16_t in, const ip_address& to,
                                      uint32_t chosen) const noexcept;
    /// The interface that an originated packet leaves by; `in` if there is none, for a link-local destination, and for a
    /// group with a member by it.
    [[nodiscard]] uint16_t egress_to(uint16_t in, const ip_address& to) const noexcept;
    /// Whether an address is local only in the kernel: of a macvlan, of `lo`.
    [[nodiscard]] bool is_kernels(uint16_t ifindex, const ip_address& a) const noexcept;
    /// Pass an unhandled packet to the kernel if it has the interface, else count it as consumed.
    void deliver_or_consume(owned_mbuf p) noexcept {
        if (!host.has(p.about().in_interface)) return p.consume();
        host.deliver(std::move(p), now_ms);
    }
    /// Route an originated IP packet, which starts behind 14 free bytes.
    /// interface  selects the VRF, and the link of a link-local destination
    void route_own(owned_mbuf p, const ip_address& to, uint16_t interface);
    /// After a loan, and in each iteration.
    /// Requires  !lent
    void route_held() noexcept;

  private:
    static constexpr size_t max_held = 1024;
    void hold(owned_mbuf p, const ip_address& to, uint16_t interface);
};

/// An address of an IP packet, at that offset of its frame.
[[nodiscard]] ip_address address_at(const owned_mbuf& p, uint32_t offset) noexcept;

/// A handler of punted packets; registered by reason (slow_path.hpp).
class handler {
  public:
    explicit handler(slow_path_context& t) : context_(t) {}
    virtual ~handler() = default;
    handler(const handler&) = delete;
    handler& operator=(const handler&) = delete;
    /// May throw bad_alloc: the packet is then dropped as control_memory.
    virtual void handle(owned_mbuf p) = 0;
    /// During a loan: send the reply to a packet that handle() processes after the loan, as slow_path_context::answered, if the published
    /// snapshot suffices for it. False: it does not, or there is none to be sent.
    [[nodiscard]] virtual bool answer(const owned_mbuf&) { return false; }

  protected:
    [[nodiscard]] const datapath::interface& interface_of(const owned_mbuf& p) const noexcept {
        return context_.interface(p.about().in_interface);
    }
    slow_path_context& context_;
};

}  // namespace turnpike::control::slow_path
