// SPDX-License-Identifier: BSD-3-Clause
// Applies many route changes to a table in one transaction. RIB nodes of the next changes are
// prefetched while one is applied; a node is built once for all of its routes that change within a
// stretch; readers see the changes when all are built.
#include <algorithm>
#include <new>

#include "fib/table.hpp"

namespace turnpike::fib {

/// The transaction: unless finish() is called, the destructor undoes it.
class table::exchange_under_way {
  public:
    exchange_under_way(table& of, std::span<route_change> changes, bool undoes)
        : t_(of), changes_(changes), undoes_(undoes) {
        t_.leave_ = arena::leave::nothing;
    }
    ~exchange_under_way() {
        if (!finished_) roll_back();
    }
    /// Returns false if the table has max_routes routes already.
    bool make();
    /// Returns false without memory.
    bool finish() noexcept;

  private:
    static constexpr uint32_t none = ~0u;     // no handle: no route
    static constexpr size_t stretch = 64;     // changes per build
    static constexpr unsigned steps = 4;      // steps of expect()
    static constexpr size_t steps_ahead = 4;  // changes between two steps

    struct made {
        uint32_t before, after;  // handles
        uint32_t pruned;         // nodes that the change removed from the RIB
    };
    struct marked_node {
        rib_node* node;
        const rib_node* parent;  // null: the root
        address at;
        unsigned level;
    };
    struct root_slots {
        uint32_t first, count;
    };

    void expect(size_t i, unsigned step) const noexcept;
    bool make_one(const route_change& c);
    void remove_route(const route_change& c, uint32_t handle, const rib::path& existing);
    void mark(const route_change& c, const rib::path& existing) noexcept;
    bool build_marked();
    void stop_building() noexcept;
    void forget_marks() noexcept;
    void roll_back() noexcept;
    void put_back(const route_change& c, const made& m) noexcept;

