// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_lab.hpp"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/lwtunnel.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <tuple>

#include "netlink/parse.hpp"

namespace turnpike::sources {
namespace {

bool shell(const std::string& command) { return std::system(command.c_str()) == 0; }

void set_sysctl(const std::string& name, const char* value) {
    std::ofstream("/proc/sys/net/" + name) << value;
}

void put_address(nlmsghdr* m, uint16_t type, const ip_address& a) {
    mnl_attr_put(m, type, a.bits() / 8, a.bytes.data());
}

/// RTA_GATEWAY, or RTA_VIA where the gateway is of another family.
void put_gateway(nlmsghdr* m, const ip_address& via, bool v6) {
    if (via.v6 == v6) return put_address(m, RTA_GATEWAY, via);
    std::array<uint8_t, 18> bytes{};
    const uint16_t family = via.v6 ? AF_INET6 : AF_INET;
    std::memcpy(bytes.data(), &family, 2);
    std::memcpy(bytes.data() + 2, via.bytes.data(), via.bits() / 8);
    mnl_attr_put(m, RTA_VIA, 2 + via.bits() / 8, bytes.data());
}

void put_encap(nlmsghdr* m, uint16_t encap, uint16_t type) {
    mnl_attr_put_u16(m, type, LWTUNNEL_ENCAP_IP);
    nlattr* const in = mnl_attr_nest_start(m, encap);
    mnl_attr_put_u64(m, LWTUNNEL_IP_ID, 7);
    mnl_attr_put_u32(m, LWTUNNEL_IP_DST, 0x017f0000);
    mnl_attr_nest_end(m, in);
}

void put_nexthop(nlmsghdr* m, const netlink::nexthop& h, bool v6) {
    if (h.via) put_gateway(m, *h.via, v6);
    if (h.encap != 0) put_encap(m, RTA_ENCAP, RTA_ENCAP_TYPE);
}

/// IPv6 routes by one nexthop object share their cached destinations (fib6_nh::rt6i_pcpu), so the kernel's answer
/// may name another prefix.
bool is_shared(const netlink::route& r) noexcept { return r.to.address.v6 && r.next_hop != 0; }

using path = std::tuple<std::string, std::string, uint16_t>;  ///< gateway, interface, weight

std::set<path> scaled(const std::map<std::pair<std::string, std::string>, double>& weights) {
    double most = 1;
    for (const auto& [nexthop, w] : weights) most = std::max(most, w);
    std::set<path> out;
    for (const auto& [nexthop, w] : weights)
        out.emplace(nexthop.first, nexthop.second,
                    weights.size() == 1 ? 1
                    : most <= 256
                        ? static_cast<uint16_t>(w)
                        : static_cast<uint16_t>(std::max(std::floor(w * 256 / most + 0.5), 1.0)));
    return out;
}

std::string text_of(const std::set<path>& all) {
    std::string out;
    for (const auto& [via, by, weight] : all) out += fmt::format(" {} {} {}", via, by, weight);
    return out;
}

std::string text_of(const state::route_target& t) {
    std::string out =
        fmt::format("{} proto {} metric {}", state::route_type_names[static_cast<size_t>(t.type)],
                    t.protocol, t.metric);
    for (const auto& m : t.members)
        out += fmt::format(" [{} {} {}]", m.via ? m.via->text() : "link", m.interface, m.weight);
    return out;
}

std::string text_of(const netlink::route& r) {
    std::string out =
        fmt::format("{} {}table {} type {} proto {} metric {} nhid {} tos {} how {:x}",
                    r.gone ? "delete" : "add", r.to.text() + " ", r.table, r.type, r.protocol,
                    r.metric, r.next_hop, r.tos, r.how);
    if (r.from.length != 0) out += " from " + r.from.text();
    if (r.preference != 0) out += fmt::format(" preference {}", r.preference);
    for (const auto& h : r.nexthops)
        out +=
            fmt::format(" [{} if {} weight {} flags {:x} encap {}]", h.via ? h.via->text() : "link",
                        h.interface, h.weight, h.flags, h.encap != 0);
    return out;
}

}  // namespace

struct kernel_lab::request {
    alignas(nlmsghdr) std::array<uint8_t, 4096> room{};
    nlmsghdr* m;
    request(uint16_t type, uint16_t flags) : m(mnl_nlmsg_put_header(room.data())) {
        m->nlmsg_type = type;
        m->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    }
    template <class T>
    T& head() {
        return *static_cast<T*>(mnl_nlmsg_put_extra_header(m, sizeof(T)));
    }
};

kernel_lab::kernel_lab() : buffer_(netlink::link_socket::datagram_bytes) {
    if (::unshare(CLONE_NEWNET) != 0) return;
    set_sysctl("ipv6/conf/all/forwarding", "1");
    set_sysctl("ipv6/conf/default/accept_dad", "0");
    set_sysctl("ipv6/conf/default/addr_gen_mode", "1");
    set_sysctl("ipv6/conf/default/keep_addr_on_down", "1");
    set_sysctl("ipv4/ip_forward", "1");
    for (const char* which : {"all", "default"}) {
        set_sysctl(fmt::format("ipv4/conf/{}/rp_filter", which), "0");
        set_sysctl(fmt::format("ipv4/conf/{}/accept_local", which), "1");
    }
    std::string setup = "ip link set lo up";
    for (unsigned n = 0; n < links; ++n)
        setup += fmt::format(
            " && ip link add v{0} type veth peer name p{0} && ip link set v{0} up && ip link set "
            "p{0} up",
            n);
    for (const char* family : {"-4", "-6"})
        setup += fmt::format(
            " && ip {0} rule del pref 32766 && ip {0} rule del pref 0"
            " && ip {0} rule add pref 1 fwmark 0/0xff lookup local"
            " && ip {0} rule add pref 2 fwmark 0/0xff lookup main"
            " && ip {0} rule add pref 3 fwmark 254 lookup main"
            " && ip {0} rule add pref 4 fwmark 10 lookup 10"
            " && ip {0} rule add pref 5 fwmark 20 lookup 20",
            family);
    setup += " && ip -4 rule del pref 32767";
    if (!shell(setup)) return;
    for (unsigned n = 0; n < links; ++n) {
        indices_[n] = ::if_nametoindex(fmt::format("v{}", n).c_str());
        if (n < foreign) ours_.interfaces.emplace(indices_[n], fmt::format("v{}", n));
        up_[n] = carrier_[n] = true;
    }
    ours_.vrfs = {{10, "ten"}, {20, "twenty"}};
    rib_ = netlink_rib(ours_);
    static constexpr unsigned groups[] = {RTNLGRP_LINK,        RTNLGRP_IPV4_IFADDR,
                                          RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
                                          RTNLGRP_IPV6_ROUTE,  RTNLGRP_NEXTHOP};
    auto opened = netlink::link_socket::open(groups, 64U << 20);
    auto requests = netlink::link_socket::open({}, 0);
    auto dumps = netlink::link_socket::open({}, 0);
    if (!opened || !requests || !dumps) return;
    events_ = std::move(*opened);
    requests_ = std::move(*requests);
    dumps_ = std::move(*dumps);
    there_ = true;
    for (unsigned n = 0; n < links; ++n) {
        for (const bool v6 : {false, true})
            if (n != ingress) send_own_address(n, false, v6);
        seen_[indices_[n]] = {.up = true, .carrier = true, .running = true};
    }
    follow();
}

ip_address kernel_lab::own_address(unsigned link) {
    return ip_address::from_v4(0x0a000001U + (link << 8));
}

int kernel_lab::exchange(request& r) {
    by_objects_.reset();
    r.m->nlmsg_flags |= NLM_F_ACK;
    r.m->nlmsg_seq = ++sequence_;
    if (::send(requests_.fd(), r.m, r.m->nlmsg_len, 0) < 0) return errno;
    alignas(nlmsghdr) std::array<uint8_t, 16384> room{};
    for (;;) {
        const ssize_t got = ::recv(requests_.fd(), room.data(), room.size(), 0);
        if (got < 0) return errno;
        const auto* const a = reinterpret_cast<const nlmsghdr*>(room.data());
        if (a->nlmsg_seq != sequence_ || a->nlmsg_type != NLMSG_ERROR) continue;
        int code = 0;
        std::memcpy(&code, mnl_nlmsg_get_payload(a), sizeof code);
        if (code == 0) ++taken_;
        return -code;
    }
}

void kernel_lab::send_route(const netlink::route& r) {
    request q(r.gone ? RTM_DELROUTE : RTM_NEWROUTE, r.gone ? 0 : r.how);
    const bool v6 = r.to.address.v6;
    auto& head = q.head<rtmsg>();
    head.rtm_family = v6 ? AF_INET6 : AF_INET;
    head.rtm_dst_len = r.to.length;
    head.rtm_src_len = r.from.length;
    head.rtm_tos = r.tos;
    head.rtm_table = RT_TABLE_UNSPEC;
    head.rtm_protocol = r.protocol;
    head.rtm_type = r.type;
    const bool linked = !r.nexthops.empty() && !r.nexthops.front().via;
    head.rtm_scope = r.gone && r.type == 0              ? RT_SCOPE_NOWHERE
                     : linked && r.nexthops.size() == 1 ? RT_SCOPE_LINK
                                                        : RT_SCOPE_UNIVERSE;
    mnl_attr_put_u32(q.m, RTA_TABLE, r.table);
    put_address(q.m, RTA_DST, r.to.address);
    if (r.from.length != 0) put_address(q.m, RTA_SRC, r.from.address);
    if (r.metric != 0) mnl_attr_put_u32(q.m, RTA_PRIORITY, r.metric);
    if (r.next_hop != 0) mnl_attr_put_u32(q.m, RTA_NH_ID, r.next_hop);
    if (r.source) put_address(q.m, RTA_PREFSRC, *r.source);
    if (r.preference != 0) mnl_attr_put_u8(q.m, RTA_PREF, r.preference);
    if (r.mtu != 0) {
        nlattr* const in = mnl_attr_nest_start(q.m, RTA_METRICS);
        mnl_attr_put_u32(q.m, RTAX_MTU, r.mtu);
        mnl_attr_nest_end(q.m, in);
    }
    if (r.nexthops.size() == 1) {
        const netlink::nexthop& h = r.nexthops.front();
        head.rtm_flags = h.flags;
        mnl_attr_put_u32(q.m, RTA_OIF, h.interface);
        put_nexthop(q.m, h, v6);
    } else if (!r.nexthops.empty()) {
        nlattr* const all = mnl_attr_nest_start(q.m, RTA_MULTIPATH);
        for (const netlink::nexthop& h : r.nexthops) {
            auto* const one = static_cast<rtnexthop*>(mnl_nlmsg_get_payload_tail(q.m));
            *one = {};
            one->rtnh_hops = static_cast<uint8_t>(h.weight - 1);
            one->rtnh_flags = h.flags;
            one->rtnh_ifindex = static_cast<int>(h.interface);
            q.m->nlmsg_len += sizeof(rtnexthop);
            put_nexthop(q.m, h, v6);
            one->rtnh_len =
                static_cast<uint16_t>(static_cast<uint8_t*>(mnl_nlmsg_get_payload_tail(q.m)) -
                                      reinterpret_cast<uint8_t*>(one));
        }
        mnl_attr_nest_end(q.m, all);
    }
    const int code = exchange(q);
    log_.push_back(text_of(r) + (code == 0 ? "" : fmt::format(": {}", ::strerror(code))));
}

void kernel_lab::send_next_hop(const netlink::next_hop& h, bool v6, bool replaces) {
    request q(h.gone ? RTM_DELNEXTHOP : RTM_NEWNEXTHOP,
              h.gone ? 0 : NLM_F_CREATE | (replaces ? NLM_F_REPLACE : NLM_F_EXCL));
    auto& head = q.head<nhmsg>();
    head.nh_family = h.gone || !h.group.empty() ? AF_UNSPEC : v6 ? AF_INET6 : AF_INET;
    mnl_attr_put_u32(q.m, NHA_ID, h.id);
    std::string what;
    if (!h.gone && h.blackhole) {
        mnl_attr_put(q.m, NHA_BLACKHOLE, 0, nullptr);
        what = "blackhole";
    } else if (!h.gone && !h.group.empty()) {
        std::array<nexthop_grp, 8> all{};
        for (size_t i = 0; i < h.group.size(); ++i) {
            all[i].id = h.group[i].id;
            all[i].weight = static_cast<uint8_t>(h.group[i].weight - 1);
            // The field after it is the upper half of the weight since Linux 6.12.
            reinterpret_cast<uint8_t*>(&all[i])[5] =
                static_cast<uint8_t>((h.group[i].weight - 1) >> 8);
            what += fmt::format("{},{} ", h.group[i].id, h.group[i].weight);
        }
        mnl_attr_put(q.m, NHA_GROUP, h.group.size() * sizeof(nexthop_grp), all.data());
    } else if (!h.gone) {
        mnl_attr_put_u32(q.m, NHA_OIF, h.path.interface);
        head.nh_flags = h.path.flags;
        if (h.path.via) head.nh_family = h.path.via->v6 ? AF_INET6 : AF_INET;
        if (h.path.via) put_address(q.m, NHA_GATEWAY, *h.path.via);
        if (h.path.encap != 0) put_encap(q.m, NHA_ENCAP, NHA_ENCAP_TYPE);
        what = fmt::format("{} if {} encap {}", h.path.via ? h.path.via->text() : "link",
                           h.path.interface, h.path.encap != 0);
    }
    const int code = exchange(q);
    log_.push_back(fmt::format("{} nexthop {} {}{}",
                               h.gone     ? "delete"
                               : replaces ? "replace"
                                          : "add",
                               h.id, what, code == 0 ? "" : fmt::format(": {}", ::strerror(code))));
}

void kernel_lab::send_own_address(unsigned link, bool gone, bool v6) {
    ip_address a = own_address(link);
    if (v6) {
        a = *parse_address("2001:db8::1");
        a.bytes[7] = static_cast<uint8_t>(link);
    }
    request q(gone ? RTM_DELADDR : RTM_NEWADDR, gone ? 0 : NLM_F_CREATE | NLM_F_REPLACE);
    auto& head = q.head<ifaddrmsg>();
    head.ifa_family = v6 ? AF_INET6 : AF_INET;
    head.ifa_prefixlen = v6 ? 64 : 24;
    head.ifa_index = indices_[link];
    put_address(q.m, IFA_LOCAL, a);
    put_address(q.m, IFA_ADDRESS, a);
    if (v6) mnl_attr_put_u32(q.m, IFA_FLAGS, IFA_F_NODAD);
    const int code = exchange(q);
    log_.push_back(fmt::format("{} address {} dev v{}{}", gone ? "delete" : "add", a.text(), link,
                               code == 0 ? "" : fmt::format(": {}", ::strerror(code))));
}

void kernel_lab::set_up(unsigned link, bool up) {
    request q(RTM_NEWLINK, 0);
    auto& head = q.head<ifinfomsg>();
    head.ifi_index = static_cast<int>(indices_[link]);
    head.ifi_flags = up ? IFF_UP : 0;
    head.ifi_change = IFF_UP;
    exchange(q);
    up_[link] = up;
    log_.push_back(fmt::format("v{} {}", link, up ? "up" : "down"));
    wait_for_link(link);
}

void kernel_lab::set_carrier(unsigned link, bool on) {
    request q(RTM_NEWLINK, 0);
    auto& head = q.head<ifinfomsg>();
    head.ifi_index = static_cast<int>(::if_nametoindex(fmt::format("p{}", link).c_str()));
    head.ifi_flags = on ? IFF_UP : 0;
    head.ifi_change = IFF_UP;
    exchange(q);
    carrier_[link] = on;
    log_.push_back(fmt::format("v{} carrier {}", link, on ? "on" : "off"));
    wait_for_link(link);
}

/// The kernel handles a change of the carrier later, up to a second (net/core/link_watch.c).
void kernel_lab::wait_for_link(unsigned link) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
        follow();
        const netlink::link& l = seen_[indices_[link]];
        const bool on = up_[link] && carrier_[link];
        if (l.up == up_[link] && (!l.up || (l.carrier == on && l.running == on))) return;
        if (std::chrono::steady_clock::now() > until) std::abort();
        pollfd p{.fd = events_.fd(), .events = POLLIN, .revents = 0};
        ::poll(&p, 1, 100);
    }
}

