// SPDX-License-Identifier: BSD-3-Clause
#include "fib/table.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <tuple>

namespace turnpike::fib {

table::table(const config& c, shape s, bool ipv4)
    : config_(c),
      shape_(s),
      ipv4_(ipv4),
      rib_(std::make_unique<rib>(s)),
      nexthops_(std::make_unique<next_hops>()),
      short_(c.short_routes, ipv4) {
    config_.max_bytes = std::min(config_.max_bytes, arena::max_bytes);
}

// Deferred items of the hook use `nexthops_` and `generation_`: defer their destruction after those.
table::~table() {
    retire(trees_);
    retire(generation_);
    retire(nexthops_);
}

result<void> table::start() {
    const unsigned bytes = config_.next_hop_bytes;
    if (!std::has_single_bit(bytes) || bytes > 8 || (bytes == 1 && !ipv4_))
        return fail(EINVAL, config_.name,
                    std::string("next hops of ") + std::to_string(bytes) + " bytes: there are " +
                        (ipv4_ ? "1, " : "") + "2, 4 and 8");
    if (config_.max_routes == 0) return fail(EINVAL, config_.name, "max_routes is 0");
    if (bytes < 8 && config_.default_next_hop >> (8 * bytes) != 0)
        return fail(EINVAL, config_.name, "the default next hop does not fit next_hop_bytes");
    try {
        default_handle_ = nexthops_->acquire(config_.default_next_hop);
        if (rebuild(rebuild_reason::load)) return {};
    } catch (const std::bad_alloc&) {
    }
    return out_of_memory();
}

tl::unexpected<error> table::out_of_memory() const noexcept {
    try {
        return fail(ENOMEM, config_.name,
                    "no memory for the lookup table; it is unchanged (nodes take " +
                        std::to_string(generation_ ? generation_->nodes.capacity_bytes() : 0) +
                        " bytes, at most " + std::to_string(config_.max_bytes) + ")");
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, {});  // no memory even for the text
    }
}

result<void> table::check(const address& a, unsigned length) const {
    if (length > shape_.address_bits)
        return fail(EINVAL, config_.name,
                    "prefix length " + std::to_string(length) + " is over " +
                        std::to_string(shape_.address_bits));
    if (a.masked(length) != a)
        return fail(EINVAL, config_.name, "the address has bits set after the prefix length");
    return {};
}

result<void> table::check_next_hop(uint64_t next_hop) const {
    if (config_.next_hop_bytes < 8 && next_hop >> (8 * config_.next_hop_bytes) != 0)
        return fail(EINVAL, config_.name,
                    "next hop " + std::to_string(next_hop) + " does not fit " +
                        std::to_string(config_.next_hop_bytes) + " bytes");
    return {};
}

void table::free_block(uint32_t offset, uint32_t units) noexcept {
    config_.defer_free({[](void* owner, uint64_t what) {
                            static_cast<arena*>(owner)->release(static_cast<uint32_t>(what),
                                                                static_cast<uint32_t>(what >> 32));
                        },
                        &generation_->nodes, uint64_t{units} << 32 | offset});
}

void table::release_handle(uint32_t handle) noexcept {
    if (!nexthops_->release(handle)) return;
    config_.defer_free({[](void* owner, uint64_t what) {
                            static_cast<next_hops*>(owner)->drop(static_cast<uint32_t>(what));
                        },
                        nexthops_.get(), handle});
}

void table::commit(pending_update& c) noexcept {
    for (const slot_store& s : c.stores)
        for (uint32_t i = 0; i < s.count; ++i)
            if (s.at[i] != s.entry) publish(s.at + i, s.entry);
    for (const node_before& b : c.log)
        if (b.entry != rib_node::unbuilt) free_block(b.entry, b.units);
    c.clear();
}

void table::roll_back(pending_update& c, generation& g) noexcept {
    for (auto b = c.log.rbegin(); b != c.log.rend(); ++b) {
        if (b->node->entry != rib_node::unbuilt) g.nodes.release(b->node->entry, b->node->units);
        b->node->entry = b->entry;
        b->node->units = b->units;
        b->node->background = b->background;
        b->node->only_leaf = b->only_leaf;
        b->node->tree_levels = b->tree_levels;
    }
    c.clear();
}

void table::show() noexcept {
    short_.know(*rib_);
    auto made = short_.build(config_.allocator, *generation_, *nexthops_, default_handle_);
    const view* const now = made ? &made->seen : generation_->published();
    if (now == view_.load(std::memory_order_relaxed)) return;
    view_.store(now, std::memory_order_release);
    retire(trees_);
    trees_ = std::move(made);
}

/// Publish a RIB change to readers; by a rebuild if the arena is full. Returns false if neither
/// worked; readers see no change then.
bool table::apply(const address& a, unsigned length, const rib::path& p,
                  const rib::removed* gone) noexcept {
    generation_->nodes.set_leave(leave_);
    try {
        bool built;
        if (shape_.level_of(length) == 0) {
            const uint32_t count = 1u << (shape_.root_bits - length);
            built = build_root(a.bits(0, shape_.root_bits), count, false, *generation_, change_);
        } else {
            built = build_path(a, p, change_);
        }
        if (built) {
            commit(change_);
            for (unsigned i = 0; gone != nullptr && i < gone->pruned_count; ++i) {
                const rib_node& node = *gone->pruned[i];
                if (node.entry != rib_node::unbuilt) free_block(node.entry, node.units);
            }
            show();
            return true;
        }
    } catch (const std::bad_alloc&) {
    }
    roll_back(change_, *generation_);
    return grow();
}

