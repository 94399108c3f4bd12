// SPDX-License-Identifier: BSD-3-Clause
// Objects of the kernel that found no room and are left out, while everything else of the kernel is followed. They
// are tried again with each change, and when room appears (controller::retry_left_out).
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::control {

/// In place of a next hop's index: no room for it.
inline constexpr uint32_t no_nexthop = UINT32_MAX;

/// The part of a table that the kernel's objects may not fill: one entry in this many stays free for the operator's
/// objects and for hosts on the links.
inline constexpr uint32_t reserved_share = 8;

struct left_out {
    size_t fib = 0;         ///< routes: the FIB is full
    size_t neighbours = 0;  ///< routes: no neighbour entry for any of their next hops
    size_t groups = 0;      ///< routes: no next hop for their ECMP group
    /// next hops of ECMP groups whose other members are in use: no neighbour entry
    size_t paths = 0;
    size_t permanent = 0;  ///< permanent neighbours
    /// Calls f(reason, count) for each reason, by the names that reports and metrics use.
    void each(auto&& f) const {
        f("fib_full", fib);
        f("no_neighbour_entry", neighbours);
        f("no_next_hop", groups);
        f("paths", paths);
        f("permanent_neighbours", permanent);
    }
    [[nodiscard]] bool any() const noexcept { return *this != left_out{}; }
    bool operator==(const left_out&) const = default;
};

}  // namespace turnpike::control
