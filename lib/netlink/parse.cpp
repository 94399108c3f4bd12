// SPDX-License-Identifier: BSD-3-Clause
#include "netlink/parse.hpp"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace turnpike::netlink {
namespace {

/// Thrown for a malformed message; parse() catches it.
struct malformed {
    std::string text;
};

[[noreturn]] void refuse(std::string text) { throw malformed{std::move(text)}; }

/// The attributes of a message or of a nested attribute, by type; the last one of each type wins.
class attributes {
  public:
    attributes(const void* from, size_t bytes) {
        const auto* at = static_cast<const uint8_t*>(from);
        while (bytes != 0) {
            const auto* a = reinterpret_cast<const nlattr*>(at);
            if (!mnl_attr_ok(a, static_cast<int>(bytes)))
                refuse(fmt::format("an attribute does not fit into the {} bytes that are left",
                                   bytes));
            const uint16_t type = mnl_attr_get_type(a);
            if (type < all_.size()) all_[type] = a;
            const size_t step = std::min<size_t>(MNL_ALIGN(a->nla_len), bytes);
            at += step;
            bytes -= step;
        }
    }
    [[nodiscard]] const nlattr* find(uint16_t type) const noexcept { return all_[type]; }

    /// An integer attribute of exactly this size.
    template <class T>
    [[nodiscard]] std::optional<T> number(uint16_t type, const char* name) const {
        const nlattr* a = all_[type];
        if (a == nullptr) return std::nullopt;
        if (mnl_attr_get_payload_len(a) != sizeof(T))
            refuse(fmt::format("{} has {} bytes, not {}", name, mnl_attr_get_payload_len(a),
                               sizeof(T)));
        T value;
        std::memcpy(&value, mnl_attr_get_payload(a), sizeof value);
        return value;
    }
    [[nodiscard]] std::string text(uint16_t type, const char* name) const {
        const nlattr* a = all_[type];
        if (a == nullptr) return {};
        const auto* bytes = static_cast<const char*>(mnl_attr_get_payload(a));
        const size_t most = mnl_attr_get_payload_len(a), length = strnlen(bytes, most);
        if (length == most) refuse(fmt::format("{} is not NUL-terminated", name));
        return {bytes, length};
    }
    [[nodiscard]] std::optional<ip_address> address(uint16_t type, bool v6,
                                                    const char* name) const {
        const nlattr* a = all_[type];
        if (a == nullptr) return std::nullopt;
        return address_of(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), v6, name);
    }
    [[nodiscard]] std::optional<mac_address> mac(uint16_t type) const {
        const nlattr* a = all_[type];
        mac_address out{};
        if (a == nullptr || mnl_attr_get_payload_len(a) != sizeof out.bytes) return std::nullopt;
        std::memcpy(out.bytes, mnl_attr_get_payload(a), sizeof out.bytes);
        return out;
    }

    static ip_address address_of(const void* bytes, size_t length, bool v6, const char* name) {
        ip_address out{.v6 = v6};
        if (length != out.bits() / 8)
            refuse(fmt::format("{} has {} bytes and is not an IPv{} address", name, length,
                               v6 ? 6 : 4));
        std::memcpy(out.bytes.data(), bytes, length);
        return out;
    }

  private:
    static constexpr size_t max_types = 48;  // all attribute types read here are below
    std::array<const nlattr*, max_types> all_{};
};

attributes nested(const nlattr* in) {
    return {mnl_attr_get_payload(in), mnl_attr_get_payload_len(in)};
}

/// The header of a message, followed by its attributes.
template <class Head>
struct body {
    Head head{};
    attributes with;

    explicit body(const nlmsghdr* m) : with(rest(m), rest_bytes(m)) {
        std::memcpy(&head, mnl_nlmsg_get_payload(m), sizeof head);
    }

  private:
    static const uint8_t* rest(const nlmsghdr* m) {
        if (mnl_nlmsg_get_payload_len(m) < sizeof(Head))
            refuse(fmt::format("has {} bytes, less than the {} of its fixed part",
                               mnl_nlmsg_get_payload_len(m), sizeof(Head)));
        return static_cast<const uint8_t*>(mnl_nlmsg_get_payload(m)) +
               std::min<size_t>(MNL_ALIGN(sizeof(Head)), mnl_nlmsg_get_payload_len(m));
    }
    static size_t rest_bytes(const nlmsghdr* m) {
        return mnl_nlmsg_get_payload_len(m) -
               std::min<size_t>(MNL_ALIGN(sizeof(Head)), mnl_nlmsg_get_payload_len(m));
    }
};

