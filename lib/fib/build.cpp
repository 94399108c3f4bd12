// SPDX-License-Identifier: BSD-3-Clause
// The part of `table` that builds lookup nodes from the RIB's nodes.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>

#include "fib/interval_tree.hpp"
#include "fib/table.hpp"

namespace turnpike::fib {
namespace {

// IPv6: each route of a table of direct nodes has a node of 1 KB, more or less: with more routes than that, it is not
// measured whether they fit.
constexpr uint64_t least_direct_bytes_per_route = 64;

}  // namespace

/// Visit the routes that cover a node's slots, in order: run(last slot, handle) for slots without a
/// child, child(child, handle) for a slot with one, with the handle of the covering route.
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
    // sorted: a longer prefix after the one that contains it
    for (const node_route& r : node.routes) {
        for (; cover[depth].last < r.first_slot(); --depth) emit_to(cover[depth].last);
        if (r.first_slot() > at) emit_to(r.first_slot() - 1);
        const uint32_t slots = 1u << (stride - r.length());
        cover[++depth] = {r.first_slot() + slots - 1, r.handle};
    }
    for (; depth > 0; --depth) emit_to(cover[depth].last);
    emit_to(cover[0].last);
}

/// Whether nodes of a level have the last 64 bits of addresses: with few routes they are trees.
bool table::may_be_tree(unsigned level) const noexcept {
    return !ipv4_ && shape_.start(level) == 64;
}

/// Append the intervals of a node's slots. False if there are more than a tree holds.
///
/// from  the last 64 bits of the node's first address
bool table::collect(const rib_node& node, unsigned level, uint32_t background, uint64_t from,
                    std::vector<low_interval>& to) const {
    const unsigned below = shape_.address_bits - shape_.start(level) - shape_.stride(level);
    uint32_t at = 0;
    bool fits = true;
    const auto start = [&] { return from | uint64_t{at} << below; };
    walk(
        node, level, background,
        [&](uint32_t last, uint32_t handle) {
            if (to.empty() || to.back().handle != handle) to.push_back({start(), handle});
            at = last + 1;
        },
        [&](const rib_node::child& child, uint32_t handle) {
            fits = fits && to.size() <= layout::tree_entries(layout::tree_levels) &&
                   collect(*child.node, level + 1, handle, start(), to);
            at = child.slot + 1;
        });
    return fits && to.size() <= layout::tree_entries(layout::tree_levels);
}

/// Write a node to the arena. Returns false without room.
bool table::store_node(rib_node& node, const uint8_t* bytes, uint32_t size, generation& g,
                       pending_update& c) {
    const uint32_t units = arena::units(size);
    c.log.emplace_back(node);
    const uint32_t offset = g.nodes.allocate(units);
    if (offset == arena::none) {
        c.log.pop_back();
        return false;
    }
    std::memcpy(g.nodes.base() + offset, bytes, size);
    node.entry = offset;
    node.units = units;
    node.changed = false;
    return true;
}

/// The nodes below a tree leave the lookup table.
void table::unbuild_below(rib_node& node, pending_update& c) {
    for (const rib_node::child& child : node.children) {
        rib_node& below = *child.node;
        below.changed = false;
        if (below.entry != rib_node::unbuilt) {
            c.log.emplace_back(below);
            below.entry = rib_node::unbuilt;
            below.units = 0;
        }
        unbuild_below(below, c);
    }
}

bool table::build_tree(rib_node& node, std::span<const low_interval> intervals, generation& g,
                       pending_update& c) {
    std::vector<interval64> all;
    all.reserve(intervals.size());
    for (const low_interval& i : intervals)
        all.push_back({i.from, g.leaf(i.handle, nexthops_->value(i.handle))});
    const unsigned levels = tree_levels_for(all.size());
    alignas(64) uint8_t bytes[layout::max_tree_bytes];
    (void)lay_tree(all, bytes);
    unbuild_below(node, c);
    if (!store_node(node, bytes, static_cast<uint32_t>(tree_bytes(levels)), g, c)) return false;
    node.tree_levels = static_cast<uint8_t>(levels);
    node.only_leaf = all.size() == 1 ? all[0].entry : 0;
    return true;
}

