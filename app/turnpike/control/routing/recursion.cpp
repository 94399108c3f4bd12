// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/recursion.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace turnpike::control {

std::string_view text_of(unresolved why) noexcept {
    switch (why) {
        case unresolved::none:
            return "";
        case unresolved::no_route:
            return "no route leads there";
        case unresolved::only_default:
            return "only the default route leads there (resolve_via_default)";
        case unresolved::ours:
            return "is our own address";
        case unresolved::broadcast:
            return "is a network or broadcast address";
        case unresolved::beyond:
            return "a recursive route leads there, which is unresolved itself";
        case unresolved::too_deep:
            return "leads back to itself, or through more than 8 recursive routes";
    }
    return "";
}
static_assert(max_recursions == 8);  // the number in the error text

namespace {

auto name_of_path(const recursive_path& w) { return std::tie(w.drops, w.to.via, w.to.interface); }

/// The next hops of several gateways with their shares, without duplicates.
class gathered_paths {
  public:
    void add(const resolved_gateways& gateways, const state::route_target& target) {
        double all = 0;
        for (const state::route_member& m : target.members)
            if (!gateways.at(*m.via).paths.empty()) all += m.weight;
        for (const state::route_member& m : target.members)
            for (const recursive_path& w : gateways.at(*m.via).paths) {
                paths_.push_back(w);
                paths_.back().part *= m.weight / all;
            }
    }
    std::vector<recursive_path> release() {
        const auto drops = [](const recursive_path& w) { return w.drops.has_value(); };
        if (!std::all_of(paths_.begin(), paths_.end(), drops)) std::erase_if(paths_, drops);
        std::sort(paths_.begin(), paths_.end(),
                  [](const recursive_path& a, const recursive_path& b) {
                      return name_of_path(a) < name_of_path(b);
                  });
        std::vector<recursive_path> out;
        for (recursive_path& w : paths_) {
            if (!out.empty() && name_of_path(out.back()) == name_of_path(w))
                out.back().part += w.part;
            else if (out.size() < state::max_route_members)
                out.push_back(std::move(w));
        }
        double all = 0;
        for (const recursive_path& w : out) all += w.part;
        for (recursive_path& w : out) w.part /= all;
        return out;
    }

  private:
    std::vector<recursive_path> paths_;
};

/// Scale weights to the smallest integers in the same ratio, or, if one would exceed 65,535, to the
/// nearest ratio that fits.
void make_whole(std::vector<recursive_path>& paths) {
    constexpr double most = 65535, near = 1e-6;
    double least = 1, greatest = 0;
    for (const recursive_path& w : paths) {
        least = std::min(least, w.part);
        greatest = std::max(greatest, w.part);
    }
    double scale = most / greatest;
    for (unsigned k = 1; k <= 256 && greatest / least * k <= most; ++k) {
        const bool whole = std::all_of(paths.begin(), paths.end(), [&](const recursive_path& w) {
            const double wanted = w.part / least * k;
            return std::abs(wanted - std::round(wanted)) < near * wanted;
        });
        if (!whole) continue;
        scale = k / least;
        break;
    }
    for (recursive_path& w : paths) w.part = std::max(1.0, std::round(w.part * scale));
}

}  // namespace

std::vector<recursive_path> paths_of(const state::route_target& target,
                                     const resolved_gateways& gateways) {
    gathered_paths all;
    all.add(gateways, target);
    auto out = all.release();
    make_whole(out);
    return out;
}

resolved_gateways resolve(const std::map<ip_address, longest_match>& matches) {
    resolved_gateways out;
    std::vector<const std::pair<const ip_address, longest_match>*> left, later;
    for (const auto& one : matches) {
        const auto& [gateway, match] = one;
        resolved_gateway& r = out[gateway];
        if (match.why != unresolved::no_route) r.through = match.to;
        r.why = match.why;
        r.paths = match.paths;
        if (match.next == nullptr) continue;
        r.why = unresolved::too_deep;  // until resolved
        left.push_back(&one);
    }
    // Each round resolves the gateways whose next gateways were resolved in earlier rounds.
    for (unsigned depth = 0; depth < max_recursions && !left.empty(); ++depth) {
        std::set<ip_address> open;
        for (const auto* one : left) open.insert(one->first);
        later.clear();
        for (const auto* one : left) {
            const auto& members = one->second.next->members;
            const bool waits = std::any_of(members.begin(), members.end(),
                                           [&](const auto& m) { return open.contains(*m.via); });
            if (waits) {
                later.push_back(one);
                continue;
            }
            gathered_paths paths;
            paths.add(out, *one->second.next);
            resolved_gateway& r = out[one->first];
            r.paths = paths.release();
            r.why = r.paths.empty() ? unresolved::beyond : unresolved::none;
        }
        if (later.size() == left.size()) break;  // only loops, and paths into loops, are left
        left.swap(later);
    }
    return out;
}