void kernel_lab::follow() {
    for (;;) {
        const auto got = events_.receive(buffer_);
        if (!got || *got == 0) break;
        netlink::parse(std::span(buffer_).first(*got), [&](netlink::message&& m) {
            if (const auto* l = std::get_if<netlink::link>(&m.what)) seen_[l->index] = *l;
            if (const auto* r = std::get_if<netlink::route>(&m.what);
                r != nullptr && r->table != RT_TABLE_LOCAL)
                log_.push_back("   notified: " + text_of(*r));
            rib_.apply(m);
        });
    }
    rib_.settle();
    if (!rib_.is_doubtful()) return;
    ++doubts_;
    dump();
}

void kernel_lab::dump() {
    using kind = netlink_rib::dump_part::kind;
    struct asked {
        uint16_t type;
        netlink_rib::dump_part part;
    };
    std::vector<asked> all = {{RTM_GETLINK, {kind::links}},
                              {RTM_GETADDR, {kind::addresses}},
                              {RTM_GETNEXTHOP, {kind::next_hops}}};
    for (const uint32_t table : {uint32_t{RT_TABLE_MAIN}, 10U, 20U})
        for (const bool v6 : {false, true})
            all.push_back({RTM_GETROUTE, {kind::routes, v6, table}});
    for (const auto& [type, part] : all) {
        const uint8_t family = part.what != kind::routes ? AF_UNSPEC : part.v6 ? AF_INET6 : AF_INET;
        do {
            rib_.begin_part(part);
            request_dump(type, family, part.of, [&](const netlink::message& m) { rib_.apply(m); });
        } while (!rib_.end_part(true));
        if (!rib_.sweep([] { return true; })) std::abort();
    }
    static_cast<void>(rib_.consume_doubtful());
    rib_.settle();
}

