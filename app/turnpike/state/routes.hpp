// SPDX-License-Identifier: BSD-3-Clause
// The operator's routes: a million of them, in order of their prefixes, and what they lead to apart,
// since many share it. Copies share one table: the copy that was changed last is what the table says, and
// the others know what is other in theirs. So a copy costs nothing, a change of a few routes what those cost,
// and the two are compared by what was changed. Reading another copy than the last one turns the table into
// that one first, by as many changes as lie between them: after Baker, "Shallow binding makes functional
// arrays fast" (1991).
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/route_table.hpp"

namespace turnpike::state {

/// local  an address of the box itself; only the kernel says so
enum class route_type : uint8_t { unicast, blackhole, unreachable, prohibit, local };
inline constexpr std::string_view route_type_names[] = {"unicast", "blackhole", "unreachable",
                                                        "prohibit", "local"};

inline constexpr size_t most_route_members = 256;
inline constexpr uint16_t most_member_weight = 256;

/// A neighbour that a route leads to, or a link; of a recursive route a gateway, without an interface.
struct route_member {
    /// On the interface's network; of an IPv4 route, IPv6's may be, too (RFC 8950). None: each destination is a
    /// neighbour itself.
    std::optional<ip_address> via{};
    std::string interface {};
    uint16_t weight = 1;  ///< of several: its part of the traffic is by these
    bool onlink = false;  ///< on the link, whatever the interface's networks

    auto operator<=>(const route_member&) const = default;
};

/// What a route leads to.
struct route_target {
    route_type type = route_type::unicast;
    std::vector<route_member> members{};  ///< unicast only, as arrange_members() leaves them
    /// Learned: whose route it is, as rtnetlink numbers them; 0: the operator's.
    uint8_t protocol = 0;
    uint32_t metric = 0;  ///< learned
    /// The operator's: where its gateways are, other routes say (control/recursion.hpp).
    bool recursive = false;

    auto operator<=>(const route_target&) const = default;
};
/// The same of one neighbour.
[[nodiscard]] inline route_target target_via(const ip_address& via, std::string interface) {
    return {.members = {{.via = via, .interface = std::move(interface)}}};
}
/// The same of a gateway that other routes lead to.
[[nodiscard]] inline route_target target_beyond(const ip_address& via) {
    return {.members = {{.via = via}}, .recursive = true};
}
/// The same of a link: its destinations are neighbours there.
[[nodiscard]] inline route_target target_on_link(std::string interface) {
    return {.members = {{.interface = std::move(interface)}}};
}

struct route_changes;

/// Threads  control: one for all copies. What is not const here may change the table of a copy, too.
class route_set {
  public:
    /// Good until the set is changed, or a copy of it is changed or read.
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

    /// The index of a target, made where it is not there. One that no route has by and by is forgotten.
    /// Throws std::bad_alloc: no memory, or targets_most are there.
    uint32_t target_index(const route_target& t);
    /// The same of one that need not be there.
    [[nodiscard]] std::optional<uint32_t> find_target(const route_target& t) const noexcept;

    /// For many, into an empty set: in any order; finish() after the last.
    void add(const ip_prefix& to, uint32_t target) { added_.push_back({to, target}); }
    void reserve(size_t routes) { added_.reserve(routes); }
    /// Sort what was added. Answers the first prefix that was added twice, none where none was.
    std::optional<ip_prefix> finish();

    /// A route that is new, or leads elsewhere now. False: it was there.
    bool set(const ip_prefix& to, const route_target& target) { return set(to, target, last_); }
    /// The same; `index` is the target's where it is known, and known from here on.
    bool set(const ip_prefix& to, const route_target& target, uint32_t& index);
    /// False: there is none.
    bool remove(const ip_prefix& to);
    /// A prefix that is changed soon: what is known of it comes nearer meanwhile.
    void expect(const ip_prefix& to) const noexcept {
        if (at_ != nullptr) table().expect(to);
    }

    [[nodiscard]] const_iterator begin() const noexcept { return lower_bound({}); }
    [[nodiscard]] const_iterator end() const noexcept { return {}; }
    /// The first that is not before a prefix.
    [[nodiscard]] const_iterator lower_bound(const ip_prefix& to) const noexcept;
    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Of the table: each is some 300 bytes, or 800 of IPv6.
    [[nodiscard]] size_t parts() const noexcept { return at_ == nullptr ? 0 : table().parts(); }
    /// Those that no route uses are blackholes.
    [[nodiscard]] std::span<const route_target> targets() const noexcept { return targets_; }
    /// The index of what exactly this prefix leads to; none where there is no route.
    [[nodiscard]] std::optional<uint32_t> at(const ip_prefix& to) const noexcept;
    /// What that leads to.
    [[nodiscard]] const route_target* find(const ip_prefix& to) const noexcept {
        const auto target = at(to);
        return target ? &targets_[*target] : nullptr;
    }

  private:
    friend route_changes diff(const route_set& before, const route_set& after);
    struct version;

    route_table& table() const noexcept;
    route_table& own_table();
    void detach();
    uint32_t exchange(const ip_prefix& to, uint32_t target);
    void unuse(uint32_t target);

    std::shared_ptr<version> at_;  ///< of the table; null: it never had a route
    size_t size_ = 0;
    std::vector<route> added_;  ///< until finish()
    std::vector<route_target> targets_;
    std::vector<uint32_t> uses_;       ///< by target: routes
    std::vector<uint32_t> by_target_;  ///< indices into targets_, sorted by what they name
    std::vector<uint32_t> unused_;     ///< indices into targets_, not in by_target_
    uint32_t last_ = 0;                ///< the target that was set last: mostly the next one's, too
};

/// What makes one set of another, in the order of the prefixes.
struct route_changes {
    std::vector<ip_prefix> removed;
    std::vector<route> set;  ///< added, or leading elsewhere; target of `after`
    [[nodiscard]] size_t size() const noexcept { return removed.size() + set.size(); }
};

/// Of two that are copies of one set, what was changed since is compared; of others, all.
[[nodiscard]] route_changes diff(const route_set& before, const route_set& after);

}  // namespace turnpike::state