namespace {

/// Longest-prefix matches in a VRF of the new configuration.
class match_finder {
  public:
    match_finder(const transaction& c, const vrf_routes& t, const next_hops& nexthops)
        : c_(c), t_(t), nexthops_(nexthops) {
        for (const auto& [name, ifindex] : c.ifindex_of) names_.emplace(ifindex, &name);
        for (const auto& [name, says] : c.after.neighbours)
            if (c.snapshot->interfaces[c.ifindex_of.at(name.interface)].vrf == t.vrf)
                fixed_.emplace(name.address, &name.interface);
    }

    /// known  the previous longest prefix, if no changed prefix contains the gateway
    [[nodiscard]] longest_match find(const ip_address& gateway,
                                     const resolved_gateway* known) const {
        longest_match out{.why = unresolved::no_route};
        if (known != nullptr) {
            if (known->through) match_at(*known->through, gateway, out);
            return out;
        }
        for (unsigned length = gateway.bits() + 1; length-- > 0;)
            if (match_at(ip_prefix{gateway, static_cast<uint8_t>(length)}.network(), gateway, out))
                break;
        return out;
    }

  private:
    /// The active route of a prefix, as in routes.hpp, but with only the operator's static
    /// neighbours: others come and go.
    bool match_at(const ip_prefix& to, const ip_address& gateway, longest_match& out) const {
        const auto derived = t_.derived.find(to);
        const bool connected = derived != t_.derived.end();
        const auto found = [&](unresolved why) {
            out.why = why;
            out.to = to;
            return true;
        };
        if (connected && derived->second == datapath::fixed_nexthop::local)
            return found(unresolved::ours);
        const state::route_target* route = t_.operators.set->find(to);
        if (route == nullptr && to.length == gateway.bits())
            if (const auto neighbour = fixed_.find(gateway); neighbour != fixed_.end()) {
                out.paths = {{.to = {.via = gateway, .interface = *neighbour->second}}};
                return found(unresolved::none);
            }
        if (route == nullptr && connected)
            return found(resolve_connected(derived->second, gateway, out));
        if (route == nullptr) route = t_.learned.set->find(to);
        if (route == nullptr) return false;
        if (to.length == 0 && !c_.after.default_resolves) return found(unresolved::only_default);
        return found(resolve_route(*route, gateway, out));
    }
    unresolved resolve_connected(uint32_t nexthop, const ip_address& gateway,
                                 longest_match& out) const {
        using namespace datapath;
        if (nexthop == fixed_nexthop::broadcast) return unresolved::broadcast;
        recursive_path& path = out.paths.emplace_back();
        path.to.via = gateway;
        if (nexthop < fixed_nexthop::first_free)
            path.drops = nexthop;
        else
            path.to.interface = *names_.at(nexthops_[nexthop].out.interface);
        return unresolved::none;
    }
    static unresolved resolve_route(const state::route_target& route, const ip_address& gateway,
                                    longest_match& out) {
        using enum state::route_type;
        const auto drops = [&](uint32_t nexthop) {
            out.paths = {{.to = {.via = gateway}, .drops = nexthop}};
            return unresolved::none;
        };
        switch (route.type) {
            case unicast:
                break;
            case blackhole:
                return drops(datapath::fixed_nexthop::blackhole);
            case unreachable:
                return drops(datapath::fixed_nexthop::unreachable);
            case prohibit:
                return drops(datapath::fixed_nexthop::prohibited);
            case local:
                return unresolved::ours;
            case not_followed:
                return drops(datapath::fixed_nexthop::not_followed);
        }
        if (route.recursive) {
            out.next = &route;
            return unresolved::none;
        }
        double all = 0;
        for (const state::route_member& m : route.members) all += m.weight;
        for (const state::route_member& m : route.members)
            out.paths.push_back({.to = {.via = m.via ? *m.via : gateway, .interface = m.interface},
                                 .part = m.weight / all});
        return unresolved::none;
    }

