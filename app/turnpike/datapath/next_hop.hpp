// SPDX-License-Identifier: BSD-3-Clause
// The next hop: what the FIB's value for a destination is the index of. It says everything that is
// done with the packet, so that forwarding makes one lookup and touches one line.
//
//   0      1        2       3      4     6      8              16             24              32      40     64
//   | kind | reason | flags | used | mtu | 0    | port, iface  | rewrite 0..7 | rewrite 8..15 | group | 0
//
// kind       drop       freed under `reason`; its sender is told where `tells` is set
//            local      one of our addresses: control takes it
//            glean      the neighbour's MAC address is not known: control asks and holds. Which
//                       neighbour that is, control knows by the index: of a connected network the
//                       destination itself, of a gateway's or neighbour's own hop that one
//            adjacency  the neighbour is known: the rewrite bytes are its frames' first ones
//            group      several that share the traffic, by flow (hop_group.hpp), or what recursive routes
//                       lead to: what is done is its member's
//            (tunnel: to come)
// mtu        of the way out, in bytes of layer 3
// port       where the packet leaves, and its interface (whose lists judge it)
// rewrite    destination MAC, source MAC: 12 bytes. What stands before the EtherType; routed packets
//            come untagged and leave untagged, so the type that is there stays
// used       set by workers, taken by control: is a stale neighbour still wanted (RFC 4861 7.3.3)
//
// Reached by index, not by pointer: routes, the FIB's narrow ids and punted packets name it, and a
// neighbour's change of state is a store here instead of one in a thousand routes.
//
// Threads  control writes, workers read while it does. A neighbour has one hop as long as it is known,
//          and what changes of it is `kind` and the first eight bytes of rewrite: one store each, so a
//          worker that saw kind adjacency sees a MAC address that this neighbour had. A hop that nobody
//          names goes back to the free ones only after every worker was quiescent (lib/rcu).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "net/mac.hpp"
#include "packet/drop_reason.hpp"

namespace turnpike::datapath {

struct hop_group;

/// Those from glean on send packets.
enum class hop_kind : uint8_t { drop, local, group, glean, adjacency };

/// Where packets leave.
struct way_out {
    uint16_t port = 0;       ///< place in view::port
    uint16_t interface = 0;  ///< place in view::interfaces
    bool operator==(const way_out&) const = default;
};

struct alignas(64) next_hop {
    std::atomic<hop_kind> kind{hop_kind::drop};
    packet::drop_reason reason = packet::drop_reason::no_route;  ///< kind drop
    bool tells = false;                                          ///< kind drop
    std::atomic<bool> used{false};
    std::atomic<uint16_t> mtu{0};
    alignas(8) way_out out{};
    std::atomic<uint64_t> rewrite_first{0};        ///< destination MAC, two bytes of the source's
    uint32_t rewrite_second = 0;                   ///< the other four
    std::atomic<const hop_group*> group{nullptr};  ///< kind group

    static constexpr uint32_t rewrite_bytes = 12;

    void mark_used() noexcept {
        if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
    }
    void write(uint8_t* frame) const noexcept {
        write(frame, rewrite_first.load(std::memory_order_relaxed), rewrite_second);
    }
    static void write(uint8_t* frame, uint64_t first, uint32_t second) noexcept {
        std::memcpy(frame, &first, sizeof first);
        std::memcpy(frame + sizeof first, &second, sizeof second);
    }
    /// Control, before the hop is published.
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

/// Hops that are always there, so that FIBs and tests can name them.
namespace fixed_hop {
inline constexpr uint32_t no_route = 0;     ///< the FIBs' default; the sender is told
inline constexpr uint32_t blackhole = 1;    ///< dropped in silence
inline constexpr uint32_t unreachable = 2;  ///< dropped, and the sender is told
inline constexpr uint32_t local = 3;
inline constexpr uint32_t broadcast = 4;   ///< a connected network's broadcast or network address
inline constexpr uint32_t prohibited = 5;  ///< dropped, and the sender is told that it may not
inline constexpr uint32_t special_purpose = 6;  ///< RFC 6890: dropped in silence
inline constexpr uint32_t first_free = 7;
}  // namespace fixed_hop

}  // namespace turnpike::datapath