/// Returns false for an unsupported address family.
bool is_v6(uint8_t family, bool& v6) noexcept {
    v6 = family == AF_INET6;
    return v6 || family == AF_INET;
}

void check_length(uint8_t length, bool v6, const char* name) {
    const unsigned most = v6 ? 128 : 32;
    if (length > most) refuse(fmt::format("{} is {}, more than {}", name, length, most));
}

ip_prefix prefix_of(std::optional<ip_address> a, bool v6, uint8_t length, const char* name) {
    check_length(length, v6, name);
    return {a.value_or(ip_address{.v6 = v6}), length};
}

/// The table of a VRF device, or 0.
uint32_t vrf_table_of(const nlattr* linkinfo) {
    if (linkinfo == nullptr) return 0;
    const attributes info = nested(linkinfo);
    const nlattr* const data = info.find(IFLA_INFO_DATA);
    if (data == nullptr || info.text(IFLA_INFO_KIND, "IFLA_INFO_KIND") != "vrf") return 0;
    return nested(data).number<uint32_t>(IFLA_VRF_TABLE, "IFLA_VRF_TABLE").value_or(0);
}

std::optional<content> read_link(const nlmsghdr* m) {
    const body<ifinfomsg> b(m);
    // a bridge's message about its port (AF_BRIDGE)
    if (b.head.ifi_family != AF_UNSPEC) return std::nullopt;
    return link{.gone = m->nlmsg_type == RTM_DELLINK,
                .index = static_cast<uint32_t>(b.head.ifi_index),
                .name = b.with.text(IFLA_IFNAME, "IFLA_IFNAME"),
                .up = (b.head.ifi_flags & IFF_UP) != 0,
                .carrier = b.with.number<uint8_t>(IFLA_CARRIER, "IFLA_CARRIER").value_or(0) != 0,
                .running = (b.head.ifi_flags & IFF_RUNNING) != 0,
                .mtu = b.with.number<uint32_t>(IFLA_MTU, "IFLA_MTU").value_or(0),
                .mac = b.with.mac(IFLA_ADDRESS),
                .master = b.with.number<uint32_t>(IFLA_MASTER, "IFLA_MASTER").value_or(0),
                .vrf_table = vrf_table_of(b.with.find(IFLA_LINKINFO))};
}

std::optional<content> read_address(const nlmsghdr* m) {
    const body<ifaddrmsg> b(m);
    bool v6 = false;
    if (!is_v6(b.head.ifa_family, v6)) return std::nullopt;
    const auto local = b.with.address(IFA_LOCAL, v6, "IFA_LOCAL");
    const auto other = b.with.address(IFA_ADDRESS, v6, "IFA_ADDRESS");
    if (!local && !other) refuse("has neither IFA_LOCAL nor IFA_ADDRESS");
    return address{
        .gone = m->nlmsg_type == RTM_DELADDR,
        .interface = b.head.ifa_index,
        .local = prefix_of(local ? local : other, v6, b.head.ifa_prefixlen, "ifa_prefixlen"),
        .remote = local && other && *local != *other ? other : std::nullopt,
        .scope = b.head.ifa_scope,
        .flags = b.with.number<uint32_t>(IFA_FLAGS, "IFA_FLAGS").value_or(b.head.ifa_flags)};
}

std::optional<content> read_neighbour(const nlmsghdr* m) {
    const body<ndmsg> b(m);
    bool v6 = false;
    if (!is_v6(b.head.ndm_family, v6)) return std::nullopt;
    const auto at = b.with.address(NDA_DST, v6, "NDA_DST");
    if (!at) refuse("has no NDA_DST");
    return neighbour{.gone = m->nlmsg_type == RTM_DELNEIGH,
                     .interface = static_cast<uint32_t>(b.head.ndm_ifindex),
                     .at = *at,
                     .mac = b.with.mac(NDA_LLADDR),
                     .state = b.head.ndm_state,
                     .flags = b.head.ndm_flags};
}