/// Build a node, and the nodes below whose background changed (`all`: all of them), without
/// touching nodes that readers use. Its new offset goes to node.entry, its old one to the log.
/// Returns false without room; call roll_back() then.
bool table::build(rib_node& node, unsigned level, uint32_t background, bool all, generation& g,
                  pending_update& c) {
    if (may_be_tree(level))
        if (std::vector<low_interval> few; collect(node, level, background, 0, few)) {
            if (!build_tree(node, few, g, c)) return false;
            node.background = background;
            return true;
        }
    std::array<slot_run, 256> runs;
    size_t count = 0;
    bool extends = false;  // no run extends a child's: node_link() needs the child's slot alone
    const auto add = [&](uint32_t last, slot_entry entry) {
        if (extends && runs[count - 1].entry == entry)
            runs[count - 1].last = last;
        else
            runs[count++] = {last, entry};
        extends = true;
    };
    bool built = true;
    walk(
        node, level, background,
        [&](uint32_t last, uint32_t handle) {
            add(last, g.leaf(handle, nexthops_->value(handle)));
        },
        [&](const rib_node::child& child, uint32_t handle) {
            rib_node& below = *child.node;
            if (built && (all || below.entry == rib_node::unbuilt || below.changed ||
                          below.background != handle))
                built = build(below, level + 1, handle, all, g, c);
            runs[count++] = {child.slot, entry_of(below, level)};
            extends = false;
        });
    if (!built) return false;
    alignas(8) uint8_t bytes[layout::max_node_bytes];
    const uint32_t size =
        encode_node(kind(level, g.coding()), {runs.data(), count}, g.coding().bytes, bytes);
    if (!store_node(node, bytes, size, g, c)) return false;
    node.background = background;
    node.tree_levels = 0;
    const bool equal = std::all_of(runs.begin() + 1, runs.begin() + static_cast<long>(count),
                                   [&](const slot_run& r) { return r.entry == runs[0].entry; });
    node.only_leaf = equal && (runs[0].entry & layout::node_bit) == 0 ? runs[0].entry : 0;
    return true;
}

/// The entry of a child's slot in a node of a level: if all slots of the child lead to one leaf, that
/// leaf, so that lookups end above the child. (A block's slots have no entry but an ID.)
uint32_t table::entry_of(const rib_node& child, unsigned level) const noexcept {
    if (child.only_leaf != 0 && !(ipv4_ && level == 1)) return child.only_leaf;
    return child.entry | layout::node_bit | uint32_t{child.tree_levels} << layout::link_levels_at;
}

/// The level of the node to build for a change below the node at `level` of a path: lookups end above
/// a node with one leaf, and a change in it may alter that, so its slot is to be written too.
unsigned table::first_to_build(const rib::path& p, unsigned level) noexcept {
    while (level > 1 && p.nodes[level - 2]->only_leaf != 0) --level;
    return level;
}

/// The arena bytes of a node and of its subtree.
uint64_t table::measure(const rib_node& node, unsigned level, uint32_t background,
                        const id_coding& coding) const {
    if (may_be_tree(level))
        if (std::vector<low_interval> few; collect(node, level, background, 0, few))
            return arena::bytes_of(
                arena::units(static_cast<uint32_t>(tree_bytes(tree_levels_for(few.size())))));
    constexpr uint32_t link = ~0u;  // not a handle; stands for all links of a block
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
            runs += before != link || kind(level, coding) != node_kind::block;
            ++links;
            before = link;
        });
    const uint32_t own = node_bytes(kind(level, coding), runs, links, coding.bytes);
    return below + arena::bytes_of(arena::units(own));
}

/// Build root slots [first, first + count): the changed ones, or all.
bool table::build_root(uint32_t first, uint32_t count, bool all, generation& g, pending_update& c) {
    uint32_t* const root = g.root();
    const auto store = [&](uint32_t from, uint32_t end, uint32_t entry) {
        if (all) {
            std::fill(root + from, root + end, entry);  // no reader uses it yet
            return;
        }
        c.stores.push_back({root + from, end - from, entry});
    };
    bool built = true;
    rib_->walk_root(
        first, count, default_handle_, [&](uint32_t at, uint32_t last, uint32_t handle) {
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
                const uint32_t leaf = g.root_leaf(g.leaf(handle, nexthops_->value(handle)));
                built = leaf != arena::none;
                if (built) store(at, end, leaf);
                at = end - 1;
            }
        });
    return built;
}

