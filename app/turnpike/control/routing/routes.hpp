// SPDX-License-Identifier: BSD-3-Clause
// The routes of a VRF: the operator's, those derived from addresses, the kernel's, and host routes of resolved
// neighbours, in one FIB per family. Precedence for one prefix: local address, operator's route, connected
// network (or its broadcast address), learned route, neighbour's host route.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "control/routing/next_hops.hpp"
#include "control/routing/resolved_routes.hpp"
#include "control/transaction.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"

namespace turnpike::control {

/// The source of the active route of a prefix.
enum class route_origin : uint8_t { address, configured, connected, learned, neighbour };
inline constexpr std::string_view route_origin_names[] = {"address", "configured", "connected",
                                                          "learned", "neighbour"};

/// Threads  control; workers look up in the FIBs meanwhile.
class routes {
  public:
    /// max_routes  of each family
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<routes>> create(
        rcu::qsbr& rcu, next_hops& nexthops, uint32_t max_routes = datapath::max_route_entries);

    /// A large change builds new FIBs and publishes them at once; a small one updates the FIBs in
    /// batches, and rolls back if one fails. The last owner, so no later owner can fail. Kernel routes for which
    /// the FIB has no room are left out; a route stays in the FIB, stale, if there is no memory even to remove it.
    /// retries  also the routes left out earlier, the stale ones, and what a refused change left behind
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(const vrf_routes& t,
                                                                   bool retries = false);

    /// The next hop of a target that had none; empty: a transaction is necessary. It stays until a transaction finds no
    /// route by it.
    using make_nexthop = std::function<std::optional<uint32_t>(const state::route_target&)>;
    /// Replaces the kernel's routes without a transaction, where no neighbour depends on them: only the FIB is written.
    /// running      the kernel's routes in force; on success, it becomes `next`
    /// what         their differences
    /// may_release  whether next hops may be without routes until the next transaction; there are never many
    /// Returns  false: no route changed; a transaction is necessary
    [[nodiscard]] bool learn(state::route_set& running, const state::route_set& next,
                             const state::route_changes& what, const make_nexthop& make,
                             bool may_release);

    /// Whether a route of a set is on-link.
    [[nodiscard]] static bool lead_to_links(const state::route_set& some) noexcept;
    /// Whether these are the connected networks, local addresses and static neighbours in force.
    [[nodiscard]] bool has_derived(const std::map<ip_prefix, uint32_t>& these) const {
        return derived_ == these;
    }
    /// Whether a route may be on-link: neighbours in its prefix depend on it.
    [[nodiscard]] bool has_link_routes() const noexcept { return links_; }
    /// Number of kernel routes that the FIB has no room for, and of stale routes.
    [[nodiscard]] size_t left_out() const noexcept {
        size_t n = left_out_.size();
        for (const auto& [to, pin] : stale_) n += !left_out_.contains(to);
        return n;
    }
    /// Whether routes were removed since some were left out.
    [[nodiscard]] bool has_room() const noexcept {
        return (!left_out_.empty() || !stale_.empty()) &&
               (v4_->stats().routes < full_v4_ || v6_->stats().routes < full_v6_);
    }

    /// Set the host route of a neighbour. Errors  ENOMEM, ENOSPC: not set
    /// link_hop  next hop of the neighbour's on-link networks: a route as long by that next hop yields to the neighbour
    [[nodiscard]] result<void> set_host(const ip_address& a, uint32_t nexthop,
                                        uint32_t link_nexthop);
    /// No effect on another neighbour's: the address may have moved to another link. Errors  ENOMEM: still set
    [[nodiscard]] result<void> clear_host(const ip_address& a, uint32_t nexthop);

    /// Next hop of a destination, as in the workers' lookup.
    [[nodiscard]] uint32_t lookup(const ip_address& destination) const noexcept;

    /// Whether the route to an address, neighbours' host routes aside, is a connected network or an on-link route by the
    /// next hop `link_nexthop`.
    [[nodiscard]] bool is_on_link(const ip_address& a, uint32_t link_nexthop) const noexcept;

    /// Visit active routes, in order from a prefix on, until `visit` answers false.
    using visitor = std::function<bool(const ip_prefix&, uint32_t nexthop, route_origin)>;
    void for_each(const ip_prefix& from, const visitor& visit) const;

    /// A refused change could not be rolled back completely; the next one that retries rebuilds the FIBs, or without
    /// memory for that, writes the routes that differ.
    [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }
    /// Number of route writes into the FIBs since the start.
    [[nodiscard]] uint64_t written() const noexcept { return written_; }

