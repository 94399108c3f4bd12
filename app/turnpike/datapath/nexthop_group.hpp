// SPDX-License-Identifier: BSD-3-Clause
// The ECMP group: next hops that share a route's traffic by flow. The flow's hash selects a bucket, the
// bucket a member, the member its next hop; control assigns buckets to members (control/routing/ecmp_buckets.hpp).
//
//   next_hop (kind group) ---> nexthop_group: mask, hop[256], then a byte a bucket
//   hash & mask = 3 ------------------------------------------> | 1 | 0 | 0 | 1 | 0 |...  member 1's hop
//
// A published group is immutable; to change one, control stores a pointer to a new group in the
// next hop, for all routes that use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>

namespace turnpike::datapath {

struct nexthop_group {
    static constexpr size_t max_members = 256;
    static constexpr uint32_t max_buckets = 65536;

    uint32_t mask = 0;  ///< number of buckets, a power of two, minus one
    uint32_t members = 0;
    /// by member: indices of next hops of kind adjacency, glean or drop
    std::array<uint32_t, max_members> nexthop{};

    [[nodiscard]] uint32_t choose(uint32_t hash) const noexcept {
        return nexthop[bucket()[hash & mask]];
    }
    [[nodiscard]] uint32_t buckets() const noexcept { return mask + 1; }
    /// [buckets] index of the member
    [[nodiscard]] const uint8_t* bucket() const noexcept {
        return reinterpret_cast<const uint8_t*>(this + 1);
    }
    [[nodiscard]] uint8_t* bucket() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
    [[nodiscard]] bool has(uint32_t of) const noexcept {
        for (uint32_t m = 0; m < members; ++m)
            if (nexthop[m] == of) return true;
        return false;
    }

    struct free {
        void operator()(nexthop_group* g) const noexcept { ::operator delete(g); }
    };
    using owned = std::unique_ptr<nexthop_group, free>;
    /// All buckets belong to the first member. Throws std::bad_alloc.
    static owned make(uint32_t buckets) {
        static_assert(std::is_trivially_destructible_v<nexthop_group>);
        owned made(new (::operator new(sizeof(nexthop_group) + buckets)) nexthop_group());
        made->mask = buckets - 1;
        std::uninitialized_fill_n(made->bucket(), buckets, uint8_t{0});
        return made;
    }
};

}  // namespace turnpike::datapath
