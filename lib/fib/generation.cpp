// SPDX-License-Identifier: BSD-3-Clause
#include "fib/generation.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace turnpike::fib {
namespace {

// Below this size a table's nodes stay in L2, whose latency a core hides without a prefetch: on a Zen 4 (1 MB of
// L2) a second pass costs 1.0 cycles a lookup, and is worth it from 512 KB on.
constexpr uint64_t prefetch_from_bytes = 256 * 1024;

}  // namespace

id_coding id_coding::fitting(const next_hops& all, bool ipv4) {
    uint64_t greatest = 0;
    for (uint32_t h = 0; h < all.bound(); ++h)
        if (all.in_use(h)) greatest = std::max(greatest, all.value(h));
    for (const uint8_t bytes : {uint8_t{1}, uint8_t{2}, uint8_t{4}}) {
        if (!ipv4 && bytes != 4) continue;
        if (greatest < layout::id_limit(ipv4 ? bytes : 2)) return {bytes, false, true, 0};
        if (all.bound() < layout::id_limit(bytes)) {
            const uint32_t room = std::bit_ceil(std::max(256U, all.bound() + all.bound() / 8));
            return {bytes, false, false, std::max(room, bytes == 2 ? 4096U : 256U)};
        }
    }
    return {4, false, false, std::bit_ceil(all.bound() + all.bound() / 8)};
}

uint32_t id_coding::limit() const noexcept {
    return identity ? layout::id_limit(bytes) : std::min(nexthops, layout::id_limit(bytes));
}

bool id_coding::holds(uint32_t handle, uint64_t value) const noexcept {
    return identity ? value < limit() : handle < limit();
}

uint32_t id_coding::root_leaf_units(bool ipv4) const noexcept {
    return arena::units(ipv4 ? node_bytes(node_kind::block, 1, 0, bytes) : layout::page_align);
}

generation::generation(const memory& from, const plan& p)
    : nodes(from, p.arena_bytes), from_(from), plan_(p) {
    const auto zeroed = [&](uint64_t bytes) {
        void* got = from_.allocate(from_.context, bytes, 64);
        if (got != nullptr) std::memset(got, 0, bytes);
        return got;
    };
    if (!nodes.valid()) return;
    root_ = static_cast<uint32_t*>(zeroed(root_bytes()));
    if (!p.coding.identity) {
        nexthops_ = static_cast<uint64_t*>(zeroed(nexthops_bytes()));
        nexthops_valid_ = nexthops_ != nullptr;
        if (nexthops_valid_) nexthops_[layout::escape_id] = ~uint64_t{0};
    }
    view_.root = root_;
    view_.nodes = nodes.base();
    view_.nexthops = nexthops_;
    view_.id_bytes = p.coding.bytes;
    view_.network_order = p.network_order;
    view_.prefetch = true;
    view_.direct = p.coding.direct;
}

generation::~generation() {
    if (root_ != nullptr) from_.release(from_.context, root_);
    if (nexthops_ != nullptr) from_.release(from_.context, nexthops_);
}

void generation::settle() noexcept { view_.prefetch = nodes.live_bytes() > prefetch_from_bytes; }

slot_entry generation::leaf(uint32_t handle, uint64_t value) noexcept {
    if (plan_.coding.identity) return (static_cast<slot_entry>(value) + 1) << 1;
    const slot_entry id = handle + 1;
    // A handle is reused for another value only when no reader can hold it (next_hops::drop).
    if (nexthops_[id] != value) __atomic_store_n(&nexthops_[id], value, __ATOMIC_RELAXED);
    return id << 1;
}

uint32_t generation::root_leaf(slot_entry leaf) {
    const auto [at, made] = uniform_.try_emplace(leaf, arena::none);
    if (!made && at->second != arena::none) return at->second;
    const slot_run all{plan_.ipv4 ? layout::block_slots - 1 : 0, leaf};
    alignas(8) uint8_t node[layout::max_node_bytes];
    const uint32_t bytes = encode_node(plan_.ipv4 ? node_kind::block : node_kind::page, {&all, 1},
                                       plan_.coding.bytes, node);
    const uint32_t offset = nodes.allocate(plan_.coding.root_leaf_units(plan_.ipv4));
    if (offset == arena::none) return offset;
    std::memcpy(nodes.base() + offset, node, bytes);
    return at->second = plan_.ipv4 ? offset : offset | layout::uniform_page_shift;
}

}  // namespace turnpike::fib