void kernel_lab::request_dump(uint16_t type, uint8_t family, uint32_t of,
                              const std::function<void(const netlink::message&)>& handle) {
    if (!dumps_.ask(type, family, of)) std::abort();
    for (bool ended = false; !ended;) {
        pollfd p{.fd = dumps_.fd(), .events = POLLIN, .revents = 0};
        ::poll(&p, 1, 1000);
        const auto got = dumps_.receive(buffer_);
        if (!got) std::abort();
        netlink::parse(std::span(buffer_).first(*got), [&](netlink::message&& m) {
            ended |= std::holds_alternative<netlink::done>(m.what);
            handle(m);
        });
    }
}

/// Number of paths of the kernel's IPv6 route of this prefix by a nexthop object; 0: none.
size_t kernel_lab::paths_by_object(uint32_t table, const ip_prefix& to) {
    if (!by_objects_) {
        by_objects_.emplace();
        for (const uint32_t of : {uint32_t{RT_TABLE_MAIN}, 10U, 20U})
            request_dump(RTM_GETROUTE, AF_INET6, of, [&](const netlink::message& m) {
                const auto* const r = std::get_if<netlink::route>(&m.what);
                if (r != nullptr && r->next_hop != 0)
                    (*by_objects_)[{r->table, r->to}] = std::max<size_t>(r->nexthops.size(), 1);
            });
    }
    const auto there = by_objects_->find({table, to});
    return there == by_objects_->end() ? 0 : there->second;
}