    const transaction& c_;
    const vrf_routes& t_;
    const next_hops& nexthops_;
    std::map<uint16_t, const std::string*> names_;    ///< interface names by index
    std::map<ip_address, const std::string*> fixed_;  ///< static neighbours: their interfaces
};

/// Whether active routes may have changed without a change of the routes themselves.
bool all_anew(const state::changes& what) {
    return !what.ports.empty() || !what.interfaces.empty() || !what.bridges.empty() ||
           !what.tunnels.empty() || !what.vrfs.empty() || !what.neighbours.empty() || what.settings;
}

/// Gateways for which a longer prefix may have been added, or the longest removed.
std::set<ip_address> touched(const resolved_gateways& known,
                             std::initializer_list<const state::route_changes*> changes) {
    std::set<ip_address> out;
    const auto add = [&](const ip_prefix& to) {
        for (auto at = known.lower_bound(to.address); at != known.end() && to.contains(at->first);
             ++at)
            out.insert(at->first);
    };
    for (const state::route_changes* what : changes) {
        for (const ip_prefix& to : what->removed) add(to);
        for (const state::route& r : what->set) add(r.to);
    }
    return out;
}

}  // namespace

class recursion::prepared_recursion : public prepared_change {
  public:
    explicit prepared_recursion(recursion& of) : of_(of) {}

    void add(const transaction& c, vrf_routes& t) {
        const auto targets = t.operators.set->targets();
        t.operators.paths.resize(targets.size());
        std::map<ip_address, longest_match> matches;
        for (const state::route_target& target : targets)
            if (target.recursive)
                for (const state::route_member& m : target.members) matches.try_emplace(*m.via);
        if (matches.empty()) return;
        const auto before = of_.by_vrf_.find(t.vrf);
        const bool anew = before == of_.by_vrf_.end() || all_anew(c.what);
        const auto changed = anew ? std::set<ip_address>{}
                                  : touched(before->second, {t.operators.what, t.learned.what});
        const match_finder finder(c, t, of_.nexthops_);
        for (auto& [gateway, match] : matches) {
            const resolved_gateway* known = nullptr;
            if (!anew && !changed.contains(gateway)) {
                const auto there = before->second.find(gateway);
                if (there != before->second.end()) known = &there->second;
            }
            match = finder.find(gateway, known);
        }
        resolved_gateways resolved = resolve(matches);
        for (size_t target = 0; target < targets.size(); ++target) {
            if (!targets[target].recursive) continue;
            for (recursive_path& path : paths_of(targets[target], resolved)) {
                path.to.weight = static_cast<uint16_t>(path.part);
                t.operators.paths[target].push_back({std::move(path.to), path.drops});
            }
        }
        after_.emplace(t.vrf, std::move(resolved));
    }
    void commit() noexcept override { of_.by_vrf_.swap(after_); }

  private:
    recursion& of_;
    std::map<uint8_t, resolved_gateways> after_{};
};

std::unique_ptr<prepared_change> recursion::prepare(const transaction& c, routes_in_progress& r) {
    auto ready = std::make_unique<prepared_recursion>(*this);
    for (vrf_routes& t : r.tables) ready->add(c, t);
    return ready;
}

bool recursion::depends_on(uint8_t vrf, const state::route_changes& what) const {
    const auto table = by_vrf_.find(vrf);
    return table != by_vrf_.end() && !touched(table->second, {&what}).empty();
}

const resolved_gateway* recursion::find(uint8_t vrf, const ip_address& gateway) const {
    const auto table = by_vrf_.find(vrf);
    if (table == by_vrf_.end()) return nullptr;
    const auto there = table->second.find(gateway);
    return there == table->second.end() ? nullptr : &there->second;
}

}  // namespace turnpike::control
