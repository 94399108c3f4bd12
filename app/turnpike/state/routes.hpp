// SPDX-License-Identifier: BSD-3-Clause
// Sets of a million routes, sorted by prefix. Targets (next hops) are stored separately, since many routes share
// them. Copies of a set share one table: the table has the contents of the last changed copy, and
// other copies store their differences. So a copy costs nothing, a change costs only the changed routes,
// and two copies are compared by their differences. Reading an older copy first converts the table to
// it by applying the differences: after Baker, "Shallow binding makes functional
// arrays fast" (1991). Copies share their targets, too, until one of them changes.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/route_table.hpp"

namespace turnpike::state {

/// Learned routes only:
/// local         a local address of the kernel
/// not_followed  the kernel has a route that turnpike cannot forward by: packets are dropped
enum class route_type : uint8_t { unicast, blackhole, unreachable, prohibit, local, not_followed };
inline constexpr std::string_view route_type_names[] = {"unicast",  "blackhole", "unreachable",
                                                        "prohibit", "local",     "not_followed"};

inline constexpr size_t max_route_members = 256;
inline constexpr uint16_t max_member_weight = 256;

/// A next hop: a neighbour or an on-link interface; of a recursive route a gateway, without an interface.
struct route_member {
    /// An address on the interface's network; an IPv4 route may have an IPv6 one (RFC 8950). None: on-link, each
    /// destination is a neighbour.
    std::optional<ip_address> via{};
    std::string interface {};
    uint16_t weight = 1;  ///< ECMP weight
    bool onlink = false;  ///< on the link, regardless of the interface's networks

    auto operator<=>(const route_member&) const = default;
};

/// The target of a route: type and next hops.
struct route_target {
    route_type type = route_type::unicast;
    std::vector<route_member> members{};  ///< unicast only, as arrange_members() leaves them
    /// Learned: rtnetlink protocol number; 0: the operator's route.
    uint8_t protocol = 0;
    uint32_t metric = 0;  ///< learned
    /// The operator's: gateways are resolved by other routes (control/routing/recursion.hpp).
    bool recursive = false;
    /// MTU of the path, if smaller than the MTU of the egress interface; 0: not set. Not of on-link routes
    uint16_t mtu = 0;

    auto operator<=>(const route_target&) const = default;
    bool operator==(const route_target& o) const {  // sets share most of theirs
        return this == &o || (*this <=> o) == 0;
    }
};

/// An on-link target.
[[nodiscard]] inline route_target target_on_link(std::string interface) {
    return {.members = {{.interface = std::move(interface)}}};
}

/// Targets by index. Sets share each target until they change it, so that a copy of thousands of next hops costs their
/// pointers only.
class route_targets {
  public:
    using pointers = std::vector<std::shared_ptr<const route_target>>;
    class iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = route_target;
        using difference_type = std::ptrdiff_t;
        using pointer = const route_target*;
        using reference = const route_target&;

        iterator() = default;
        explicit iterator(pointers::const_iterator at) noexcept : at_(at) {}
        reference operator*() const noexcept { return **at_; }
        pointer operator->() const noexcept { return at_->get(); }
        iterator& operator++() noexcept {
            ++at_;
            return *this;
        }
        iterator operator++(int) noexcept { return iterator(at_++); }
        bool operator==(const iterator&) const = default;

      private:
        pointers::const_iterator at_{};
    };

    route_targets() = default;
    explicit route_targets(const pointers& all) noexcept : all_(&all) {}
    [[nodiscard]] size_t size() const noexcept { return all_->size(); }
    [[nodiscard]] const route_target& operator[](size_t t) const noexcept { return *(*all_)[t]; }
    [[nodiscard]] const route_target& back() const noexcept { return *all_->back(); }
    [[nodiscard]] iterator begin() const noexcept { return iterator(all_->begin()); }
    [[nodiscard]] iterator end() const noexcept { return iterator(all_->end()); }
    /// Whether both are of the same set, or of copies that share all.
    bool operator==(const route_targets&) const = default;

  private:
    static inline const pointers none{};
    const pointers* all_ = &none;
};

struct route_changes;

/// Threads  control: one for all copies. Non-const functions may change the shared table.
class route_set {
  public:
    /// Valid until the set is changed, or a copy of it is changed or read.
    class const_iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = route;
        using difference_type = std::ptrdiff_t;
        using pointer = const route*;
        using reference = const route&;

        const_iterator() = default;
        reference operator*() const noexcept { return *at_; }
        pointer operator->() const noexcept { return &*at_; }
        const_iterator& operator++() noexcept {
            at_.next();
            return *this;
        }
        const_iterator operator++(int) noexcept {
            const_iterator was = *this;
            ++*this;
            return was;
        }
        bool operator==(const const_iterator&) const = default;

