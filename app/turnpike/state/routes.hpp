// SPDX-License-Identifier: BSD-3-Clause
// The operator's routes: a million of them, in order of their prefixes, and what they lead to apart,
// since many share it. A copy shares its parts with what it was copied from until they are changed: to
// take a copy, change a few routes in it and compare the two costs little beside a million.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/ip.hpp"

namespace turnpike::state {

enum class route_type : uint8_t { unicast, blackhole, unreachable };
inline constexpr std::string_view route_type_names[] = {"unicast", "blackhole", "unreachable"};

/// What a route leads to.
struct route_target {
    route_type type = route_type::unicast;
    ip_address via{};          ///< unicast only: a neighbour on the interface's network
    std::string interface {};  ///< unicast only

    auto operator<=>(const route_target&) const = default;
};

struct route {
    ip_prefix to{};
    uint32_t target = 0;  ///< index into targets()
};

struct route_changes;

/// Threads  control.
class route_set {
    using part = std::vector<route>;  ///< sorted, never empty
    struct placed_part {
        ip_prefix first{};
        std::shared_ptr<part> routes{};
    };

  public:
    class const_iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = route;
        using difference_type = std::ptrdiff_t;
        using pointer = const route*;
        using reference = const route&;

        const_iterator() = default;
        reference operator*() const noexcept { return (*part_->routes)[at_]; }
        pointer operator->() const noexcept { return &**this; }
        const_iterator& operator++() noexcept {
            if (++at_ == part_->routes->size()) ++part_, at_ = 0;
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
        friend route_changes diff(const route_set& before, const route_set& after);
        const_iterator(const placed_part* p, size_t at) noexcept : part_(p), at_(at) {}
        const placed_part* part_ = nullptr;
        size_t at_ = 0;
    };

    /// The index of a target, made where it is not there. One that no route has by and by is forgotten.
    uint32_t target_index(const route_target& t);
    /// The same of one that need not be there.
    [[nodiscard]] std::optional<uint32_t> find_target(const route_target& t) const noexcept;

    /// For many, into an empty set: in any order; finish() after the last.
    void add(const ip_prefix& to, uint32_t target) { added_.push_back({to, target}); }
    void reserve(size_t routes) { added_.reserve(routes); }
    /// Sort what was added. Answers the first prefix that was added twice, none where none was.
    std::optional<ip_prefix> finish();

    /// A route that is new, or leads elsewhere now.
    void set(const ip_prefix& to, const route_target& target);
    /// False: there is none.
    bool remove(const ip_prefix& to);

    [[nodiscard]] const_iterator begin() const noexcept { return {parts_.data(), 0}; }
    [[nodiscard]] const_iterator end() const noexcept { return {parts_.data() + parts_.size(), 0}; }
    /// The first that is not before a prefix.
    [[nodiscard]] const_iterator lower_bound(const ip_prefix& to) const noexcept;
    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Those that no route uses are blackholes.
    [[nodiscard]] std::span<const route_target> targets() const noexcept { return targets_; }
    /// The route of exactly this prefix; null where there is none.
    [[nodiscard]] const route* at(const ip_prefix& to) const noexcept;
    /// What that leads to.
    [[nodiscard]] const route_target* find(const ip_prefix& to) const noexcept {
        const route* r = at(to);
        return r == nullptr ? nullptr : &targets_[r->target];
    }

  private:
    friend route_changes diff(const route_set& before, const route_set& after);

    [[nodiscard]] size_t part_of(const ip_prefix& to) const noexcept;
    part& own(size_t p);
    void use(uint32_t target) noexcept { ++uses_[target]; }
    void unuse(uint32_t target);

    std::vector<placed_part> parts_;  ///< in order
    size_t size_ = 0;
    std::vector<route> added_;  ///< until finish()
    std::vector<route_target> targets_;
    std::vector<uint32_t> uses_;       ///< by target: routes
    std::vector<uint32_t> by_target_;  ///< indices into targets_, sorted by what they name
    std::vector<uint32_t> unused_;     ///< indices into targets_, not in by_target_
    mutable size_t last_part_ = 0;     ///< that part_of() found
    uint32_t last_ = 0;                ///< the target that was set last: mostly the next one's, too
};

/// What makes one set of another. Spans and indices are those of the two sets.
struct route_changes {
    std::vector<ip_prefix> removed;
    std::vector<route> set;  ///< added, or leading elsewhere; target of `after`
};

/// Parts that the two share are passed over.
[[nodiscard]] route_changes diff(const route_set& before, const route_set& after);

}  // namespace turnpike::state
