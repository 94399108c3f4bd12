// SPDX-License-Identifier: BSD-3-Clause
// Groups of next hops that share routes' traffic (ECMP): who has which buckets.
//
// A bucket is the member's that scores best for it, of those that can send: highest random weight (Thaler and
// Ravishankar, "Using name-based mappings to increase hit rates", 1998), with weights as in Schindelhauer and
// Schomaker, "Weighted distributed hash tables" (2005). So of n members one that is lost loses its own flows
// only, to all others alike; it gets the same back; and a new one takes its part of each. Scores are made of the
// members' names, so that the same file makes the same ways again after a restart.
//
// What recursive routes lead to is such a group, too, of one member or several, and keeps its hop whatever its
// gateways resolve to: what changes there is one store, for however many routes lead to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "control/change.hpp"
#include "control/next_hops.hpp"
#include "datapath/hop_group.hpp"

namespace turnpike::control {

/// One of those that share.
struct group_member {
    uint64_t name = 0;  ///< a hash of what it is called: its address and interface
    uint32_t hop = 0;
    uint16_t weight = 1;
    auto operator<=>(const group_member&) const = default;
};

/// How many buckets a group of so many has.
[[nodiscard]] uint32_t buckets_for(size_t members) noexcept;

/// The buckets of members that can send; of all where none can.
/// before  of the same members with others of them able; null: none
/// Throws std::bad_alloc
[[nodiscard]] datapath::hop_group::owned make_group(std::span<const group_member> members,
                                                    const std::vector<bool>& able,
                                                    const datapath::hop_group* before);

/// Threads  control.
class hop_groups : public owner {
  public:
    hop_groups(next_hops& hops, rcu::qsbr& rcu) : hops_(hops), rcu_(rcu) {}
    ~hop_groups() override;

    /// A hop for each target of routes: its only member's, a group's, or a fixed one.
    /// Needs change::leading::hops_of_members, and ways of recursive routes.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Links may have come or gone: members get their buckets, or lose them, before anybody is asked.
    /// Throws std::bad_alloc: the groups behind it are as they were
    using judge = std::function<bool(const datapath::next_hop& of_member)>;
    void look_at(const judge& can_send);

    struct shown_member {
        uint32_t hop = 0;
        uint16_t weight = 1;
        bool able = true;
        uint32_t buckets = 0;
    };
    struct shown {
        uint32_t buckets = 0;
        std::vector<shown_member> members{};
    };
    /// Empty: it is no group's.
    [[nodiscard]] shown of_hop(uint32_t hop) const;

    /// Tables that workers were shown, since the start: each was one store.
    [[nodiscard]] uint64_t stores() const noexcept { return stores_; }

  private:
    struct group {
        uint32_t hop = 0;
        std::vector<group_member> members;
        std::vector<bool> able;
        datapath::hop_group::owned table;  ///< that workers see
    };
    using members = std::vector<group_member>;
    /// Recursive routes of the same gateways share one.
    struct gateways {
        uint8_t vrf = 0;
        std::vector<state::route_member> of{};
        auto operator<=>(const gateways&) const = default;
    };
    class staged_groups;

    void publish(group& g, datapath::hop_group::owned next) noexcept;
    void give_back(group& g) noexcept;
    void look_at(group& g, const judge& can_send);

    next_hops& hops_;
    rcu::qsbr& rcu_;
    std::map<members, std::shared_ptr<group>> groups_;
    std::map<gateways, std::shared_ptr<group>> recursive_;
    uint64_t stores_ = 0;
};

}  // namespace turnpike::control