    table& t_;
    std::span<route_change> changes_;
    bool undoes_;
    std::vector<made> done_;
    std::vector<std::unique_ptr<rib_node>> pruned_;
    std::vector<std::map<uint32_t, uint32_t>::node_type> root_routes_;  // removed from the RIB
    std::vector<marked_node> marked_;
    std::vector<root_slots> roots_;
    unsigned levels_ = 0;   // bit l: a marked node is of level l
    bool building_ = true;  // otherwise finish() rebuilds everything
    bool finished_ = false;
};

bool table::exchange_under_way::make() {
    done_.reserve(changes_.size());
    marked_.reserve(stretch * rib::max_levels);
    roots_.reserve(stretch);
    for (unsigned step = 0; step < steps; ++step)
        for (size_t i = 0; i < (steps - step) * steps_ahead; ++i) expect(i, step);
    for (size_t i = 0; i < changes_.size(); ++i) {
        for (unsigned step = 0; step < steps; ++step)
            expect(i + (steps - step) * steps_ahead, step);
        if (!make_one(changes_[i])) return false;
        if ((i + 1) % stretch == 0 || i + 1 == changes_.size())
            if (building_ && !build_marked()) stop_building();
    }
    return true;
}

/// Prefetch for the i-th change and the build of its node: each step reads pointers that the
/// previous one prefetched.
void table::exchange_under_way::expect(size_t i, unsigned step) const noexcept {
    constexpr size_t nearest_caches_hold = 2048;  // next hops
    if (i >= changes_.size()) return;
    const route_change& c = changes_[i];
    const rib_node* const node = t_.rib_->expect(c.prefix, step);
    if (step < 3 || t_.nexthops_->bound() < nearest_caches_hold) return;
    if (c.next_hop) t_.nexthops_->expect(*c.next_hop);
    if (node == nullptr) return;
    constexpr size_t most = 16;  // covers the routes of most nodes
    for (size_t r = 0; r < std::min(node->routes.size(), most); ++r)
        t_.nexthops_->expect_handle(node->routes[r].handle);
}

bool table::exchange_under_way::make_one(const route_change& c) {
    rib::path existing;
    uint32_t* const there = t_.rib_->find(c.prefix, c.length, existing);
    const uint32_t before = there == nullptr ? none : *there;
    if (!c.next_hop) {
        if (there != nullptr)
            remove_route(c, before, existing);
        else
            done_.push_back({none, none, 0});
        return true;
    }
    if (there == nullptr && t_.rib_->size() >= t_.config_.max_routes) return false;
    const uint32_t after = t_.nexthops_->acquire(*c.next_hop);
    if (before == after) {
        (void)t_.nexthops_->release(after);
        done_.push_back({before, after, 0});
        return true;
    }
    if (there != nullptr) {
        *there = after;
    } else {
        try {
            existing = t_.rib_->insert(c.prefix, c.length, after, existing);
        } catch (const std::bad_alloc&) {
            t_.release_handle(after);
            throw;
        }
    }
    t_.short_.put(c.prefix, c.length, after);
    if (!undoes_)
        t_.leave_ = std::min(t_.leave_,
                             before == none ? arena::leave::reserve : arena::leave::half_reserve);
    done_.push_back({before, after, 0});
    if (building_ && !t_.generation_->coding().holds(after, *c.next_hop)) stop_building();
    mark(c, existing);
    return true;
}

void table::exchange_under_way::remove_route(const route_change& c, uint32_t handle,
                                             const rib::path& existing) {
    const auto room_for = [](auto& list, size_t more) {
        if (list.capacity() - list.size() < more) list.reserve(2 * list.size() + more);
    };
    room_for(pruned_, rib::max_levels);
    room_for(root_routes_, 1);
    rib::removed gone = t_.rib_->erase(c.prefix, c.length, existing);
    t_.short_.erase(c.prefix, c.length);
    for (unsigned i = 0; i < gone.pruned_count; ++i) {
        gone.pruned[i]->changed = false;
        pruned_.push_back(std::move(gone.pruned[i]));
    }
    if (gone.root_route) root_routes_.push_back(std::move(gone.root_route));
    done_.push_back({handle, none, gone.pruned_count});
    mark(c, gone.kept);
}

/// Mark the node to rebuild for a change: the deepest node on its path that readers use, or root
/// slots.
void table::exchange_under_way::mark(const route_change& c, const rib::path& existing) noexcept {
    if (!building_) return;
    const shape& s = t_.shape_;
    const uint32_t slot = c.prefix.bits(0, s.root_bits);
    if (s.level_of(c.length) == 0) {
        roots_.push_back({slot, 1U << (s.root_bits - c.length)});
        return;
    }
    unsigned level = existing.count;
    while (level > 0 && existing.nodes[level - 1]->entry == rib_node::unbuilt) --level;
    if (level == 0) {
        if (roots_.empty() || roots_.back().first != slot || roots_.back().count != 1)
            roots_.push_back({slot, 1});
        return;
    }
    for (const unsigned first = first_to_build(existing, level); level >= first; --level) {
        rib_node& node = *existing.nodes[level - 1];
        if (node.changed) return;
        node.changed = true;
        levels_ |= 1U << level;
        marked_.push_back(
            {&node, level > 1 ? existing.nodes[level - 2] : nullptr, c.prefix, level});
    }
}

/// Build from the root down: a rebuilt node includes changed nodes below it. Returns false without
/// room.
bool table::exchange_under_way::build_marked() {
    generation& g = *t_.generation_;
    g.nodes.set_leave(t_.leave_);
    for (const root_slots& r : roots_)
        if (!t_.build_root(r.first, r.count, false, g, t_.change_)) return false;
    for (unsigned level = 1; level <= rib::max_levels; ++level) {
        if ((levels_ >> level & 1) == 0) continue;
        for (const marked_node& m : marked_)
            if (m.level == level && m.node->changed &&
                !t_.build_known(m.at, *m.node, m.parent, level, t_.change_))
                return false;
    }
    forget_marks();
    return true;
}

void table::exchange_under_way::forget_marks() noexcept {
    for (const marked_node& m : marked_) m.node->changed = false;
    marked_.clear();
    roots_.clear();
    levels_ = 0;
}

/// Called when the arena or the IDs are exhausted.
void table::exchange_under_way::stop_building() noexcept {
    building_ = false;
    forget_marks();
    t_.roll_back(t_.change_, *t_.generation_);
}

bool table::exchange_under_way::finish() noexcept {
    if (building_) {
        t_.commit(t_.change_);
        for (const auto& node : pruned_)
            if (node->entry != rib_node::unbuilt) t_.free_block(node->entry, node->units);
        t_.show();
    } else if (!t_.grow()) {
        return false;
    }
    finished_ = true;
    for (size_t i = 0; i < done_.size(); ++i) {
        const uint32_t before = done_[i].before;
        changes_[i].next_hop.reset();
        if (before == none) continue;
        changes_[i].next_hop = t_.nexthops_->value(before);
        if (before != done_[i].after) t_.release_handle(before);
    }
    return true;
}

/// Undo in reverse order: the RIB's vectors still have their capacity, so this cannot fail.
void table::exchange_under_way::roll_back() noexcept {
    stop_building();
    for (size_t i = done_.size(); i-- > 0;)
        if (done_[i].before != done_[i].after) put_back(changes_[i], done_[i]);
    t_.short_.forget();
}

void table::exchange_under_way::put_back(const route_change& c, const made& m) noexcept {
    if (m.before == none) {
        t_.erase(c.prefix, c.length);
    } else if (m.after != none) {
        *t_.rib_->find(c.prefix, c.length) = m.before;
    } else {
        rib::removed gone;
        gone.handle = m.before;
        gone.kept = t_.rib_->nodes_to(c.prefix, c.length);
        gone.pruned_count = m.pruned;
        for (unsigned i = m.pruned; i-- > 0; pruned_.pop_back())
            gone.pruned[i] = std::move(pruned_.back());
        if (t_.shape_.level_of(c.length) == 0) {
            gone.root_route = std::move(root_routes_.back());
            root_routes_.pop_back();
        }
        t_.rib_->restore(c.prefix, c.length, gone);
    }
    if (m.after != none) t_.release_handle(m.after);
}

result<void> table::exchange(std::span<route_change> changes, bool undoes) {
    for (const route_change& c : changes) {
        if (auto ok = check(c.prefix, c.length); !ok) return ok;
        if (c.next_hop)
            if (auto ok = check_next_hop(*c.next_hop); !ok) return ok;
    }
    try {
        exchange_under_way all(*this, changes, undoes);
        if (!all.make())
            return fail(
                ENOSPC, config_.name,
                "all " + std::to_string(config_.max_routes) + " routes are in use (max_routes)");
        if (all.finish()) return {};
    } catch (const std::bad_alloc&) {
    }
    return out_of_memory();
}

}  // namespace turnpike::fib