/// RTA_GATEWAY is of the route's family, RTA_VIA has a family of its own (RFC 8950: IPv4 via an
/// IPv6 next hop).
std::optional<ip_address> gateway_of(const attributes& with, bool v6) {
    if (auto a = with.address(RTA_GATEWAY, v6, "RTA_GATEWAY")) return a;
    const nlattr* via = with.find(RTA_VIA);
    if (via == nullptr) return std::nullopt;
    const size_t bytes = mnl_attr_get_payload_len(via);
    if (bytes < sizeof(rtvia)) refuse(fmt::format("RTA_VIA has {} bytes", bytes));
    rtvia head;
    std::memcpy(&head, mnl_attr_get_payload(via), sizeof head);
    bool via_v6 = false;
    if (head.rtvia_family > 0xff || !is_v6(static_cast<uint8_t>(head.rtvia_family), via_v6))
        refuse(fmt::format("RTA_VIA is of family {}", head.rtvia_family));
    return attributes::address_of(
        static_cast<const uint8_t*>(mnl_attr_get_payload(via)) + sizeof head, bytes - sizeof head,
        via_v6, "RTA_VIA");
}

/// FNV-1a of an attribute's payload, never 0; 0 without the attribute.
uint64_t digest_of(const nlattr* a, uint64_t so_far = 0) noexcept {
    if (a == nullptr) return so_far;
    uint64_t out = so_far == 0 ? 0xcbf29ce484222325U : so_far;
    const auto* bytes = static_cast<const uint8_t*>(mnl_attr_get_payload(a));
    for (size_t n = 0; n < mnl_attr_get_payload_len(a); ++n)
        out = (out ^ bytes[n]) * 0x100000001b3U;
    return out | 1;
}

/// RTA_ENCAP and RTA_ENCAP_TYPE have the same numbers in a hop of RTA_MULTIPATH.
uint64_t encap_of(const attributes& with) noexcept {
    return digest_of(with.find(RTA_ENCAP), digest_of(with.find(RTA_ENCAP_TYPE)));
}

void read_metrics(const attributes& with, route& to) {
    const nlattr* const metrics = with.find(RTA_METRICS);
    to.metrics = digest_of(with.find(RTA_FLOW), digest_of(metrics));
    if (metrics == nullptr) return;
    const attributes in = nested(metrics);
    to.mtu = in.number<uint32_t>(RTAX_MTU, "RTAX_MTU").value_or(0);
    const uint32_t locked = in.number<uint32_t>(RTAX_LOCK, "RTAX_LOCK").value_or(0);
    to.mtu_locked = (locked & 1U << RTAX_MTU) != 0;
}

std::vector<nexthop> read_multipath(const nlattr* a, bool v6) {
    std::vector<nexthop> out;
    const auto* at = static_cast<const uint8_t*>(mnl_attr_get_payload(a));
    size_t left = mnl_attr_get_payload_len(a);
    while (left != 0) {
        rtnexthop head;
        if (left < sizeof head) refuse(fmt::format("RTA_MULTIPATH ends with {} bytes", left));
        std::memcpy(&head, at, sizeof head);
        if (head.rtnh_len < sizeof head || head.rtnh_len > left)
            refuse(fmt::format("RTA_MULTIPATH has a hop of {} bytes where {} are left",
                               head.rtnh_len, left));
        const attributes with(at + sizeof head, head.rtnh_len - sizeof head);
        out.push_back({.interface = static_cast<uint32_t>(head.rtnh_ifindex),
                       .via = gateway_of(with, v6),
                       .weight = static_cast<uint16_t>(head.rtnh_hops + 1),
                       .flags = head.rtnh_flags,
                       .encap = encap_of(with)});
        const size_t step = std::min<size_t>(RTNH_ALIGN(head.rtnh_len), left);
        at += step;
        left -= step;
    }
    return out;
}

