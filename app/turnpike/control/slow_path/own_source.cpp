// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/own_source.hpp"

#include <algorithm>

#include "packet/ipv6.hpp"

namespace turnpike::control::slow_path {
namespace {

/// The first global address of an interface that is no duplicate; a tentative one only if there is no other (RFC 4429
/// section 2.1).
std::optional<ipv6_address> global_of(const slow_path_context& t, const dad& own,
                                      uint16_t ifindex) {
    const datapath::interface& on = t.interface(ifindex);
    if (on.addresses == nullptr) return std::nullopt;
    std::optional<ipv6_address> tentative;
    for (const ipv6_address& a : on.addresses->v6) {
        if (packet::is_link_local(a) || own.is_duplicate(ifindex, a)) continue;
        if (!own.is_tentative(ifindex, a)) return a;
        if (!tentative) tentative = a;
    }
    return tentative;
}

}  // namespace

std::optional<ipv6_address> v6_asker(const slow_path_context& t, const dad& own, uint16_t ifindex,
                                     const ip_address& target) {
    const auto& addresses = *t.interface(ifindex).addresses;
    const auto good = [&](const ipv6_address& a) {
        return !own.is_tentative(ifindex, a) && !own.is_duplicate(ifindex, a);
    };
    if (!target.is_link_local())
        for (const ip_prefix& p : addresses.prefixes)
            if (p.contains(target) && good(p.address.v6_bytes())) return p.address.v6_bytes();
    const auto any = std::find_if(addresses.v6.begin(), addresses.v6.end(), good);
    return any == addresses.v6.end() ? std::nullopt : std::optional(*any);
}

uint32_t v4_asker(const slow_path_context& t, uint16_t ifindex, const ip_address& target) {
    for (const ip_prefix& p : t.interface(ifindex).addresses->prefixes)
        if (p.contains(target)) return p.address.v4();
    return v4_answerer(t, ifindex).value_or(0);
}

std::optional<ipv6_address> v6_answerer(const slow_path_context& t, const dad& own,
                                        const owned_mbuf& p) {
    const datapath::snapshot& v = *t.published.load(std::memory_order_relaxed);
    const uint16_t in = p.about().in_interface;
    const auto& ip =
        packet::header_at<packet::ipv6_header>(p.lead().data() + p.about().parsed.l2_bytes);
    if (!packet::is_link_local(ip.destination) &&
        v.vrf[v.interfaces[in].vrf].own.has(ip.destination))
        return ip.destination;
    if (packet::is_link_local(ip.source)) {
        const ipv6_address& near = v.interfaces[in].addresses->v6.front();
        return own.is_duplicate(in, near) ? std::nullopt : std::optional(near);
    }
    const uint16_t by = t.egress_to(in, ip_address::from_v6(ip.source.bytes));
    for (const uint16_t near : {by, in})
        if (const auto here = global_of(t, own, near)) return here;
    for (uint16_t ifindex = 1; ifindex < datapath::max_interfaces; ++ifindex)
        if (v.interfaces[ifindex].vrf == v.interfaces[in].vrf)
            if (const auto there = global_of(t, own, ifindex)) return there;
    const auto* const last = t.interface(by).addresses;
    if (last == nullptr || own.is_duplicate(by, last->v6.front())) return std::nullopt;
    return last->v6.front();
}

std::optional<uint32_t> v4_answerer(const slow_path_context& t, uint16_t in) {
    const datapath::snapshot& v = *t.published.load(std::memory_order_relaxed);
    const auto& own = v.interfaces[in].addresses->v4;
    if (!own.empty()) return own.front().address;
    for (const datapath::interface& other : v.interfaces)
        if (other.addresses != nullptr && !other.addresses->v4.empty() &&
            other.vrf == v.interfaces[in].vrf)
            return other.addresses->v4.front().address;
    return std::nullopt;
}

uint32_t v4_error_source(const slow_path_context& t, uint16_t in, const ip_address& to) {
    constexpr uint32_t dummy = 0xc000'0008;  // 192.0.0.8: RFC 7600 section 4.8
    const uint16_t by = t.egress_to(in, to);
    const auto* const addresses = t.interface(by).addresses;
    return v4_answerer(t, addresses != nullptr && !addresses->v4.empty() ? by : in).value_or(dummy);
}

}  // namespace turnpike::control::slow_path
