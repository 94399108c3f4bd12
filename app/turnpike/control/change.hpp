// SPDX-License-Identifier: BSD-3-Clause
// A change set on its way: every owner prepares its part, then all commit, then what is gone is given
// back (doc/design/0009-change-sets.md).
//
//   prepare  allocates, opens, compiles; may fail or throw, and then nothing has happened: what was
//            prepared is undone by being destroyed, the last first
//   exchange only where a port must be closed before another can be opened: when all is ready. May fail;
//            then what was closed is opened again
//   commit   cannot fail. The view is published right after
//   retire   when no worker can hold what was there before
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "datapath/view.hpp"
#include "state/changes.hpp"

namespace turnpike::control {

struct open_port;

struct change {
    const state::desired& before;
    const state::desired& after;
    const state::changes& what;
    const datapath::view* running = nullptr;  ///< null at the start
    std::unique_ptr<datapath::view> view = std::make_unique<datapath::view>();  ///< to be published

    // What owners tell those behind them.
    struct worker {
        unsigned lcore = 0;
        bool forwards = false;
        int node = -1;  ///< NUMA; -1: unknown
    };
    std::vector<worker> workers{};  ///< by number
    using places = std::map<std::string, uint16_t, std::less<>>;
    places port_place{}, interface_place{};
    /// One of the ways of a recursive route: a neighbour, or a fixed hop that drops.
    struct way {
        state::route_member to{};
        std::optional<uint32_t> drops{};
    };
    /// A set of routes on its way. By index into set.targets(): the hops of members, and their own.
    struct leading {
        const state::route_set* set = nullptr;
        const state::route_changes* what = nullptr;
        std::vector<std::vector<way>> ways{};  ///< of recursive ones; empty: none is known
        std::vector<std::vector<uint32_t>> hops_of_members{};  ///< or of ways
        std::vector<uint32_t> hop_of_target{};
    };
    /// The routes of a VRF.
    struct table {
        uint8_t vrf = 0;  ///< place in view::vrf
        leading operators{}, learned{};
        std::map<ip_prefix, uint32_t> derived{};  ///< that follow from addresses: hops
    };
    std::vector<table> tables{};  ///< the main one first
    std::map<std::string, uint8_t, std::less<>> vrf_place{};
    [[nodiscard]] table& table_of(uint8_t vrf) noexcept {
        return *std::find_if(tables.begin(), tables.end(),
                             [&](const table& t) { return t.vrf == vrf; });
    }

    /// By worker, for a view to be published before `view`, where queues change hands (queues.hpp).
    std::vector<datapath::worker_queues> hand_over{};

    /// To be closed, out of the workers' sight, before open_rest(); empty: nothing is.
    std::vector<std::shared_ptr<open_port>> closes_first{};
    /// Open what then can be, and complete the view's ports and queues. False: a MAC address is not the one
    /// that the view had, by which others have prepared.
    std::function<result<bool>()> open_rest{};
};

/// What an owner has ready. Destroyed without commit(): undone.
class staged {
  public:
    staged() = default;
    staged(const staged&) = delete;
    staged& operator=(const staged&) = delete;
    virtual ~staged() = default;
    virtual void commit() noexcept = 0;
    virtual void retire() noexcept {}
};

/// Owns all objects of a kind, and nobody else changes them.
/// Threads  control.
class owner {
  public:
    owner() = default;
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;
    virtual ~owner() = default;
    /// Errors  with the place in the file, and what to do; may throw
    [[nodiscard]] virtual result<std::unique_ptr<staged>> prepare(change& c) = 0;
};

}  // namespace turnpike::control