std::optional<content> read_route(const nlmsghdr* m) {
    const body<rtmsg> b(m);
    bool v6 = false;
    if (!is_v6(b.head.rtm_family, v6)) return std::nullopt;
    route out{.gone = m->nlmsg_type == RTM_DELROUTE,
              .how = m->nlmsg_flags,
              .to = prefix_of(b.with.address(RTA_DST, v6, "RTA_DST"), v6, b.head.rtm_dst_len,
                              "rtm_dst_len"),
              .from = prefix_of(b.with.address(RTA_SRC, v6, "RTA_SRC"), v6, b.head.rtm_src_len,
                                "rtm_src_len"),
              .table = b.with.number<uint32_t>(RTA_TABLE, "RTA_TABLE").value_or(b.head.rtm_table),
              .protocol = b.head.rtm_protocol,
              .scope = b.head.rtm_scope,
              .type = b.head.rtm_type,
              .tos = b.head.rtm_tos,
              .flags = b.head.rtm_flags,
              .metric = b.with.number<uint32_t>(RTA_PRIORITY, "RTA_PRIORITY").value_or(0),
              .next_hop = b.with.number<uint32_t>(RTA_NH_ID, "RTA_NH_ID").value_or(0),
              .source = b.with.address(RTA_PREFSRC, v6, "RTA_PREFSRC"),
              .preference = b.with.number<uint8_t>(RTA_PREF, "RTA_PREF").value_or(0),
              .expires = b.with.find(RTA_EXPIRES) != nullptr};
    if (const auto* age = b.with.find(RTA_CACHEINFO);
        age != nullptr && mnl_attr_get_payload_len(age) >= sizeof(rta_cacheinfo)) {
        rta_cacheinfo info;
        std::memcpy(&info, mnl_attr_get_payload(age), sizeof info);
        out.expires |= v6 && info.rta_expires != 0;
    }
    read_metrics(b.with, out);
    if (const nlattr* several = b.with.find(RTA_MULTIPATH)) {
        out.nexthops = read_multipath(several, v6);
        return out;
    }
    const uint32_t by = b.with.number<uint32_t>(RTA_OIF, "RTA_OIF").value_or(0);
    auto via = gateway_of(b.with, v6);
    if (by != 0 || via)
        out.nexthops.push_back({.interface = by,
                                .via = via,
                                .flags = static_cast<uint8_t>(b.head.rtm_flags),
                                .encap = encap_of(b.with)});
    return out;
}

std::optional<content> read_next_hop(const nlmsghdr* m) {
    const body<nhmsg> b(m);
    const auto id = b.with.number<uint32_t>(NHA_ID, "NHA_ID");
    if (!id) refuse("has no NHA_ID");
    next_hop out{
        .gone = m->nlmsg_type == RTM_DELNEXTHOP, .id = *id, .protocol = b.head.nh_protocol};
    out.blackhole = b.with.find(NHA_BLACKHOLE) != nullptr;
    out.resilient = b.with.number<uint16_t>(NHA_GROUP_TYPE, "NHA_GROUP_TYPE")
                        .value_or(NEXTHOP_GRP_TYPE_MPATH) == NEXTHOP_GRP_TYPE_RES;
    if (const nlattr* group = b.with.find(NHA_GROUP)) {
        const size_t bytes = mnl_attr_get_payload_len(group);
        if (bytes % sizeof(nexthop_grp) != 0) refuse(fmt::format("NHA_GROUP has {} bytes", bytes));
        for (size_t at = 0; at < bytes; at += sizeof(nexthop_grp)) {
            const auto* one = static_cast<const uint8_t*>(mnl_attr_get_payload(group)) + at;
            next_hop::member of;
            std::memcpy(&of.id, one, sizeof of.id);
            // The field has the weight less one. Linux 6.12 added its upper half, formerly 0, whose
            // name differs between versions.
            const unsigned weight = one[sizeof of.id] + (unsigned{one[sizeof of.id + 1]} << 8) + 1;
            of.weight = static_cast<uint16_t>(std::min(weight, 0xffffU));
            out.group.push_back(of);
        }
    }
    out.fdb = b.with.find(NHA_FDB) != nullptr;
    out.path.encap = digest_of(b.with.find(NHA_ENCAP), digest_of(b.with.find(NHA_ENCAP_TYPE)));
    out.path.interface = b.with.number<uint32_t>(NHA_OIF, "NHA_OIF").value_or(0);
    out.path.flags = static_cast<uint8_t>(b.head.nh_flags);
    if (b.with.find(NHA_GATEWAY) != nullptr) {
        bool v6 = false;
        if (!is_v6(b.head.nh_family, v6))
            refuse(fmt::format("NHA_GATEWAY is of family {}", b.head.nh_family));
        out.path.via = b.with.address(NHA_GATEWAY, v6, "NHA_GATEWAY");
    }
    return out;
}