    [[nodiscard]] const fib::fib4& v4() const noexcept { return *v4_; }
    [[nodiscard]] const fib::fib6& v6() const noexcept { return *v6_; }

  private:
    using nexthops = std::map<ip_prefix, uint32_t>;
    struct writes {
        std::vector<fib::change4> v4;
        std::vector<fib::change6> v6;

        void add(const ip_prefix& to, std::optional<uint32_t> nexthop);
        /// Removals first: their room is free for the others.
        void order();
    };
    class prepared_routes;
    /// Next hops by the part of a target that determines them, of the last transaction and of learn() since.
    using nexthops_of_targets = std::map<state::route_target, uint32_t>;
    [[nodiscard]] static state::route_target key_of(const state::route_target& t);
    [[nodiscard]] std::optional<std::vector<uint32_t>> known_nexthops(
        const state::route_set& running, const state::route_set& next, const make_nexthop& make,
        bool may_release);
    routes(rcu::qsbr& rcu, next_hops& indexes) noexcept : rcu_(rcu), nexthops_(indexes) {}
    result<void> set(const ip_prefix& to, std::optional<uint32_t> nexthop);
    void retry_growth() noexcept;
    void pin_refused(std::span<const uint32_t> some) noexcept;
    [[nodiscard]] std::optional<uint32_t> get(const ip_prefix& to) const;
    struct sources {
        const routes_with_nexthops &operators, &learned;
        const nexthops& derived;
        const std::set<ip_prefix>* without = nullptr;  ///< learned ones that have no room
    };
    [[nodiscard]] sources running() const noexcept {
        return {operators_, learned_, derived_, &left_out_};
    }
    /// Active route of a prefix, neighbours aside, and its source.
    [[nodiscard]] static std::optional<std::pair<uint32_t, route_origin>> routed_nexthop(
        const ip_prefix& to, const sources& from);
    /// Active route of a prefix and its source; none: no route.
    [[nodiscard]] std::optional<std::pair<uint32_t, route_origin>> effective(
        const ip_prefix& to, const sources& from) const;
    [[nodiscard]] std::optional<uint32_t> effective_nexthop(const ip_prefix& to,
                                                            const sources& from) const;
    [[nodiscard]] writes writes_for(const vrf_routes& t, bool retries) const;
    [[nodiscard]] writes differences(const sources& wanted) const;
    /// six_loaded  set where the IPv6 FIB was loaded, whether or not the IPv4 one was
    result<void> load(const sources& from, bool* six_loaded = nullptr);
    [[nodiscard]] std::set<ip_prefix> beyond_room(const sources& from) const;
    /// Maximum number of a family's routes before the kernel's are left out.
    [[nodiscard]] size_t max_learned() const noexcept {
        return max_routes_ - max_routes_ / fib_reserve;
    }
    static constexpr uint32_t fib_reserve = 64;  ///< one route in this many stays free for others

    rcu::qsbr& rcu_;
    next_hops& nexthops_;
    std::unique_ptr<fib::fib4> v4_;
    std::unique_ptr<fib::fib6> v6_;
    struct host {
        uint32_t nexthop = 0, link_nexthop = 0;
    };
    nexthops derived_;
    std::map<ip_prefix, host> hosts_;
    uint64_t written_ = 0;
    bool incomplete_ = false;
    uint32_t max_routes_ = 0;
    std::chrono::steady_clock::time_point next_growth_{};  ///< of set(), after a refused one
    std::set<ip_prefix> left_out_;  ///< prefixes of kernel routes without room
    /// Prefixes whose routes the FIB still has although they are removed or have another next hop, and the pins of the
    /// next hops to which they lead.
    using stale_routes = std::map<ip_prefix, std::shared_ptr<const void>>;
    stale_routes stale_;
    std::map<uint32_t, std::shared_ptr<const void>> refused_;  ///< pins, while incomplete
    size_t full_v4_ = 0, full_v6_ = 0;  ///< numbers of routes when they were left out
    bool links_ = false;                ///< some route of the operator or the kernel is on-link
    routes_with_nexthops operators_{}, learned_{};       ///< of the running configuration
    nexthops_of_targets prepared_;                       ///< the kernel's
    static constexpr size_t max_unused_nexthops = 1024;  ///< beside as many as are in use
};

}  // namespace turnpike::control
