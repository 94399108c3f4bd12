// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib.hpp"

#include <algorithm>
#include <bit>

namespace turnpike::fib {

uint32_t address::bits(unsigned from, unsigned count) const noexcept {
    if (count == 0) return 0;
    uint64_t window = high;  // the 64 bits from `from` on
    if (from >= 64)
        window = low << (from - 64);
    else if (from > 0)
        window = high << from | low >> (64 - from);
    return static_cast<uint32_t>(window >> (64 - count));
}

address address::masked(unsigned length) const noexcept {
    const auto mask = [](unsigned bits) { return bits == 0 ? 0 : ~uint64_t{0} << (64 - bits); };
    return {high & mask(std::min(length, 64U)), low & mask(length > 64 ? length - 64 : 0)};
}

address address::with(unsigned from, unsigned count, uint32_t bits) const noexcept {
    address a = *this;
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t bit = bits >> (count - 1 - i) & 1;
        const unsigned at = from + i;
        (at < 64 ? a.high : a.low) |= bit << (63 - at % 64);
    }
    return a;
}

std::vector<node_route>::iterator rib_node::find(uint32_t key) {
    return std::lower_bound(routes.begin(), routes.end(), key,
                            [](const node_route& r, uint32_t k) { return r.key < k; });
}

std::vector<rib_node::child>::iterator rib_node::child_at(uint32_t slot) {
    return std::lower_bound(children.begin(), children.end(), slot,
                            [](const child& c, uint32_t s) { return c.slot < s; });
}

uint32_t rib::key(const address& a, unsigned length, unsigned level) const noexcept {
    if (level == 0) return a.bits(0, shape_.root_bits) << 8 | length;
    const unsigned start = shape_.start(level);
    return a.bits(start, shape_.stride(level)) << 8 | (length - start);
}

uint32_t* rib::find(const address& a, unsigned length, path& existing) noexcept {
    const unsigned level = shape_.level_of(length);
    const uint32_t k = key(a, length, level);
    if (level == 0) {
        const auto found = root_routes_.find(k);
        return found == root_routes_.end() ? nullptr : &found->second;
    }
    existing = nodes_to(a, length);
    if (existing.count < level) return nullptr;
    rib_node& node = *existing.nodes[level - 1];
    const auto at = node.find(k);
    return at != node.routes.end() && at->key == k ? &at->handle : nullptr;
}

rib::path rib::nodes_to(const address& a, unsigned length) noexcept {
    path p;
    const unsigned level = shape_.level_of(length);
    if (level == 0) return p;
    rib_node* node = children_[a.bits(0, shape_.root_bits)].get();
    while (node != nullptr) {
        p.nodes[p.count++] = node;
        if (p.count == level) break;
        const uint32_t slot = a.bits(shape_.start(p.count), shape_.stride(p.count));
        const auto at = node->child_at(slot);
        node = at != node->children.end() && at->slot == slot ? at->node.get() : nullptr;
    }
    return p;
}

const rib_node* rib::expect(const address& a, unsigned step) const noexcept {
    constexpr size_t line = 64, lines = 6;  // prefetched per node: covers most nodes' routes
    const auto& slot = children_[a.bits(0, shape_.root_bits)];
    if (step == 0) {
        __builtin_prefetch(&slot);
        return nullptr;
    }
    const rib_node* const node = slot.get();
    if (node == nullptr || step > 2) return node;
    if (step == 1) {
        __builtin_prefetch(node);
        __builtin_prefetch(&node->changed);
        return node;
    }
    const auto bring = [](const void* from, size_t bytes) {
        for (size_t at = 0; at < std::min(bytes, lines * line); at += line)
            __builtin_prefetch(static_cast<const char*>(from) + at);
    };
    bring(node->routes.data(), node->routes.size() * sizeof(node_route));
    bring(node->children.data(), node->children.size() * sizeof(rib_node::child));
    return node;
}

