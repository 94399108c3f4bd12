// SPDX-License-Identifier: BSD-3-Clause
// The operator's routes: a million of them, so by prefix in one sorted array, and what they lead to
// apart, since many share it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/ip.hpp"

namespace turnpike::state {

enum class route_type : uint8_t { unicast, blackhole, unreachable };

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

/// Threads  control.
class route_set {
  public:
    /// The index of a target, made where it is not there.
    uint32_t target_index(const route_target& t);
    /// The same of one that need not be there.
    [[nodiscard]] std::optional<uint32_t> find_target(const route_target& t) const noexcept;
    /// In any order; finish() after the last.
    void add(const ip_prefix& to, uint32_t target) { routes_.push_back({to, target}); }
    void reserve(size_t routes) { routes_.reserve(routes); }
    /// Sort. Answers the first prefix that was added twice, null where none was.
    const ip_prefix* finish();

    [[nodiscard]] std::span<const route> all() const noexcept { return routes_; }
    [[nodiscard]] std::span<const route_target> targets() const noexcept { return targets_; }
    /// The target of exactly this prefix; null where there is no such route.
    [[nodiscard]] const route_target* find(const ip_prefix& to) const noexcept;

  private:
    std::vector<route> routes_;
    std::vector<route_target> targets_;
    std::vector<uint32_t> by_target_;  ///< indices into targets_, sorted by what they name
};

/// What makes one set of another. Spans and indices are those of the two sets.
struct route_changes {
    std::vector<ip_prefix> removed;
    std::vector<route> set;  ///< added, or leading elsewhere; target of `after`
};

[[nodiscard]] route_changes diff(const route_set& before, const route_set& after);

}  // namespace turnpike::state
