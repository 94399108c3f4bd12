// SPDX-License-Identifier: BSD-3-Clause
// Oracle: the kernel. Random routes, next-hop objects, addresses and links in a separate network namespace; after each
// batch, the kernel's own lookups (RTM_GETROUTE with RTM_F_FIB_MATCH, as for a forwarded packet) must find the routes
// that the RIB derives from the notifications, and the workers' lookups their next hops.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "kernel_lab.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::sources {
namespace {

constexpr uint32_t tables[] = {RT_TABLE_MAIN, 10, 20};

/// Random operations on few objects, so that they meet.
class operations {
  public:
    explicit operations(uint32_t seed) : random_(seed) {}

    void run(kernel_lab& in) {
        lab_ = &in;
        const unsigned what = below(100);
        if (what < 62) return change_route();
        if (what < 82) return change_next_hop();
        if (what < 90) return change_address();
        if (what < 98) return change_again();
        change_link();
    }
    [[nodiscard]] uint32_t table() { return tables[below(3)]; }
    /// Mostly in the prefixes of the routes, and never on the links.
    [[nodiscard]] ip_address address(bool v6) {
        ip_address a = v6 ? *parse_address("2001:db8:4000::") : *parse_address("10.64.0.0");
        const auto flip = [&](size_t at, unsigned bits) {
            a.bytes[at] = static_cast<uint8_t>(a.bytes[at] ^ bits);
        };
        if (one_in(8)) flip(v6 ? 3 : 1, one_in(2) ? 0x80 : 1);
        if (one_in(16)) flip(v6 ? 1 : 0, 2);
        a.bytes[v6 ? 5 : 2] = static_cast<uint8_t>(below(3));
        a.bytes[v6 ? 7 : 3] = static_cast<uint8_t>(v6 && one_in(4));
        a.bytes[v6 ? 15 : 3] = static_cast<uint8_t>(below(3));
        return a;
    }

  private:
    [[nodiscard]] unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    [[nodiscard]] bool one_in(unsigned n) { return below(n) == 0; }

    [[nodiscard]] ip_prefix prefix(bool v6) {
        static constexpr uint8_t v4_lengths[] = {0, 8, 10, 16, 24, 32},
                                 v6_lengths[] = {0, 16, 32, 48, 64, 128};
        const uint8_t length = (v6 ? v6_lengths : v4_lengths)[below(6)];
        ip_prefix p = v6 ? *parse_prefix("2001:db8:4000::1/128") : *parse_prefix("10.64.0.1/32");
        p.address.bytes[v6 ? 5 : 2] = static_cast<uint8_t>(below(2));
        p.length = length;
        return p.network();
    }
    [[nodiscard]] ip_address gateway(bool v6, unsigned by) {
        ip_address a = v6 ? *parse_address("2001:db8:0:0::2") : *parse_address("10.0.0.2");
        a.bytes[v6 ? 7 : 2] = static_cast<uint8_t>(by);
        a.bytes[v6 ? 15 : 3] = static_cast<uint8_t>(2 + below(3));
        return a;
    }
    [[nodiscard]] unsigned interface() { return one_in(8) ? kernel_lab::foreign : below(3); }

    [[nodiscard]] netlink::nexthop nexthop(bool v6) {
        const unsigned by = interface();
        netlink::nexthop h{.interface = lab_->index_of(by)};
        if (!one_in(8)) h.via = gateway(v6, by);
        // RFC 8950
        if (h.via && !v6 && one_in(10)) h.via = gateway(true, by);
        if (h.via && one_in(3)) h.flags = RTNH_F_ONLINK;
        if (one_in(12)) h.encap = 1;
        return h;
    }
    void set_paths(netlink::route& r, bool v6) {
        if (one_in(4)) {
            r.next_hop = v6 ? 5 + below(8) : 1 + below(12);
            return;
        }
        const unsigned n = one_in(3) ? 2 + below(2) : 1;
        for (unsigned i = 0; i < n; ++i) {
            r.nexthops.push_back(nexthop(v6));
            if (n > 1) r.nexthops.back().weight = static_cast<uint16_t>(1 + below(3));
        }
    }