rib::path rib::insert(const address& a, unsigned length, uint32_t handle, const path& existing) {
    const unsigned level = shape_.level_of(length);
    const uint32_t k = key(a, length, level);
    if (level == 0) {
        root_routes_.emplace(k, handle);
        ++root_lengths_[length];
        ++size_;
        return {};
    }
    path p = existing;
    // Create the missing nodes as a separate chain, so that running out of memory leaks nothing.
    const unsigned have = p.count;
    p.made = level - have;
    std::unique_ptr<rib_node> chain;
    for (unsigned depth = level; depth > have; --depth) {
        auto node = std::make_unique<rib_node>();
        if (depth == level)
            node->routes.push_back({k, handle});
        else
            node->children.push_back(
                {a.bits(shape_.start(depth), shape_.stride(depth)), std::move(chain)});
        p.nodes[depth - 1] = node.get();
        chain = std::move(node);
    }
    p.count = level;
    if (p.made == 0) {
        rib_node& node = *p.nodes[level - 1];
        node.routes.insert(node.find(k), {k, handle});
    } else if (have == 0) {
        children_[a.bits(0, shape_.root_bits)] = std::move(chain);
    } else {
        rib_node& parent = *p.nodes[have - 1];
        const uint32_t slot = a.bits(shape_.start(have), shape_.stride(have));
        const auto at = parent.child_at(slot);
        parent.children.insert(at, rib_node::child{slot, std::move(chain)});
    }
    ++size_;
    return p;
}

void rib::append(const address& a, unsigned length, uint32_t handle) {
    const unsigned level = shape_.level_of(length);
    if (level == 0) {
        root_routes_.emplace_hint(root_routes_.end(), key(a, length, 0), handle);
        ++root_lengths_[length];
        ++size_;
        return;
    }
    auto* link = &children_[a.bits(0, shape_.root_bits)];
    for (unsigned depth = 1;; ++depth) {
        if (*link == nullptr) *link = std::make_unique<rib_node>();
        rib_node& node = **link;
        if (depth == level) {
            node.routes.push_back({key(a, length, level), handle});
            break;
        }
        const uint32_t slot = a.bits(shape_.start(depth), shape_.stride(depth));
        if (node.children.empty() || node.children.back().slot != slot)
            node.children.push_back({slot, nullptr});
        link = &node.children.back().node;
    }
    ++size_;
}

rib::removed rib::erase(const address& a, unsigned length, const path& existing) noexcept {
    removed r;
    const unsigned level = shape_.level_of(length);
    const uint32_t k = key(a, length, level);
    --size_;
    if (level == 0) {
        r.root_route = root_routes_.extract(k);
        --root_lengths_[length];
        return r;
    }
    path& p = r.kept = existing;
    rib_node& node = *p.nodes[level - 1];
    const auto route = node.find(k);
    r.handle = route->handle;
    node.routes.erase(route);
    for (; p.count > 0 && p.nodes[p.count - 1]->empty(); --p.count) {
        auto& taken = r.pruned[r.pruned_count++];
        if (p.count == 1) {
            taken = std::move(children_[a.bits(0, shape_.root_bits)]);
            continue;
        }
        const unsigned above = p.count - 1;
        rib_node& parent = *p.nodes[above - 1];
        const auto at = parent.child_at(a.bits(shape_.start(above), shape_.stride(above)));
        taken = std::move(at->node);
        parent.children.erase(at);
    }
    return r;
}

void rib::restore(const address& a, unsigned length, removed& r) noexcept {
    const unsigned level = shape_.level_of(length);
    ++size_;
    if (level == 0) {
        root_routes_.insert(std::move(r.root_route));
        ++root_lengths_[length];
        return;
    }
    path& p = r.kept;
    while (r.pruned_count > 0) {
        auto& back = r.pruned[--r.pruned_count];
        p.nodes[p.count] = back.get();
        if (p.count == 0) {
            children_[a.bits(0, shape_.root_bits)] = std::move(back);
        } else {
            rib_node& parent = *p.nodes[p.count - 1];
            const uint32_t slot = a.bits(shape_.start(p.count), shape_.stride(p.count));
            parent.children.insert(parent.child_at(slot), rib_node::child{slot, std::move(back)});
        }
        ++p.count;
    }
    rib_node& node = *p.nodes[level - 1];
    const uint32_t k = key(a, length, level);
    node.routes.insert(node.find(k), {k, r.handle});
}

