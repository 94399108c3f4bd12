// SPDX-License-Identifier: BSD-3-Clause
// Random changes of recursive routes, compared with a plain reference: it checks every prefix for every
// gateway, and follows a path step by step.
#include <gtest/gtest.h>

#include <random>

#include "control/routing/recursion.hpp"
#include "lib/eal.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"
#include "lib/sanitized.hpp"
#include "state/next_hop_rules.hpp"

namespace turnpike::control {
namespace {

using namespace test;

/// A way as it can be compared: "10.0.2.2 east", or what drops; and its part of the packets.
using shares_by_path = std::map<std::string, double>;

/// How a gateway is found, by reading the state.
class reference {
  public:
    reference(const state::configuration& of, const state::route_set& learned)
        : of_(of), learned_(learned) {}

    /// None: it is not resolved.
    [[nodiscard]] std::optional<shares_by_path> of_target(const state::route_target& t) const {
        return several(t, max_recursions, false);
    }

  private:
    struct candidate {
        unsigned length, rank;  ///< of equal prefixes the highest rank counts
        const state::route_target* route;
        std::string interface;  ///< connected
        bool useless = false;   ///< ours, or a broadcast address
    };

    /// Of gateways; `all`: where one is too deep, nothing is known of any.
    std::optional<shares_by_path> several(const state::route_target& t, unsigned depth,
                                          bool all) const {
        shares_by_path out;
        std::vector<std::pair<shares_by_path, double>> found;
        double weights = 0;
        for (const state::route_member& m : t.members) {
            bool deep = false;
            const auto one = gateway(*m.via, depth, deep);
            if (deep && all) return std::nullopt;
            if (!one) continue;
            found.push_back({*one, m.weight});
            weights += m.weight;
        }
        for (const auto& [paths, weight] : found)
            for (const auto& [name, part] : paths) out[name] += part * weight / weights;
        return without_drops(std::move(out));
    }
    static std::optional<shares_by_path> without_drops(shares_by_path paths) {
        const auto drops = [](const auto& w) { return w.first.starts_with("drop"); };
        if (!std::all_of(paths.begin(), paths.end(), drops)) std::erase_if(paths, drops);
        if (paths.empty()) return std::nullopt;
        double all = 0;
        for (const auto& [name, part] : paths) all += part;
        for (auto& [name, part] : paths) part /= all;
        return paths;
    }
    std::optional<shares_by_path> gateway(const ip_address& g, unsigned depth, bool& deep) const {
        const auto best = longest(g);
        if (!best || best->useless) return std::nullopt;
        if (best->route == nullptr) return shares_by_path{{g.text() + " " + best->interface, 1}};
        if (best->length == 0 && !of_.default_resolves) return std::nullopt;
        const state::route_target& r = *best->route;
        if (r.type == state::route_type::local) return std::nullopt;
        if (r.type != state::route_type::unicast)
            return shares_by_path{
                {"drop " + std::string(state::route_type_names[static_cast<size_t>(r.type)]), 1}};
        if (r.recursive) {
            if (depth == 0 || is_deep(r, depth - 1)) {
                deep = true;
                return std::nullopt;
            }
            return several(r, depth - 1, true);
        }
        shares_by_path out;
        double all = 0;
        for (const auto& m : r.members) all += m.weight;
        for (const auto& m : r.members)
            out[(m.via ? *m.via : g).text() + " " + m.interface] += m.weight / all;
        return out;
    }
    bool is_deep(const state::route_target& r, unsigned depth) const {
        return std::any_of(r.members.begin(), r.members.end(), [&](const state::route_member& m) {
            bool deep = false;
            static_cast<void>(gateway(*m.via, depth, deep));
            return deep;
        });
    }
    std::optional<candidate> longest(const ip_address& g) const {
        std::optional<candidate> best;
        const auto offer = [&](const ip_prefix& to, candidate c) {
            if (to.address.v6 != g.v6 || !to.contains(g)) return;
            c.length = to.length;
            if (!best || std::pair(c.length, c.rank) > std::pair(best->length, best->rank))
                best = c;
        };
        for (const auto& [name, i] : of_.interfaces)
            for (const ip_prefix& a : i.addresses) {
                offer(a.network(), {0, 1, nullptr, name});
                offer({a.address, 32}, {0, 4, nullptr, name, true});
                const uint32_t network = a.network().address.v4();
                for (const uint32_t end : {network, network | (0xffff'ffffU >> a.length)})
                    offer({ip_address::from_v4(end), 32}, {0, 2, nullptr, name, true});
            }
        for (const state::route& r : of_.routes)
            offer(r.to, {0, 3, &of_.routes.targets()[r.target], {}});
        for (const state::route& r : learned_)
            offer(r.to, {0, 0, &learned_.targets()[r.target], {}});
        return best;
    }

    const state::configuration& of_;
    const state::route_set& learned_;
};

constexpr const char* oracle_box =
    "control_plane: {netlink: true}\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n"
    "  - {name: east, device: d1, addresses: [10.0.2.254/24], host_interface: true}\n"
    "  - {name: north, device: d2, addresses: [10.0.3.254/24 MORE], host_interface: true}\n";

class random_recursion : public ::testing::Test {
  protected:
    static std::string box_of(bool more) {
        std::string out = oracle_box;
        return out.replace(out.find(" MORE"), 5, more ? ", 10.53.0.254/24" : "");
    }
    uint32_t below(uint32_t n) {
        return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_);
    }
    ip_address some_gateway() {
        constexpr std::array<const char*, 14> all{
            "10.50.0.1", "10.50.0.2",  "10.50.1.1",  "10.51.0.1", "10.51.1.1",
            "10.52.0.1", "10.52.1.1",  "10.53.0.1",  "10.53.1.1", "10.0.2.7",
            "10.0.3.8",  "10.0.1.254", "10.0.2.255", "192.0.2.1"};
        return *parse_address(all[below(all.size())]);
    }
    ip_prefix some_prefix() {
        constexpr std::array<const char*, 16> all{
            "0.0.0.0/0",    "10.0.0.0/8",   "10.50.0.0/15", "10.50.0.0/16",
            "10.50.0.0/24", "10.50.0.1/32", "10.50.1.0/24", "10.51.0.0/16",
            "10.51.1.0/24", "10.52.0.0/16", "10.52.1.1/32", "10.53.0.0/16",
            "10.53.1.0/24", "10.60.0.0/16", "10.61.0.0/16", "10.0.2.128/25"};
        return *parse_prefix(all[below(all.size())]);
    }
    state::route_target some_target(bool learned) {
        const uint32_t what = below(learned ? 6 : 12);
        if (what == 0)
            return {.type = std::array{state::route_type::blackhole, state::route_type::unreachable,
                                       state::route_type::prohibit}[below(3)]};
        if (what == 1) return state::target_on_link(below(2) == 0 ? "east" : "north");
        if (what == 2 && learned) return {.type = state::route_type::local};
        state::route_target out{.recursive = !learned && what > 3};
        for (uint32_t n = 1 + below(3); n > 0; --n) {
            state::route_member m{.weight = static_cast<uint16_t>(1 + below(4))};
            if (out.recursive)
                m.via = some_gateway();
            else
                m = {.via = ip_address::from_v4(0x0a000202 + below(2) * 256 + below(2)),
                     .weight = m.weight};
            if (!out.recursive) m.interface = (m.via->v4() >> 8 & 0xff) == 2 ? "east" : "north";
            const bool twice = std::any_of(out.members.begin(), out.members.end(),
                                           [&](const auto& other) { return other.via == m.via; });
            if (!twice) out.members.push_back(m);
        }
        REQUIRE(state::arrange_members(out.members));
        return out;
    }
    void change(state::route_set& set, bool learned) {
        const ip_prefix to = some_prefix();
        if (below(3) == 0)
            static_cast<void>(set.remove(to));
        else
            static_cast<void>(set.set(to, some_target(learned)));
    }
    /// The members that workers see.
    shares_by_path shown(uint32_t nexthop) {
        shares_by_path out;
        const auto group = lab_.controller().routing().groups().of_nexthop(nexthop);
        double all = 0;
        for (const auto& m : group.members) all += m.weight;
        for (const auto& m : group.members) {
            const auto whose = lab_.controller().routing().neighbours().of_nexthop(m.nexthop);
            const std::string name =
                whose ? whose->address.text() + " " +
                            lab_.controller().interfaces().name_of(whose->interface)
                : m.nexthop == datapath::fixed_nexthop::blackhole  ? "drop blackhole"
                : m.nexthop == datapath::fixed_nexthop::prohibited ? "drop prohibit"
                                                                   : "drop unreachable";
            out[name] += m.weight / all;
        }
        return out;
    }
    void compare(const state::configuration& is, unsigned step) {
        const reference expected(is, kernel_.routes);
        for (const state::route& r : is.routes) {
            const state::route_target& t = is.routes.targets()[r.target];
            if (!t.recursive) continue;
            uint32_t nexthop = 0;
            lab_.controller().routing().routes().for_each(
                r.to, [&](const ip_prefix&, uint32_t h, route_origin) {
                    nexthop = h;
                    return false;
                });
            const auto wanted = expected.of_target(t);
            const shares_by_path have = shown(nexthop);
            resolved_ += wanted.has_value();
            unresolved_ += !wanted;
            const shares_by_path want = wanted.value_or(shares_by_path{{"drop unreachable", 1}});
            ASSERT_EQ(have.size(), want.size()) << step << " " << r.to.text();
            for (auto h = have.begin(), w = want.begin(); h != have.end(); ++h, ++w) {
                ASSERT_EQ(h->first, w->first) << step << " " << r.to.text();
                ASSERT_NEAR(h->second, w->second, 1e-3)
                    << step << " " << r.to.text() << " " << h->first;
            }
            // Routes with the same gateways have the same next hop, before and after.
            const auto [there, fresh] = nexthops_.emplace(t.members, nexthop);
            ASSERT_TRUE(fresh || there->second == nexthop) << step;
            wanted_.insert(t.members);
        }
        std::erase_if(nexthops_, [&](const auto& h) { return !wanted_.contains(h.first); });
        wanted_.clear();
    }

    own_namespace apart_{};
    running_lab lab_{box_of(false)};
    state::learned kernel_{};
    std::mt19937 random_{7};
    std::map<std::vector<state::route_member>, uint32_t> nexthops_;
    std::set<std::vector<state::route_member>> wanted_;
    unsigned resolved_ = 0, unresolved_ = 0;
};

TEST_F(random_recursion, as_the_reference_has_it) {
    const unsigned steps = sanitized ? 300 : 3000;
    auto last = std::make_unique<state::configuration>(*lab_.read(box_of(false)));
    const uint32_t nexthops = lab_.controller().nexthops().in_use();
    bool more = false;
    for (unsigned step = 0; step < steps; ++step) {
        if (below(40) == 0) more = !more;
        auto next = lab_.read(box_of(more));
        next->routes = last->routes;
        next->default_resolves = last->default_resolves != (below(20) == 0);
        for (uint32_t n = 1 + below(3); n > 0; --n)
            below(3) == 0 ? change(kernel_.routes, true) : change(next->routes, false);
        if (below(100) == 0) next->routes = {};
        *last = *next;
        lab_.worker().pause();
        const auto applied = lab_.controller().apply(std::move(next));
        const auto learnt = lab_.controller().learn(kernel_);
        lab_.worker().resume();
        ASSERT_TRUE(applied) << applied.error().message();
        ASSERT_TRUE(learnt && *learnt);
        ASSERT_NO_FATAL_FAILURE(compare(*last, step));
        if (step % 64 == 0) lab_.settle();
    }
    EXPECT_GT(resolved_, steps);
    EXPECT_GT(unresolved_, steps);
    kernel_ = {};
    ASSERT_TRUE(lab_.apply(box_of(false)));
    lab_.worker().pause();
    EXPECT_TRUE(*lab_.controller().learn(kernel_));
    lab_.worker().resume();
    ASSERT_TRUE(lab_.apply(std::string(box_of(false)) + "icmp: {rate: 7}\n")) << "a transaction";
    lab_.settle();
    for (uint16_t port = 0; port < 3; ++port) (void)lab_.sent(port);
    EXPECT_EQ(lab_.controller().nexthops().in_use(), nexthops) << "each hop came back";
}

}  // namespace
}  // namespace turnpike::control