    void change_route() {
        const bool v6 = one_in(2);
        netlink::route r{.to = prefix(v6), .table = table(), .type = RTN_UNICAST};
        r.gone = one_in(3);
        // iproute2: add, replace, append, prepend, change; FRR: CREATE with or without REPLACE.
        static constexpr uint16_t hows[] = {NLM_F_CREATE | NLM_F_EXCL, NLM_F_CREATE | NLM_F_REPLACE,
                                            NLM_F_CREATE | NLM_F_APPEND, NLM_F_CREATE,
                                            NLM_F_REPLACE};
        r.how = hows[below(5)];
        r.protocol = one_in(2) ? RTPROT_BGP : RTPROT_STATIC;
        r.metric = below(3) * 100;
        static constexpr uint8_t types[] = {RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT,
                                            RTN_THROW};
        if (one_in(6))
            r.type = types[below(4)];
        else
            set_paths(r, v6);
        if (!v6 && one_in(12)) r.tos = 0x10;
        if (v6 && one_in(12)) r.from = *parse_prefix("2001:db8:77::/48");
        if (v6 && one_in(8)) r.preference = one_in(2) ? 1 : 3;
        // The message of paths that are appended has the first path's preference (ip6_route_mpath_notify).
        if ((r.how & NLM_F_APPEND) != 0 && r.nexthops.size() > 1) r.preference = 0;
        if (!v6 && one_in(8)) r.source = lab_->own_address(below(3));
        if (one_in(8)) r.mtu = 1400;
        if (r.gone && one_in(2)) {  // `ip route del PREFIX metric M`: the first that matches
            r.nexthops.clear();
            r.next_hop = 0;
            r.protocol = 0;
            r.type = 0;
        }
        lab_->send_route(r);
        if (!r.gone) recent_.push_back(r);
    }
    /// Deletes or repeats an earlier route, or one of its paths.
    void change_again() {
        if (recent_.empty()) return;
        netlink::route r =
            recent_[recent_.size() - 1 -
                    below(static_cast<unsigned>(std::min<size_t>(recent_.size(), 20)))];
        r.gone = !one_in(4);
        if (r.gone && r.nexthops.size() > 1 && r.to.address.v6 && one_in(2)) r.nexthops.pop_back();
        lab_->send_route(r);
    }
    void change_next_hop() {
        netlink::next_hop h{.gone = one_in(4), .id = 1 + below(12)};
        if (h.id <= 8) {
            const bool v6 = h.id > 4;
            h.blackhole = one_in(16);
            if (!h.blackhole) h.path = nexthop(v6);
            lab_->send_next_hop(h, v6, !one_in(3));
            return;
        }
        const unsigned first = h.id > 10 ? 5 : 1;
        for (unsigned i = 0; i < 4; ++i)
            if (one_in(2))
                h.group.push_back(
                    {first + i, static_cast<uint16_t>(one_in(4) ? 1 + below(600) : 1 + below(3))});
        lab_->send_next_hop(h, false, !one_in(3));
    }
    void change_address() { lab_->send_own_address(below(3), one_in(3), one_in(2)); }
    void change_link() {
        const unsigned which = below(3);
        if (one_in(2))
            lab_->set_up(which, !lab_->is_up(which));
        else
            lab_->set_carrier(which, !lab_->has_carrier(which));
    }

    kernel_lab* lab_ = nullptr;
    std::mt19937 random_;
    std::vector<netlink::route> recent_{};
};

/// A router with the mirrored links and the routes of a RIB.
class router {
  public:
    void learn(kernel_lab& from) {
        if (!from.rib().consume_changed()) return;
        lab_.worker().pause();
        const auto done = lab_.controller().learn(from.rib().learned());
        lab_.worker().resume();
        ASSERT_TRUE(done) << done.error().message();
    }
    /// Whether packets of a table to an address have the next hops of a target; "" if so.
    [[nodiscard]] std::string differs(uint32_t table, const ip_address& to,
                                      const state::route_target* wanted) {
        const uint8_t vrf = vrf_of(table);
        const uint32_t nexthop = lab_.controller().routing().tables().lookup(vrf, to);
        const std::string is = text_of(nexthop), as = text_of(wanted, vrf);
        return is == as ? ""
                        : "table " + std::to_string(table) + " to " + to.text() + ": published " +
                              is + ", derived " + as;
    }
    [[nodiscard]] const control::controller::learned_batches& batches() {
        return lab_.controller().learned_so_far();
    }

  private:
    static constexpr const char* configuration =
        "control_plane: {netlink: true}\n"
        "vrfs: [{name: ten, table: 10}, {name: twenty, table: 20}]\n"
        "ports:\n"
        "  - {name: v0, device: d0, addresses: [192.168.0.1/24], host_interface: true}\n"
        "  - {name: v1, device: d1, addresses: [192.168.1.1/24], host_interface: true}\n"
        "  - {name: v2, device: d2, addresses: [192.168.2.1/24], host_interface: true}\n"
        "neighbours: {max_entries: 512}\n";

