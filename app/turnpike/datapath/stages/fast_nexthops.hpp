// SPDX-License-Identifier: BSD-3-Clause
// The next hops of a burst in stage ip_fast: one for all packets, or one for each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "datapath/burst.hpp"
#include "datapath/next_hop.hpp"
#include "isa/simd/v128.hpp"

namespace turnpike::datapath {
namespace {

using nexthop_indices = std::array<uint64_t, burst_max>;

/// One next hop for all packets of a burst, the most frequent case: many flows, few neighbours.
class single_nexthop {
  public:
    static constexpr bool have_one_tag = true;  ///< where there is a tag, all have it
    explicit single_nexthop(next_hop& nexthop) noexcept
        : nexthop_(nexthop),
          known_(nexthop.kind.load(std::memory_order_acquire) == nexthop_kind::adjacency),
          mtu_(nexthop.mtu.load(std::memory_order_relaxed)),
          out_(nexthop.out),
          tag_(nexthop.tag),
          first_(nexthop.rewrite_first.load(std::memory_order_relaxed)),
          second_(nexthop.rewrite_second) {}

    [[nodiscard]] egress out(uint32_t) const noexcept { return out_; }
    [[nodiscard]] bool usual(uint32_t max_bytes) const noexcept {
        return known_ && max_bytes <= mtu_;
    }
    [[nodiscard]] bool accepts(uint32_t, uint32_t l3_bytes) const noexcept {
        return known_ && l3_bytes <= mtu_;
    }
    void mark_used(packet_mask packets) const noexcept {
        if (packets != 0) nexthop_.mark_used();
    }
    /// Some egress interface sends with a VLAN tag.
    [[nodiscard]] bool tags() const noexcept { return tag_ != 0; }
    [[nodiscard]] uint32_t tag(uint32_t) const noexcept { return tag_; }
    /// Answers  egress port and interface
    egress write(uint32_t, uint8_t* frame) const noexcept {
        next_hop::write(frame, first_, second_);
        return out_;
    }

  private:
    next_hop& nexthop_;
    const bool known_;
    const uint16_t mtu_;
    const egress out_;
    const uint32_t tag_;
    const uint64_t first_;
    const uint32_t second_;
};

/// A next hop per packet. The minimum of the hops' first words tests a burst at once. (SSE4.2 is
/// DPDK's minimum.)
class per_packet_nexthops {
  public:
    static constexpr bool have_one_tag = false;
    per_packet_nexthops(next_hop* nexthops, const nexthop_indices& nexthop, uint32_t n) noexcept
        : nexthops_(nexthops), nexthop_(nexthop.data()) {
        static_assert(offsetof(next_hop, kind) == 0 && offsetof(next_hop, used) == 2 &&
                      offsetof(next_hop, mtu) == 4 && offsetof(next_hop, untagged) == 6);
        v128 least = v128::set1(~0U);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i)
            least = v128::least_halves(
                least, v128::load_row(reinterpret_cast<const uint8_t*>(&nexthops[nexthop[i]]), 0));
        const uint64_t says = least.word<0>();
        known_ = static_cast<uint16_t>(says) == uint16_t(nexthop_kind::adjacency);
        all_used_ = static_cast<uint16_t>(says >> 16) != 0;
        least_mtu_ = static_cast<uint16_t>(says >> 32);
        any_tag_ = says >> 48 == 0;
        // Load the rewrite after the kind: the reverse of control's order of stores (next_hop.hpp).
        std::atomic_signal_fence(std::memory_order_acquire);
    }

    [[nodiscard]] egress out(uint32_t i) const noexcept { return of(i).out; }
    [[nodiscard]] bool usual(uint32_t max_bytes) const noexcept {
        return known_ && max_bytes <= least_mtu_;
    }
    [[nodiscard]] bool accepts(uint32_t i, uint32_t l3_bytes) const noexcept {
        return of(i).kind.load(std::memory_order_acquire) == nexthop_kind::adjacency &&
               l3_bytes <= of(i).mtu.load(std::memory_order_relaxed);
    }
    void mark_used(packet_mask packets) const noexcept {
        if (!all_used_) [[unlikely]]
            for_each(packets, [&](uint32_t i) { of(i).mark_used(); });
    }
    [[nodiscard]] bool tags() const noexcept { return any_tag_; }
    [[nodiscard]] uint32_t tag(uint32_t i) const noexcept { return of(i).tag; }
    egress write(uint32_t i, uint8_t* frame) const noexcept {
        const next_hop& by = of(i);
        by.write(frame);
        return by.out;
    }

  private:
    [[nodiscard]] next_hop& of(uint32_t i) const noexcept { return nexthops_[nexthop_[i]]; }

    next_hop* const nexthops_;
    const uint64_t* const nexthop_;
    bool known_, all_used_, any_tag_;
    uint32_t least_mtu_;
};

/// Whether all packets have one next hop. Compares two at a time: all pairs with the first pair.
bool all_same(const nexthop_indices& nexthop, uint32_t n) noexcept {
    const v128 first = v128::load_any(&nexthop[0]);
    v128 differ = v128::set1(0);
    uint32_t i = 2;
    for (; i + 2 <= n; i += 2) differ = differ | (v128::load_any(&nexthop[i]) ^ first);
    const uint64_t last = nexthop[n - 1];
    return (n < 2 || nexthop[0] == nexthop[1]) && nexthop[0] == last && !v128::any(differ);
}

}  // namespace
}  // namespace turnpike::datapath