/// Build the change of one route below the root: start at the deepest node on its path that readers
/// already use, so that one store publishes it.
bool table::build_path(const address& a, const rib::path& p, pending_update& c) {
    generation& g = *generation_;
    unsigned known = p.count - p.made;
    while (known > 0 && p.nodes[known - 1]->entry == rib_node::unbuilt) --known;  // below a tree
    const uint32_t root_slot = a.bits(0, shape_.root_bits);
    if (known == 0) return build_root(root_slot, 1, false, g, c);
    const unsigned level = first_to_build(p, known);
    struct nodes_below {
        std::span<rib_node* const> nodes;
        void set(bool changed) const {
            for (rib_node* n : nodes) n->changed = changed;
        }
        ~nodes_below() { set(false); }
    } const below{std::span(p.nodes).subspan(level, known - level)};
    below.set(true);
    return build_known(a, *p.nodes[level - 1], level > 1 ? p.nodes[level - 2] : nullptr, level, c);
}

/// Build a node that readers use, and publish it.
bool table::build_known(const address& a, rib_node& node, const rib_node* parent_node,
                        unsigned level, pending_update& c) {
    generation& g = *generation_;
    if (!build(node, level, node.background, false, g, c)) return false;
    uint32_t* link = g.root() + a.bits(0, shape_.root_bits);
    uint32_t entry = node.entry;
    if (parent_node != nullptr) {
        const unsigned above = level - 1;
        uint8_t* parent = g.nodes.base() + parent_node->entry;
        const uint32_t slot = a.bits(shape_.start(above), shape_.stride(above));
        link = node_link(kind(above, g.coding()), parent, g.coding().bytes, slot);
        entry = entry_of(node, above);
    }
    c.stores.push_back({link, 1, entry});
    return true;
}

/// The bytes of all nodes, without spare room.
uint64_t table::node_bytes_needed(const id_coding& coding) const {
    std::vector<bool> alone(nexthops_->bound());  // next hops that root slots store directly
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
    return bytes + uniform * arena::bytes_of(coding.root_leaf_units(ipv4_));
}

/// Rebuild everything into a new generation. Returns false without memory; nothing changes then.
bool table::rebuild(rebuild_reason why) noexcept {
    try {
        return build_whole(why);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// Rebuild into a larger arena. Each attempt visits the whole table, so after one that found no memory, changes
/// that need it are refused at once, more and more of them, unless the table has become much smaller.
bool table::grow() noexcept {
    constexpr uint32_t max_refusals = 64;
    if (refusals_to_come_ != 0 && rib_->size() + rib_->size() / 8 >= refused_at_) {
        --refusals_to_come_;
        return false;
    }
    if (rebuild(rebuild_reason::growth)) return true;
    refusals_ = std::min(2 * refusals_ + 1, max_refusals);
    refusals_to_come_ = refusals_;
    refused_at_ = rib_->size();
    return false;
}

bool table::build_whole(rebuild_reason why) {
    id_coding coding = id_coding::fitting(*nexthops_, ipv4_);
    coding.direct = !ipv4_ && rib_->size() <= config_.direct_bytes / least_direct_bytes_per_route;
    // Also room for copies during changes; expect a table that grew to grow again.
    const auto with_room = [](uint64_t bytes, rebuild_reason reason) {
        return bytes + (reason == rebuild_reason::load ? bytes / 8 : bytes) + 32 * 1024;
    };
    uint64_t bytes = node_bytes_needed(coding);
    if (coding.direct &&
        with_room(bytes, why) > std::min(config_.direct_bytes, config_.max_bytes)) {
        coding.direct = false;
        bytes = node_bytes_needed(coding);
    }
    const auto with_arena_of = [&](uint64_t size) {
        return std::make_unique<generation>(
            config_.allocator, generation::plan{shape_.root_bits, ipv4_, config_.network_order,
                                                coding, std::min(size, config_.max_bytes)});
    };
    auto next = with_arena_of(with_room(bytes, why));
    if (!next->valid() && why == rebuild_reason::growth)  // with less room to grow
        next = with_arena_of(with_room(bytes, rebuild_reason::load));
    if (!next->valid()) return false;
    next->nodes.set_leave(leave_);
    pending_update c;
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
    refusals_ = refusals_to_come_ = 0;
    generation_.swap(next);
    show();
    retire(next);
    return true;
}

}  // namespace turnpike::fib