    [[nodiscard]] uint8_t vrf_of(uint32_t table) {
        const auto& all = lab_.controller().routing().vrfs().indexes();
        return all.at(table == 10 ? "ten" : table == 20 ? "twenty" : "");
    }
    static std::string text_of(std::set<std::string> paths) {
        std::string out;
        for (const std::string& p : paths) out += " [" + p + "]";
        return out;
    }
    [[nodiscard]] const std::string& name_of(uint16_t interface) {
        static const std::string none;
        for (const auto& [name, index] : lab_.controller().interfaces().indexes())
            if (index == interface) return name;
        return none;
    }
    [[nodiscard]] std::string text_of_path(uint32_t nexthop) {
        if (const auto n = lab_.controller().routing().neighbours().of_nexthop(nexthop))
            return n->address.text() + " " + name_of(n->interface);
        const datapath::snapshot& now = lab_.snapshot();
        for (const auto& [name, index] : lab_.controller().interfaces().indexes())
            if (const auto* const a = now.interfaces[index].addresses;
                a != nullptr && a->link_nexthop == nexthop)
                return "link " + name;
        return "fixed " + std::to_string(nexthop);
    }
    [[nodiscard]] std::string text_of(uint32_t nexthop) {
        const auto group = lab_.controller().routing().groups().of_nexthop(nexthop);
        if (group.members.empty()) return text_of({text_of_path(nexthop)});
        std::set<std::string> out;
        for (const auto& m : group.members)
            out.insert(text_of_path(m.nexthop) +
                       (group.members.size() == 1 ? "" : " weight " + std::to_string(m.weight)));
        return text_of(out) + (group.mtu == 0 ? "" : " mtu " + std::to_string(group.mtu));
    }
    [[nodiscard]] std::string text_of(const state::route_target* wanted, uint8_t vrf) {
        using namespace datapath;
        using enum state::route_type;
        if (wanted == nullptr) return text_of(fixed_nexthop::no_route);
        switch (wanted->type) {
            case unicast:
                break;
            case blackhole:
                return text_of(fixed_nexthop::blackhole);
            case unreachable:
                return text_of(fixed_nexthop::unreachable);
            case prohibit:
                return text_of(fixed_nexthop::prohibited);
            case local:
                return text_of(fixed_nexthop::local);
            case not_followed:
                return text_of(fixed_nexthop::not_followed);
        }
        std::set<std::string> out;
        for (const auto& m : wanted->members) {
            // The links are in the main VRF, and neighbours are looked up in their interface's.
            if (!m.via && vrf != 0) return text_of(fixed_nexthop::not_followed);
            out.insert((m.via ? m.via->text() : "link") + " " + m.interface +
                       (wanted->members.size() == 1 ? "" : " weight " + std::to_string(m.weight)));
        }
        return text_of(out) + (wanted->mtu == 0 ? "" : " mtu " + std::to_string(wanted->mtu));
    }

    test::running_lab lab_{configuration};
};

class rib_differential : public testing::TestWithParam<uint32_t> {};

/// Compares the routes of 200 addresses.
void compare(kernel_lab& lab, router& published, operations& all, bool v4_only = false) {
    published.learn(lab);
    for (unsigned i = 0; i < 200; ++i) {
        const uint32_t table = all.table();
        const ip_address to = all.address(i % 2 == 0 && !v4_only);
        std::string differs = lab.compare(table, to);
        if (differs.empty()) differs = published.differs(table, to, lab.find(table, to).second);
        ASSERT_EQ(differs, "") << lab.log_of_batch();
    }
}

/// A dump lacks IPv6 routes that are between the paths of a multipath route (fib6_dump_node), so later batches are
/// compared in a new namespace.
TEST_P(rib_differential, equals_the_kernel) {
    if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs network namespaces (root)";
    router published;
    auto lab = std::make_unique<kernel_lab>();
    if (!lab->is_there()) GTEST_SKIP() << "needs a network namespace of its own (root)";
    const bool longer = std::getenv("TURNPIKE_LONG") != nullptr;
    const unsigned batches = longer ? 10000 : 200, of = 10;
    operations all(GetParam());
    size_t taken = 0, found = 0, unfollowed = 0, dumps = 0;
    const auto count = [&] {
        taken += lab->taken();
        found += lab->found();
        unfollowed += lab->not_followed_found();
    };
    for (unsigned n = 0; n < batches; ++n) {
        SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", batch " + std::to_string(n));
        lab->begin_batch();
        for (unsigned i = 0; i < of; ++i) all.run(*lab);
        lab->follow();
        if (n % 25 == 24) lab->dump();  // finds no difference
        const bool dumped = lab->doubts() != 0;
        compare(*lab, published, all, dumped);
        if (HasFatalFailure()) return;
        if (!dumped) continue;
        ++dumps;
        count();
        lab = std::make_unique<kernel_lab>();
    }
    EXPECT_LE(dumps, batches / 50) << "each is a dump of all routes";
    lab->dump();
    SCOPED_TRACE("after a dump");
    compare(*lab, published, all, longer);
    count();
    std::printf(
        "seed %u: %u operations, of which the kernel took %zu; %zu routes found, of which "
        "%zu not followed; %zu dumps; %zu changes of learned routes, of which %zu transactions\n",
        GetParam(), batches * of, taken, found, unfollowed, dumps, size_t{published.batches().all},
        size_t{published.batches().transactions});
}

/// TURNPIKE_SEEDS=FIRST-LAST: seeds in place of the ten of continuous integration.
std::pair<uint32_t, uint32_t> seeds() {
    unsigned first = 1, last = 10;
    if (const char* const given = std::getenv("TURNPIKE_SEEDS"))
        if (std::sscanf(given, "%u-%u", &first, &last) != 2) std::abort();
    return {first, last};
}

INSTANTIATE_TEST_SUITE_P(seeds, rib_differential,
                         testing::Range(seeds().first, seeds().second + 1));

}  // namespace
}  // namespace turnpike::sources
