// SPDX-License-Identifier: BSD-3-Clause
// The next hop: the FIB's value for a prefix is an index into the array of these. A next hop holds
// everything that forwarding needs, so that a routed packet costs one FIB lookup and one cache line.
//
//   0      2      4     6          8             12    16             24              28       29     32      40  64
//   | kind | used | mtu | untagged | port, iface | tag | rewrite 0..7 | rewrite 8..11 | reason | icmp | group | 0 |
//
// The first four are 16 bits wide, and their usual values are the greatest: the minimum of several next hops tells
// whether all are usual (stages/fast_nexthops.hpp).
//
// kind       drop       the packet is freed and counted under `reason`; where `sends_icmp` is set, its
//                       source gets an ICMP error
//            local      one of the router's own addresses: the packet is punted
//            glean      the neighbour's MAC address is unknown: the packet is punted, and control
//                       resolves the address and queues the packet. For the glean next hop of a
//                       connected network the neighbour is the packet's destination address; each
//                       gateway and neighbour entry has a separate next hop, whose index control maps
//                       to the neighbour
//            failed     the neighbour does not answer: the packet is dropped under `reason`, neighbour_failed, and
//                       `used` is set, so that control probes it
//            group      ECMP: the flow's hash chooses a member (nexthop_group.hpp), and the member's kind
//                       applies. Also used for recursive routes, with the next hops that they resolve to
//            adjacency  the neighbour is resolved: `rewrite` is the start of the Ethernet header
// mtu        of the egress interface, in bytes of layer 3; of a group, the routes' own, or 65,535
// port       egress port and interface; the interface's egress ACL applies
// tag        VLAN tag of the egress interface, behind the rewrite; 0: none
// rewrite    destination MAC, source MAC: 12 bytes in front of the tag or EtherType. A routed packet is
//            untagged here, so its EtherType stays in place
// used       set by workers when they send by the next hop, or drop by it as failed; cleared by control, which
//            probes a stale or failed neighbour only where it is in use (RFC 4861 7.3.3)
//
// Next hops are named by index, not by pointer: the FIB's values are narrower than a pointer, and
// when a neighbour's state changes, control stores to one next hop instead of to a thousand routes.
//
// Threads  control writes while workers read. A neighbour keeps its next hop for as long as its entry
//          exists; only `kind` and rewrite_first change in it, each by one store, so a worker that
//          reads kind adjacency reads a MAC address that this neighbour had. An index that is no
//          longer referenced is reused only after a grace period (lib/rcu).
//          names goes back to the free ones only after every worker was quiescent (lib/rcu).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "datapath/drop_reason.hpp"
#include "net/mac.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

struct nexthop_group;

/// Packets are sent by kinds from glean on, and kinds from failed on lead to a neighbour; comparisons rely on the order, and
/// on adjacency being the greatest.
enum class nexthop_kind : uint16_t { drop, local, group, failed, glean, adjacency };

/// Egress port and interface.
struct egress {
    uint16_t port = 0;       ///< index into snapshot::port
    uint16_t interface = 0;  ///< index into snapshot::interfaces
    bool operator==(const egress&) const = default;
};

struct alignas(64) next_hop {
    std::atomic<nexthop_kind> kind{nexthop_kind::drop};
    std::atomic<uint16_t> used{0};  ///< 0 or 1
    std::atomic<uint16_t> mtu{0};
    uint16_t untagged = 1;  ///< 0: `tag` is one
    egress out{};
    uint32_t tag = 0;                        ///< TPID and TCI in network byte order; priority 0
    std::atomic<uint64_t> rewrite_first{0};  ///< destination MAC, first two bytes of the source MAC
    uint32_t rewrite_second = 0;             ///< the other four bytes of the source MAC
    /// kinds drop and failed: drop reason to count
    drop_reason reason = drop_reason::no_route;
    bool sends_icmp = false;  ///< kinds drop and failed: send an ICMP error to the source
    std::atomic<const nexthop_group*> group{nullptr};  ///< kind group; else null

    static constexpr uint32_t rewrite_bytes = 12;

    void mark_used() noexcept {
        if (used.load(std::memory_order_relaxed) == 0) used.store(1, std::memory_order_relaxed);
    }
    void write(uint8_t* frame) const noexcept {
        write(frame, rewrite_first.load(std::memory_order_relaxed), rewrite_second);
    }
    static void write(uint8_t* frame, uint64_t first, uint32_t second) noexcept {
        std::memcpy(frame, &first, sizeof first);
        std::memcpy(frame + sizeof first, &second, sizeof second);
    }
    /// Control, before the hop is published.
    /// vlan  VLAN ID of the egress interface; 0: untagged
    void set_vlan(uint16_t vlan) noexcept {
        const uint32_t type_and_id = uint32_t{packet::ether_type_vlan} << 16 | vlan;
        store_be(reinterpret_cast<uint8_t*>(&tag), vlan == 0 ? 0 : type_and_id);
        untagged = uint16_t{vlan == 0};
    }
    void set_addresses(const mac_address& destination, const mac_address& source) noexcept {
        uint8_t bytes[rewrite_bytes];
        std::memcpy(bytes, destination.bytes, 6);
        std::memcpy(bytes + 6, source.bytes, 6);
        uint64_t first;
        std::memcpy(&first, bytes, sizeof first);
        std::memcpy(&rewrite_second, bytes + sizeof first, sizeof rewrite_second);
        rewrite_first.store(first, std::memory_order_relaxed);
    }
    /// Control, any time: one store.
    void set_destination(const mac_address& destination) noexcept {
        uint64_t first = rewrite_first.load(std::memory_order_relaxed);
        std::memcpy(&first, destination.bytes, sizeof destination.bytes);
        rewrite_first.store(first, std::memory_order_relaxed);
    }
};
static_assert(sizeof(next_hop) == 64);

/// Next hops at fixed indices, for FIBs, routes without a gateway, and tests.
namespace fixed_nexthop {
inline constexpr uint32_t no_route = 0;   ///< the FIB's default; sends an ICMP error
inline constexpr uint32_t blackhole = 1;  ///< route type blackhole: drops without an ICMP error
inline constexpr uint32_t unreachable =
    2;  ///< route type unreachable: drops and sends an ICMP error
inline constexpr uint32_t local = 3;
inline constexpr uint32_t broadcast = 4;  ///< broadcast or network address of a connected network
inline constexpr uint32_t prohibited =
    5;  ///< route type prohibit: sends an ICMP error "administratively prohibited"
inline constexpr uint32_t bogon_destination =
    6;  ///< RFC 6890 special-purpose address: drops without an ICMP error
inline constexpr uint32_t not_followed =
    7;  ///< a route of the kernel that turnpike cannot forward by: sends an ICMP error
inline constexpr uint32_t first_free = 8;
}  // namespace fixed_nexthop

}  // namespace turnpike::datapath