std::optional<content> read_rule(const nlmsghdr* m) {
    const body<fib_rule_hdr> b(m);
    bool v6 = false;
    if (!is_v6(b.head.family, v6)) return std::nullopt;
    rule out{.gone = m->nlmsg_type == RTM_DELRULE,
             .v6 = v6,
             .priority = b.with.number<uint32_t>(FRA_PRIORITY, "FRA_PRIORITY").value_or(0),
             .table = b.with.number<uint32_t>(FRA_TABLE, "FRA_TABLE").value_or(b.head.table),
             .action = b.head.action,
             .l3mdev = b.with.number<uint8_t>(FRA_L3MDEV, "FRA_L3MDEV").value_or(0) != 0,
             .in = b.with.text(FRA_IIFNAME, "FRA_IIFNAME"),
             .out = b.with.text(FRA_OIFNAME, "FRA_OIFNAME")};
    if (const auto a = b.with.address(FRA_SRC, v6, "FRA_SRC"))
        out.from = prefix_of(a, v6, b.head.src_len, "src_len");
    if (const auto a = b.with.address(FRA_DST, v6, "FRA_DST"))
        out.to = prefix_of(a, v6, b.head.dst_len, "dst_len");
    return out;
}

/// NLMSG_ERROR with error 0 is an acknowledgement; NLMSG_DONE may have an error too.
std::optional<content> read_end(const nlmsghdr* m) {
    int code = 0;
    if (mnl_nlmsg_get_payload_len(m) >= sizeof code)
        std::memcpy(&code, mnl_nlmsg_get_payload(m), sizeof code);
    else if (m->nlmsg_type == NLMSG_ERROR)
        refuse(fmt::format("has {} bytes", mnl_nlmsg_get_payload_len(m)));
    if (code > 0 || code < -4095) refuse(fmt::format("has the error {}", code));
    return done{-code};
}

std::optional<content> read_overrun(const nlmsghdr*) { return overrun{}; }

struct kind {
    uint16_t first, last;
    const char* name;
    std::optional<content> (*read)(const nlmsghdr*);
};
constexpr kind kinds[] = {{RTM_NEWLINK, RTM_DELLINK, "link", read_link},
                          {RTM_NEWADDR, RTM_DELADDR, "address", read_address},
                          {RTM_NEWROUTE, RTM_DELROUTE, "route", read_route},
                          {RTM_NEWNEIGH, RTM_DELNEIGH, "neighbour", read_neighbour},
                          {RTM_NEWRULE, RTM_DELRULE, "rule", read_rule},
                          {RTM_NEWNEXTHOP, RTM_DELNEXTHOP, "next hop", read_next_hop},
                          {NLMSG_ERROR, NLMSG_DONE, "end", read_end},
                          {NLMSG_OVERRUN, NLMSG_OVERRUN, "overrun", read_overrun}};

}  // namespace

size_t parse(std::span<const uint8_t> bytes, const std::function<void(message&&)>& handle,
             const std::function<void(const error&)>& refuse) {
    size_t refused = 0;
    const auto no = [&](const char* name, std::string text) {
        ++refused;
        refuse({EBADMSG, std::string("netlink: ") + name, std::move(text)});
    };
    const auto* m = reinterpret_cast<const nlmsghdr*>(bytes.data());
    int left = static_cast<int>(bytes.size());
    while (left > 0) {
        // libmnl 1.0.4 compares lengths as signed integers: a length above 2 GiB would be negative.
        if (!mnl_nlmsg_ok(m, left) || m->nlmsg_len > static_cast<uint32_t>(left)) {
            no("message", fmt::format("does not fit into the {} bytes that are left", left));
            return refused;
        }
        for (const kind& k : kinds) {
            if (m->nlmsg_type < k.first || m->nlmsg_type > k.last) continue;
            std::optional<content> read;
            try {
                read = k.read(m);
            } catch (const malformed& why) {
                no(k.name, why.text);
            }
            if (read)
                handle({m->nlmsg_seq, (m->nlmsg_flags & NLM_F_DUMP_INTR) != 0, std::move(*read),
                        m->nlmsg_pid, (m->nlmsg_flags & NLM_F_MULTI) != 0});
            break;
        }
        m = mnl_nlmsg_next(m, &left);
    }
    return refused;
}

}  // namespace turnpike::netlink