result<void> table::add(const address& a, unsigned length, uint64_t next_hop) {
    if (auto ok = check(a, length); !ok) return ok;
    if (auto ok = check_next_hop(next_hop); !ok) return ok;
    rib::path p;
    uint32_t* const present = rib_->find(a, length, p);
    if (present == nullptr && rib_->size() >= config_.max_routes)
        return fail(
            ENOSPC, config_.name,
            "all " + std::to_string(config_.max_routes) + " routes are in use (max_routes)");
    try {
        const uint32_t handle = nexthops_->acquire(next_hop);
        if (present != nullptr && *present == handle) {
            (void)nexthops_->release(handle);
            return {};
        }
        const bool fits = generation_->coding().holds(handle, next_hop);
        const uint32_t before = present != nullptr ? *present : 0;
        if (present != nullptr) {
            *present = handle;
        } else {
            try {
                p = rib_->insert(a, length, handle, p);
            } catch (const std::bad_alloc&) {
                release_handle(handle);
                throw;
            }
        }
        short_.put(a, length, handle);
        leave_ = present == nullptr ? arena::leave::reserve : arena::leave::half_reserve;
        if (fits ? apply(a, length, p) : grow()) {
            if (present != nullptr) release_handle(before);
            return {};
        }
        if (present != nullptr)
            *present = before;
        else
            erase(a, length);
        short_.forget();  // the next change loads it again
        release_handle(handle);
    } catch (const std::bad_alloc&) {
    }
    return out_of_memory();
}

/// Undo the insertion of a route.
void table::erase(const address& a, unsigned length) noexcept {
    rib::path existing;
    (void)rib_->find(a, length, existing);
    (void)rib_->erase(a, length, existing);
}

result<void> table::remove(const address& a, unsigned length) {
    if (auto ok = check(a, length); !ok) return ok;
    rib::path existing;
    const uint32_t* const present = rib_->find(a, length, existing);
    if (present == nullptr) return fail(ENOENT, config_.name, "no such route");
    const uint32_t handle = *present;
    rib::removed gone = rib_->erase(a, length, existing);
    short_.erase(a, length);
    leave_ = arena::leave::nothing;
    if (!apply(a, length, gone.kept, &gone)) {
        short_.forget();
        rib_->restore(a, length, gone);  // with the pruned nodes' offsets in the lookup table
        return out_of_memory();
    }
    release_handle(handle);
    return {};
}

result<void> table::load(std::vector<entry> routes) {
    const auto position = [](const entry& e) {
        return std::tuple(e.prefix.high, e.prefix.low, e.length);
    };
    const auto before = [&](const entry& a, const entry& b) { return position(a) < position(b); };
    for (const entry& e : routes) {
        if (auto ok = check(e.prefix, e.length); !ok) return ok;
        if (auto ok = check_next_hop(e.next_hop); !ok) return ok;
    }
    if (!std::is_sorted(routes.begin(), routes.end(), before))
        std::stable_sort(routes.begin(), routes.end(), before);
    std::vector<uint32_t> acquired;
    std::unique_ptr<rib> old_rib;
    try {
        old_rib = std::make_unique<rib>(shape_);
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    old_rib.swap(rib_);
    leave_ = arena::leave::reserve;
    try {
        acquired.reserve(routes.size());
        for (size_t i = 0; i < routes.size(); ++i) {
            if (i + 1 < routes.size() && position(routes[i]) == position(routes[i + 1])) continue;
            acquired.push_back(nexthops_->acquire(routes[i].next_hop));
            rib_->append(routes[i].prefix, routes[i].length, acquired.back());
        }
        short_.forget();
        short_.know(*rib_, true);
        if (rib_->size() <= config_.max_routes && rebuild(rebuild_reason::load)) {
            old_rib->for_each([&](const address&, unsigned, uint32_t h) { release_handle(h); });
            return {};
        }
    } catch (const std::bad_alloc&) {
    }
    const uint32_t wanted = rib_->size();
    rib_.swap(old_rib);
    short_.forget();
    for (const uint32_t handle : acquired) release_handle(handle);
    if (wanted > config_.max_routes)
        return fail(ENOSPC, config_.name,
                    std::to_string(wanted) + " routes exceed max_routes " +
                        std::to_string(config_.max_routes));
    return out_of_memory();
}

std::optional<uint64_t> table::get(const address& a, unsigned length) {
    if (!check(a, length)) return std::nullopt;
    const uint32_t* handle = rib_->find(a, length);
    return handle != nullptr ? std::optional(nexthops_->value(*handle)) : std::nullopt;
}

void table::for_each(const std::function<void(const address&, unsigned, uint64_t)>& visit) const {
    rib_->for_each([&](const address& a, unsigned length, uint32_t handle) {
        visit(a, length, nexthops_->value(handle));
    });
}

level_bytes table::bytes_by_level() const noexcept {
    level_bytes bytes = rib_->units_by_level();
    for (uint64_t& b : bytes) b *= arena::bytes_of(1);
    bytes[0] = generation_->root_bytes();
    return bytes;
}

table_form table::form() const noexcept {
    const view& seen = *readers_view();
    return {rebuilds_, seen.search.levels, seen.trees != nullptr};
}

statistics table::stats() const noexcept {
    const generation& g = *generation_;
    uint32_t distinct = 0;
    for (uint32_t h = 0; h < nexthops_->bound(); ++h) distinct += nexthops_->in_use(h);
    return {rib_->size(),         distinct,           g.root_bytes(), g.nodes.capacity_bytes(),
            g.nodes.live_bytes(), g.nexthops_bytes(), rebuilds_};
}

}  // namespace turnpike::fib