void rib::walk_root(uint32_t first, uint32_t count, uint32_t fallback, const root_run& run) const {
    const unsigned bits = shape_.root_bits;
    struct {
        uint32_t last, handle;
    } cover[33];  // the routes around the slot, widest first
    unsigned depth = 0;
    cover[0] = {first + count - 1, fallback};
    // The route that covers the whole range: the longest that starts at or before it and spans it.
    for (unsigned length = bits - static_cast<unsigned>(std::countr_zero(count)) + 1;
         length-- > 0;) {
        if (root_lengths_[length] == 0) continue;
        const uint32_t span = 1u << (bits - length);
        const auto at = root_routes_.find((first & ~(span - 1)) << 8 | length);
        if (at == root_routes_.end()) continue;
        cover[0].handle = at->second;
        break;
    }
    uint32_t at = first;
    const auto emit_to = [&](uint32_t last) {
        if (at <= last) run(at, last, cover[depth].handle);
        at = std::max(at, last + 1);
    };
    // Then the routes inside, sorted: a longer prefix follows the one that contains it.
    const auto end = first + count < 1u << bits ? root_routes_.lower_bound((first + count) << 8)
                                                : root_routes_.end();
    for (auto r = root_routes_.lower_bound(first << 8); r != end; ++r) {
        const uint32_t slot = r->first >> 8, span = 1u << (bits - (r->first & 0xff));
        if (span > count) continue;
        for (; depth > 0 && cover[depth].last < slot; --depth) emit_to(cover[depth].last);
        if (slot > at) emit_to(slot - 1);
        cover[++depth] = {slot + span - 1, r->second};
    }
    for (; depth > 0; --depth) emit_to(cover[depth].last);
    emit_to(cover[0].last);
}

void rib::add_units(const rib_node& node, unsigned level,
                    std::array<uint64_t, max_levels + 1>& units) noexcept {
    units[level] += node.units;
    for (const auto& child : node.children) add_units(*child.node, level + 1, units);
}

std::array<uint64_t, rib::max_levels + 1> rib::units_by_level() const noexcept {
    std::array<uint64_t, max_levels + 1> units{};
    for (const auto& child : children_)
        if (child != nullptr) add_units(*child, 1, units);
    return units;
}

void rib::visit_node(const rib_node& node, address at, unsigned level, const visitor& visit) const {
    const unsigned start = shape_.start(level), stride = shape_.stride(level);
    auto route = node.routes.begin();
    const auto visit_routes_to = [&](uint32_t last_slot) {
        for (; route != node.routes.end() && route->first_slot() <= last_slot; ++route)
            visit(at.with(start, stride, route->first_slot()), start + route->length(),
                  route->handle);
    };
    for (const auto& child : node.children) {
        visit_routes_to(child.slot);
        visit_node(*child.node, at.with(start, stride, child.slot), level + 1, visit);
    }
    visit_routes_to(~0u);
}

void rib::for_each(const visitor& visit) const {
    auto route = root_routes_.begin();
    for (uint32_t slot = 0; slot < children_.size(); ++slot) {
        for (; route != root_routes_.end() && route->first >> 8 == slot; ++route)
            visit(address{}.with(0, shape_.root_bits, slot), route->first & 0xff, route->second);
        if (children_[slot] != nullptr)
            visit_node(*children_[slot], address{}.with(0, shape_.root_bits, slot), 1, visit);
    }
}

}  // namespace turnpike::fib