kernel_lab::answer kernel_lab::look_up(uint32_t table, const ip_address& to, const ip_address& from,
                                       uint8_t tos) {
    request q(RTM_GETROUTE, 0);
    auto& head = q.head<rtmsg>();
    head.rtm_family = to.v6 ? AF_INET6 : AF_INET;
    head.rtm_dst_len = static_cast<uint8_t>(to.bits());
    head.rtm_src_len = static_cast<uint8_t>(to.bits());
    head.rtm_tos = tos;
    head.rtm_flags = RTM_F_FIB_MATCH;
    put_address(q.m, RTA_DST, to);
    put_address(q.m, RTA_SRC, from);
    mnl_attr_put_u32(q.m, RTA_IIF, indices_[ingress]);
    mnl_attr_put_u32(q.m, RTA_MARK, table);
    q.m->nlmsg_seq = ++sequence_;
    answer out{.error = EIO};
    if (::send(requests_.fd(), q.m, q.m->nlmsg_len, 0) < 0) return out;
    const ssize_t got = ::recv(requests_.fd(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return out;
    netlink::parse(std::span(buffer_).first(static_cast<size_t>(got)), [&](netlink::message&& m) {
        if (const auto* r = std::get_if<netlink::route>(&m.what)) out = {0, *r};
        if (const auto* d = std::get_if<netlink::done>(&m.what)) out.error = d->code;
    });
    return out;
}

std::string kernel_lab::explain(uint32_t table, const ip_prefix& to) {
    shell(fmt::format("ip -d {} route show table {} > /tmp/kernel_lab.{}",
                      to.address.v6 ? "-6" : "-4", table, ::getpid()));
    std::ifstream in(fmt::format("/tmp/kernel_lab.{}", ::getpid()));
    std::string out((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    shell(fmt::format("ip nexthop > /tmp/kernel_lab.{}", ::getpid()));
    std::ifstream nexthops(fmt::format("/tmp/kernel_lab.{}", ::getpid()));
    out +=
        std::string((std::istreambuf_iterator<char>(nexthops)), std::istreambuf_iterator<char>());
    ::unlink(fmt::format("/tmp/kernel_lab.{}", ::getpid()).c_str());
    return "the kernel has:\n" + out;
}

kernel_lab::nexthop_weights kernel_lab::weights_of(const std::vector<netlink::nexthop>& live,
                                                   unsigned upper) const {
    nexthop_weights out;
    for (const netlink::nexthop& h : live) {
        out[{h.via ? h.via->text() : "link", ours_.interfaces.at(h.interface)}] +=
            h.weight + 256 * (upper % 3);
        upper /= 3;
    }
    return out;
}

std::pair<ip_prefix, const state::route_target*> kernel_lab::find(uint32_t table,
                                                                  const ip_address& to) const {
    const state::learned& known = rib_.learned();
    static const state::route_set no_routes;
    const auto vrf = table == RT_TABLE_MAIN ? known.vrf_routes.end()
                                            : known.vrf_routes.find(ours_.vrfs.at(table));
    const state::route_set& routes = table == RT_TABLE_MAIN          ? known.routes
                                     : vrf == known.vrf_routes.end() ? no_routes
                                                                     : vrf->second;
    const state::route_target* ours = nullptr;
    ip_prefix at{to, static_cast<uint8_t>(to.bits())};
    for (;; --at.length) {
        if ((ours = routes.find(at.network())) != nullptr || at.length == 0) break;
    }
    return {at.network(), ours};
}

std::string kernel_lab::compare(uint32_t table, const ip_address& to) {
    const ip_address from = *parse_address(to.v6 ? "2001:db8:78::1" : "203.0.113.7");
    const answer theirs = look_up(table, to, from, 0);
    const auto derived = find(table, to);
    const ip_prefix& at = derived.first;
    const state::route_target* const ours = derived.second;
    const auto differs = [&](const std::string& how) {
        return fmt::format("table {} to {}: {}\n  ours: {} {}\n  kernel: {} {}\n{}", table,
                           to.text(), how, at.text(), ours == nullptr ? "none" : text_of(*ours),
                           theirs.error == 0 ? "" : ::strerror(theirs.error), text_of(theirs.route),
                           explain(table, at));
    };
    ++found_;
    // Where another route by the same nexthop object was deleted, a cached destination has no route (rt6_info::from).
    if (to.v6 && ours != nullptr && ours->type != state::route_type::unreachable &&
        theirs.error == ENETUNREACH && paths_by_object(table, at) != 0)
        return "";
    using enum state::route_type;
    if (ours != nullptr && ours->type == not_followed) {
        ++not_followed_found_;
        auto why = sources::not_followed::none;
        for (const auto& n : rib_.list_not_followed(1000))
            if (n.to == at && n.vrf == (table == RT_TABLE_MAIN ? "" : ours_.vrfs.at(table)))
                why = n.why;
        const bool by_tos = why == sources::not_followed::tos,
                   by_source = why == sources::not_followed::source_prefix;
        const answer exact =
            !by_tos && !by_source
                ? theirs
                : look_up(table, to, by_source ? *parse_address("2001:db8:77::1") : from,
                          by_tos ? 0x10 : 0);
        if (by_source)
            return "";  // the kernel loses such a route where a plain one of its prefix is deleted
        if (exact.error != 0 && by_tos) return "";  // a blackhole, ...
        if (exact.error != 0 || (exact.route.to != at && !is_shared(exact.route)))
            return differs(fmt::format("not followed for {}: {}",
                                       not_followed_names[static_cast<size_t>(why)],
                                       text_of(exact.route)));
        const auto& nexthops = exact.route.nexthops;
        const bool encap = std::any_of(nexthops.begin(), nexthops.end(),
                                       [](const auto& h) { return h.encap != 0; });
        const bool any_ours = std::any_of(nexthops.begin(), nexthops.end(), [&](const auto& h) {
            return (h.flags & RTNH_F_DEAD) == 0 && ours_.interfaces.contains(h.interface);
        });
        if (is_shared(exact.route)) return "";
        if (why == sources::not_followed::encapsulation && !encap)
            return differs("no encapsulation");
        if (why == sources::not_followed::interface && any_ours)
            return differs("via a mirrored interface");
        return "";
    }
    if (theirs.error != 0) {
        const bool rejects = theirs.error == ENETUNREACH || theirs.error == EHOSTUNREACH;
        if (ours == nullptr || ours->type == unreachable)
            return rejects ? "" : differs("kernel rejects");
        if (ours->type == blackhole && theirs.error == EINVAL) return "";
        if (ours->type == prohibit && theirs.error == EACCES) return "";
        return differs("kernel rejects");
    }
    const bool shared = is_shared(theirs.route);
    if (ours == nullptr || (theirs.route.to != at && !shared)) return differs("prefix");
    if (ours->type != unicast || theirs.route.type != RTN_UNICAST) return differs("type");
    // The paths of an IPv6 multipath route may be of several daemons.
    const bool by_many = to.v6 && theirs.route.nexthops.size() > 1;
    if (!shared && (ours->metric != theirs.route.metric ||
                    (ours->protocol != theirs.route.protocol && !by_many)))
        return differs("metric or protocol");
    std::set<path> of_ours;
    const auto is_live = [](const netlink::nexthop& h) { return (h.flags & RTNH_F_DEAD) == 0; };
    const auto& nexthops = theirs.route.nexthops;
    const auto alive =
        static_cast<size_t>(std::count_if(nexthops.begin(), nexthops.end(), is_live));
    std::vector<netlink::nexthop> live;
    for (const netlink::nexthop& h : nexthops)
        if (is_live(h) && ours_.interfaces.contains(h.interface) && (alive == 1 || h.via))
            live.push_back(h);
    const auto weights = weights_of(live, 0);
    for (const auto& m : ours->members)
        of_ours.emplace(m.via ? m.via->text() : "link", m.interface, m.weight);
    // One member of a group, with the paths of another route that has it.
    if (shared && alive > weights.size()) return "";
    if (shared && to.v6 && alive == 1 && !live.empty() && !live.front().via &&
        paths_by_object(table, at) > 1)
        return "";  // one that the group has without gateway, which is not followed
    if (shared && std::any_of(of_ours.begin(), of_ours.end(), [&](const path& p) {
            return weights.contains({std::get<0>(p), std::get<1>(p)});
        }))
        return "";
    // A route's message has the lower 8 bits of a nexthop group's weights (nexthop_mpath_fill_node).
    unsigned combinations = 1;
    if (theirs.route.next_hop != 0)
        for (size_t n = 0; n < live.size(); ++n) combinations *= 3;
    for (unsigned upper = 0; upper < combinations; ++upper)
        if (of_ours == scaled(weights_of(live, upper))) return "";
    return differs("paths\n  ours:  " + text_of(of_ours) +
                   "\n  kernel:" + text_of(scaled(weights)));
}

std::string kernel_lab::log_of_batch() const {
    std::string out;
    for (const std::string& line : log_) out += line + "\n";
    return out;
}

}  // namespace turnpike::sources
