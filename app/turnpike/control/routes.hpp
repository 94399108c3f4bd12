// SPDX-License-Identifier: BSD-3-Clause
// The routes of a VRF: what the operator wrote, what follows from addresses, what is learned of the kernel, and the
// neighbours that are known, in one FIB for each family. Of one prefix counts, in this order: an address of
// ours, the operator's route, a connected network (or its broadcast address), a learned route, a known
// neighbour's host route.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "control/change.hpp"
#include "control/next_hops.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"

namespace turnpike::control {

/// Why a route is there, as it counts.
enum class route_origin : uint8_t { address, configured, connected, learned, neighbour };
inline constexpr std::string_view route_origin_names[] = {"address", "configured", "connected",
                                                          "learned", "neighbour"};

/// Threads  control; workers look up in the FIBs meanwhile.
class routes {
  public:
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<routes>> create(rcu::qsbr& rcu);

    /// Many routes are built beside what is there and shown at once; few are written into it, a
    /// batch after the other, and taken back where one of them fails. The last owner: nothing else can fail behind it.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change::table& t);

    /// The host route of a neighbour. Errors  ENOMEM, ENOSPC: it has none
    /// link_hop  of what routes lead to the link that it is on: where such a route is as long, the neighbour counts
    [[nodiscard]] result<void> set_host(const ip_address& a, uint32_t hop, uint32_t link_hop);
    /// Errors  ENOMEM: it still has it
    [[nodiscard]] result<void> clear_host(const ip_address& a);

    /// The hop of a destination, as a worker would find it.
    [[nodiscard]] uint32_t lookup(const ip_address& destination) const noexcept;

    /// Whether routes lead an address to the link that a hop is of, it being a neighbour there; neighbours' own host
    /// routes are not asked.
    [[nodiscard]] bool is_on_link(const ip_address& a, uint32_t link_hop) const noexcept;

    /// Those that count, in order from a prefix on, until `visit` answers false.
    using visitor = std::function<bool(const ip_prefix&, uint32_t hop, route_origin)>;
    void for_each(const ip_prefix& from, const visitor& visit) const;

    /// A refused change could not be taken back whole; the next one builds the tables anew.
    [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }
    /// Routes that were written into the FIBs, since the start.
    [[nodiscard]] uint64_t written() const noexcept { return written_; }

    [[nodiscard]] const fib::fib4& v4() const noexcept { return *v4_; }
    [[nodiscard]] const fib::fib6& v6() const noexcept { return *v6_; }

  private:
    using hops = std::map<ip_prefix, uint32_t>;
    struct writes {
        std::vector<fib::change4> v4;
        std::vector<fib::change6> v6;
    };
    class staged_routes;
    [[nodiscard]] static bool lead_to_links(const state::route_set& some) noexcept;

    routes() = default;
    result<void> set(const ip_prefix& to, std::optional<uint32_t> hop);
    [[nodiscard]] std::optional<uint32_t> get(const ip_prefix& to) const;
    /// A set of routes of a state, and the hops that they lead to.
    struct leading {
        const state::route_set* set = nullptr;
        const std::vector<uint32_t>& hop_of_target;
        [[nodiscard]] std::optional<uint32_t> hop(const ip_prefix& to) const;
    };
    struct sources {
        leading operators, learned;
        const hops& derived;
    };
    [[nodiscard]] sources running() const noexcept {
        return {{operators_, hop_of_target_}, {learned_, hop_of_learned_}, derived_};
    }
    /// What counts for a prefix but for neighbours, and why.
    [[nodiscard]] static std::optional<std::pair<uint32_t, route_origin>> routed_hop(
        const ip_prefix& to, const sources& from);
    /// What counts for a prefix, and why; none: there is no route.
    [[nodiscard]] std::optional<std::pair<uint32_t, route_origin>> effective(
        const ip_prefix& to, const sources& from) const;
    [[nodiscard]] std::optional<uint32_t> effective_hop(const ip_prefix& to,
                                                        const sources& from) const;
    [[nodiscard]] writes writes_for(const change::table& t) const;
    result<void> load(const sources& from);

    std::unique_ptr<fib::fib4> v4_;
    std::unique_ptr<fib::fib6> v6_;
    struct host {
        uint32_t hop, link_hop;
    };
    hops derived_;
    std::map<ip_prefix, host> hosts_;
    uint64_t written_ = 0;
    bool incomplete_ = false;
    bool links_ = false;  ///< some route of the operator's, or a learned one, leads to a link
    const state::route_set *operators_ = nullptr, *learned_ = nullptr;  ///< of what runs
    std::vector<uint32_t> hop_of_target_, hop_of_learned_;              ///< likewise
};

}  // namespace turnpike::control
