// SPDX-License-Identifier: BSD-3-Clause
// table's building half: from the RIB's nodes to the lookup table's.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>

#include "fib/table.hpp"

namespace turnpike::fib {
/// What covers a node's slots, from the first on: run(last slot, handle) for slots that end here,
/// child(child, handle) for one that leads on, and what covers it.
template <class Run, class Child>
void table::walk(const rib_node& node, unsigned level, uint32_t background, Run run,
                 Child child) const {
    struct {
        uint32_t last, handle;
    } cover[10];  // the routes around the slot, widest first: 8 lengths and the background
    const unsigned stride = shape_.stride(level);
    unsigned depth = 0;
    cover[0] = {(1u << stride) - 1, background};
    uint32_t at = 0;
    auto next = node.children.begin();
    const auto emit_to = [&](uint32_t last) {
        for (; next != node.children.end() && next->slot <= last; ++next) {
            if (next->slot > at) run(next->slot - 1, cover[depth].handle);
            child(*next, cover[depth].handle);
            at = next->slot + 1;
        }
        if (at <= last) run(last, cover[depth].handle);
        at = std::max(at, last + 1);
    };
    for (const node_route& r : node.routes) {  // in order: a longer one after what it lies in
        for (; cover[depth].last < r.first_slot(); --depth) emit_to(cover[depth].last);
        if (r.first_slot() > at) emit_to(r.first_slot() - 1);
        const uint32_t slots = 1u << (stride - r.length());
        cover[++depth] = {r.first_slot() + slots - 1, r.handle};
    }
    for (; depth > 0; --depth) emit_to(cover[depth].last);
    emit_to(cover[0].last);
}

/// Build a node, and those below it whose background changed (`all`: every one), beside what
/// readers see. Its new offset is in node.entry, its old one in the log. False: no room;
/// roll_back() then.
bool table::build(rib_node& node, unsigned level, uint32_t background, bool all, generation& g,
                  change& c) {
    std::array<slot_run, 256> runs;
    size_t count = 0;
    const auto add = [&](uint32_t last, slot_entry entry) {
        if (count > 0 && runs[count - 1].entry == entry)
            runs[count - 1].last = last;
        else
            runs[count++] = {last, entry};
    };
    bool built = true;
    walk(
        node, level, background,
        [&](uint32_t last, uint32_t handle) { add(last, g.leaf(handle, hops_->value(handle))); },
        [&](const rib_node::child& child, uint32_t handle) {
            rib_node& below = *child.node;
            if (built && (all || below.entry == rib_node::unbuilt || below.changed ||
                          below.background != handle))
                built = build(below, level + 1, handle, all, g, c);
            add(child.slot, below.entry | layout::node_bit);
        });
    if (!built) return false;
    alignas(8) uint8_t bytes[layout::max_node_bytes];
    const uint32_t size = encode_node(kind(level), {runs.data(), count}, g.coding().bytes, bytes);
    const uint32_t units = arena::units(size);
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
    node.changed = false;
    return true;
}

/// The arena bytes of a node and of all below it.
uint64_t table::measure(const rib_node& node, unsigned level, uint32_t background,
                        const id_coding& coding) const {
    constexpr uint32_t link = ~0u;  // no handle; what links of a block look like
    uint32_t before = link - 1;
    unsigned runs = 0, links = 0;
    uint64_t below = 0;
    walk(
        node, level, background,
        [&](uint32_t, uint32_t handle) {
            runs += handle != before;
            before = handle;
        },
        [&](const rib_node::child& child, uint32_t handle) {
            below += measure(*child.node, level + 1, handle, coding);
            runs += before != link || kind(level) != node_kind::block;
            ++links;
            before = link;
        });
    const uint32_t own = node_bytes(kind(level), runs, links, coding.bytes);
    return below + arena::bytes_of(arena::units(own));
}

/// Root slots [first, first + count): those whose cover changed, or all.
bool table::build_root(uint32_t first, uint32_t count, bool all, generation& g, change& c) {
    uint32_t* const root = g.root();
    const auto store = [&](uint32_t from, uint32_t end, uint32_t entry) {
        if (all) {
            std::fill(root + from, root + end, entry);  // nobody reads it yet
            return;
        }
        c.stores.push_back({root + from, end - from, entry});
    };
    bool built = true;
    rib_->walk_root(first, count, default_handle_,
                    [&](uint32_t at, uint32_t last, uint32_t handle) {
                        for (; built && at <= last; ++at) {
                            if (rib_node* child = rib_->root_child(at)) {
                                if (all || child->entry == rib_node::unbuilt || child->changed ||
                                    child->background != handle)
                                    built = build(*child, 1, handle, all, g, c);
                                if (built) store(at, at + 1, child->entry);
                                continue;
                            }
                            uint32_t end = at + 1;
                            while (end <= last && rib_->root_child(end) == nullptr) ++end;
                            const uint32_t leaf = g.root_leaf(g.leaf(handle, hops_->value(handle)));
                            built = leaf != arena::none;
                            if (built) store(at, end, leaf);
                            at = end - 1;
                        }
                    });
    return built;
}

/// Build what one route below the root changed: the deepest node on its path that readers know
/// already, so that one store shows it all.
bool table::build_path(const address& a, const rib::path& p, change& c) {
    generation& g = *generation_;
    const unsigned known = p.count - p.made;
    const uint32_t root_slot = a.bits(0, shape_.root_bits);
    if (known == 0) return build_root(root_slot, 1, false, g, c);
    return build_known(a, *p.nodes[known - 1], known > 1 ? p.nodes[known - 2] : nullptr, known, c);
}

/// Build a node that readers know, and lead them to it.
bool table::build_known(const address& a, rib_node& node, const rib_node* parent_node,
                        unsigned level, change& c) {
    generation& g = *generation_;
    if (!build(node, level, node.background, false, g, c)) return false;
    uint32_t* link = g.root() + a.bits(0, shape_.root_bits);
    uint32_t entry = node.entry;
    if (parent_node != nullptr) {
        const unsigned above = level - 1;
        uint8_t* parent = g.nodes.base() + parent_node->entry;
        const uint32_t slot = a.bits(shape_.start(above), shape_.stride(above));
        link = node_link(kind(above), parent, g.coding().bytes, slot);
        entry |= layout::node_bit;
    }
    c.stores.push_back({link, 1, entry});
    return true;
}

uint64_t table::arena_bytes_needed(const id_coding& coding, rebuild_reason why) const {
    std::vector<bool> alone(hops_->bound());  // next hops that root slots hold without more
    uint64_t bytes = 0;
    rib_->walk_root(0, 1u << shape_.root_bits, default_handle_,
                    [&](uint32_t at, uint32_t last, uint32_t handle) {
                        for (; at <= last; ++at)
                            if (const rib_node* child = rib_->root_child(at))
                                bytes += measure(*child, 1, handle, coding);
                            else
                                alone[handle] = true;
                    });
    const auto uniform = static_cast<uint64_t>(std::count(alone.begin(), alone.end(), true));
    bytes += uniform * arena::bytes_of(coding.root_leaf_units(ipv4_));
    // And room to build beside what is there; a table that grew will grow again.
    const uint64_t room = why == rebuild_reason::load ? bytes / 8 : bytes;
    return std::min(bytes + room + 32 * 1024, config_.max_bytes);
}

/// Everything into a new generation. False: no memory, and nothing changed.
bool table::rebuild(rebuild_reason why) noexcept {
    try {
        return build_whole(why);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool table::build_whole(rebuild_reason why) {
    const id_coding coding = id_coding::fitting(*hops_, ipv4_);
    const uint64_t bytes = arena_bytes_needed(coding, why);
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
    ++rebuilds_;
    generation_.swap(next);
    show();
    retire(next);
    return true;
}

}  // namespace turnpike::fib