      private:
        friend class route_set;
        explicit const_iterator(const route_table::cursor& at) noexcept : at_(at) {}
        route_table::cursor at_{};
    };

    /// The index of a target, which is added if necessary. Unused targets are removed later.
    /// Throws std::bad_alloc: no memory, or targets_most are there.
    uint32_t target_index(const route_target& t);
    /// The index of a target, if it exists.
    [[nodiscard]] std::optional<uint32_t> find_target(const route_target& t) const noexcept;

    /// Bulk insertion into an empty set, in any order; call finish() after the last.
    void add(const ip_prefix& to, uint32_t target) { added_.push_back({to, target}); }
    void reserve(size_t routes) { added_.reserve(routes); }
    /// Sorts the added routes. Returns the first duplicate prefix, if any.
    std::optional<ip_prefix> finish();

    /// Adds or changes a route. Returns false if it already had the target.
    bool set(const ip_prefix& to, const route_target& target) { return set(to, target, last_); }
    /// The same; `index` caches the target's index.
    bool set(const ip_prefix& to, const route_target& target, uint32_t& index);
    /// Returns false if there was no route.
    bool remove(const ip_prefix& to);
    /// Replaces a used target for all its routes, without a change of the table. It may then equal another target.
    void replace_target(uint32_t index, const route_target& by);
    /// Prefetches a prefix that is changed soon.
    void expect(const ip_prefix& to) const noexcept {
        if (at_ != nullptr) table().expect(to);
    }

    [[nodiscard]] const_iterator begin() const noexcept { return lower_bound({}); }
    [[nodiscard]] const_iterator end() const noexcept { return {}; }
    /// The first route not before a prefix.
    [[nodiscard]] const_iterator lower_bound(const ip_prefix& to) const noexcept;
    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Number of parts of the table: each has about 300 bytes, or 800 for IPv6.
    [[nodiscard]] size_t parts() const noexcept { return at_ == nullptr ? 0 : table().parts(); }
    /// Unused entries are blackholes.
    [[nodiscard]] route_targets targets() const noexcept {
        return targets_ == nullptr ? route_targets() : route_targets(targets_->all);
    }
    /// Number of routes of a target.
    [[nodiscard]] uint32_t uses_of(size_t target) const noexcept { return targets_->uses[target]; }
    /// The target index of exactly this prefix, or none.
    [[nodiscard]] std::optional<uint32_t> at(const ip_prefix& to) const noexcept;
    /// The target of exactly this prefix, or null.
    [[nodiscard]] const route_target* find(const ip_prefix& to) const noexcept {
        const auto target = at(to);
        return target ? targets_->all[*target].get() : nullptr;
    }

    /// Whether it is an unchanged copy, or the original of one. Equal routes of unrelated sets do not count.
    [[nodiscard]] bool is_same(const route_set& o) const noexcept {
        return at_ == o.at_ && targets_ == o.targets_;
    }

  private:
    friend route_changes diff(const route_set& before, const route_set& after);
    struct version;
    struct target_list {
        route_targets::pointers all{};
        std::vector<uint32_t> uses{};    ///< number of routes by target
        std::vector<uint32_t> sorted{};  ///< indices into all, sorted by target
        std::vector<uint32_t> unused{};  ///< indices into all, not in sorted
        [[nodiscard]] std::vector<uint32_t>::const_iterator position_of(
            const route_target& t) const noexcept;
        [[nodiscard]] std::vector<uint32_t>::const_iterator position_of(
            uint32_t index) const noexcept;
    };

    target_list& own_targets();
    route_table& table() const noexcept;
    route_table& own_table();
    void detach();
    uint32_t exchange(const ip_prefix& to, uint32_t target);
    static void unuse(target_list& mine, uint32_t target);

    std::shared_ptr<version> at_;  ///< of the table; null: never had a route
    size_t size_ = 0;
    std::vector<route> added_;                ///< until finish()
    std::shared_ptr<target_list> targets_{};  ///< null: never had one
    uint32_t last_ = 0;                       ///< last target: mostly also the next one
};

/// The differences of two sets, sorted by prefix.
struct route_changes {
    std::vector<ip_prefix> removed;
    std::vector<route> set;  ///< added or changed; target of `after`
    [[nodiscard]] size_t size() const noexcept { return removed.size() + set.size(); }
};

/// Copies of one set are compared by their differences; unrelated sets completely.
[[nodiscard]] route_changes diff(const route_set& before, const route_set& after);

}  // namespace turnpike::state
