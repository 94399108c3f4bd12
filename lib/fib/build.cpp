// SPDX-License-Identifier: BSD-3-Clause
// table's building half: from the RIB's nodes to the lookup table's.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>

#include "fib/table.hpp"

namespace turnpike::fib {
/// Which handle covers each slot of a node; returns the number of slots.
uint32_t table::paint(const rib_node& node, unsigned level, uint32_t background,
                      uint32_t* handles) const {
    const unsigned stride = shape_.stride(level);
    const uint32_t slots = 1u << stride;
    std::fill_n(handles, slots, background);
    for (const node_route& r : node.routes)  // in order: a longer one comes after what it lies in
        std::fill_n(handles + r.first_slot(), 1u << (stride - r.length()), r.handle);
    return slots;
}

/// Build a node, and those below it whose background changed (`all`: every one), beside what
/// readers see. Its new offset is in node.entry, its old one in the log. False: no room;
/// roll_back() then.
bool table::build(rib_node& node, unsigned level, uint32_t background, bool all, generation& g,
                  change& c) {
    std::array<uint32_t, 256> handles;
    std::array<slot_entry, 256> slots;
    alignas(8) uint8_t bytes[layout::max_node_bytes];
    const uint32_t count = paint(node, level, background, handles.data());
    for (uint32_t i = 0; i < count; ++i)
        slots[i] = i > 0 && handles[i] == handles[i - 1]
                       ? slots[i - 1]
                       : g.leaf(handles[i], hops_.value(handles[i]));
    for (auto& child : node.children) {
        rib_node& below = *child.node;
        if (all || below.entry == rib_node::unbuilt || below.background != handles[child.slot])
            if (!build(below, level + 1, handles[child.slot], all, g, c)) return false;
        slots[child.slot] = below.entry | layout::node_bit;
    }
    const std::span<const slot_entry> painted(slots.data(), count);
    const uint32_t size = encode_node(kind(level), painted, g.coding().bytes, bytes);
    const uint32_t units = g.nodes.units(size);
    c.log.push_back({&node, node.entry, node.units, node.background});
    const uint32_t offset = g.nodes.allocate(units);
    if (offset == arena::none) {
        c.log.pop_back();
        return false;
    }
    std::memcpy(g.nodes.base() + offset, bytes, size);
    node.entry = offset;
    node.units = units;
    node.background = background;
    return true;
}

/// The arena bytes of a node and of all below it.
uint64_t table::measure(const rib_node& node, unsigned level, uint32_t background,
                        const id_coding& coding, std::vector<uint32_t>& scratch) const {
    if (scratch.size() < (level + 1) * 256) scratch.resize((level + 1) * 256);
    const uint32_t count = paint(node, level, background, scratch.data() + level * 256);
    uint64_t bytes = 0;
    for (const auto& child : node.children)
        bytes +=
            measure(*child.node, level + 1, scratch[level * 256 + child.slot], coding, scratch);
    std::array<slot_entry, 256> slots;
    for (uint32_t i = 0; i < count; ++i) slots[i] = (scratch[level * 256 + i] + 1) << 1;
    uint32_t distinct = 0;  // a stand-in for offsets: children differ
    for (const auto& child : node.children) slots[child.slot] = (distinct += 2) | layout::node_bit;
    alignas(8) uint8_t encoded[layout::max_node_bytes];
    const uint32_t own = encode_node(kind(level), {slots.data(), count}, coding.bytes, encoded);
    return bytes + (own + coding.granule - 1) / coding.granule * coding.granule;
}

/// Root slots [first, first + count): those whose cover changed, or all.
bool table::build_root(uint32_t first, uint32_t count, bool all, generation& g, change& c) {
    std::vector<uint32_t> handles(count);
    rib_->paint_root(first, count, default_handle_, handles.data());
    uint32_t leaf_entry = arena::none, leaf_handle = 0;  // neighbours mostly share a cover
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t* at = g.root() + first + i;
        uint32_t entry;
        if (rib_node* child = rib_->root_child(first + i)) {
            if (all || child->entry == rib_node::unbuilt || child->background != handles[i])
                if (!build(*child, 1, handles[i], all, g, c)) return false;
            entry = child->entry;
        } else {
            if (leaf_entry == arena::none || leaf_handle != handles[i])
                leaf_entry = g.root_leaf(g.leaf(handles[i], hops_.value(handles[i])));
            if (leaf_entry == arena::none) return false;
            leaf_handle = handles[i];
            entry = leaf_entry;
        }
        if (all)
            *at = entry;  // nobody reads it yet
        else if (*at != entry)
            c.stores.emplace_back(at, entry);
    }
    return true;
}

/// Build what one route below the root changed: the deepest node on its path that readers know
/// already, so that one store shows it all.
bool table::build_path(const address& a, const rib::path& p, change& c) {
    generation& g = *generation_;
    const unsigned known = p.count - p.made;
    const uint32_t root_slot = a.bits(0, shape_.root_bits);
    if (known == 0) return build_root(root_slot, 1, false, g, c);
    rib_node& node = *p.nodes[known - 1];
    if (!build(node, known, node.background, false, g, c)) return false;
    uint32_t* link = g.root() + root_slot;
    uint32_t entry = node.entry;
    if (known > 1) {
        const unsigned above = known - 1;
        uint8_t* parent = g.nodes.base() + p.nodes[above - 1]->entry;
        const uint32_t slot = a.bits(shape_.start(above), shape_.stride(above));
        link = node_link(kind(above), parent, g.coding().bytes, slot);
        entry |= layout::node_bit;
    }
    c.stores.emplace_back(link, entry);
    return true;
}

uint64_t table::arena_bytes_needed(const id_coding& coding) const {
    const uint32_t slots = 1u << shape_.root_bits;
    std::vector<uint32_t> handles(slots), scratch;
    std::vector<bool> alone(hops_.bound());  // next hops that root slots hold without more
    rib_->paint_root(0, slots, default_handle_, handles.data());
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < slots; ++i)
        if (const rib_node* child = rib_->root_child(i))
            bytes += measure(*child, 1, handles[i], coding, scratch);
        else
            alone[handles[i]] = true;
    const auto uniform = static_cast<uint64_t>(std::count(alone.begin(), alone.end(), true));
    bytes += uniform * std::max(coding.granule, coding.bytes == 1 ? layout::block_slots : 0U);
    // And room to build beside what is there.
    return std::min(bytes + bytes / 8 + 32 * 1024, config_.max_bytes);
}

/// Everything into a new generation. False: no memory, and nothing changed.
bool table::rebuild() noexcept {
    try {
        return build_whole();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool table::build_whole() {
    const id_coding coding = id_coding::fitting(hops_, ipv4_);
    const uint64_t bytes = arena_bytes_needed(coding);
    auto next = std::make_unique<generation>(
        config_.allocator,
        generation::plan{shape_.root_bits, ipv4_, config_.network_order, coding, bytes});
    if (!next->valid()) return false;
    change c;
    bool built = false;
    try {
        built = build_root(0, 1u << shape_.root_bits, true, *next, c);
    } catch (const std::bad_alloc&) {
    }
    if (!built) {
        roll_back(c, *next);
        return false;
    }
    next->settle();
    view_.store(next->published(), std::memory_order_release);
    ++rebuilds_;
    if (auto* old = generation_.release())
        config_.defer_free(
            {[](void* owner, uint64_t) { delete static_cast<generation*>(owner); }, old, 0});
    generation_ = std::move(next);
    return true;
}

}  // namespace turnpike::fib
