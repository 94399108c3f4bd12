// SPDX-License-Identifier: BSD-3-Clause
#include "acl/rule.hpp"

#include <algorithm>

namespace turnpike::acl {
namespace {

constexpr uint8_t icmp = 1, icmpv6 = 58;

result<void> check(const rule& r) {
    if (r.priority == 0 || r.priority > max_priority)
        return fail(EINVAL, "rule", "priorities are 1 to 2147483647");
    if (r.user_data == 0)
        return fail(EINVAL, "rule", "user data 0 means no match; use another number");
    if (r.categories == 0 || r.categories >> max_categories != 0)
        return fail(EINVAL, "rule", "a rule is in one or more of the categories 0 to 15");
    if (r.source_port.first > r.source_port.last ||
        r.destination_port.first > r.destination_port.last)
        return fail(EINVAL, "rule", "a range of ports ends before it begins");
    if (r.icmp_type || r.icmp_code) {
        const bool is_icmp =
            r.protocol.mask == 0xff && (r.protocol.value == icmp || r.protocol.value == icmpv6);
        if (!is_icmp || r.source_port != port_range{} || r.destination_port != port_range{})
            return fail(EINVAL, "rule",
                        "an ICMP type or code needs protocol 1 or 58 and takes no ports");
    }
    return {};
}

bool only_ipv4(const address_match& a) {
    return std::all_of(a.mask.begin() + 4, a.mask.end(), [](uint8_t b) { return b == 0; });
}

}  // namespace

address_match prefix(std::span<const uint8_t> address, unsigned length) {
    address_match out;
    for (unsigned i = 0; i < address.size() && 8 * i < length; ++i) {
        out.mask[i] = static_cast<uint8_t>(0xff00 >> std::min(8U, length - 8 * i));
        out.value[i] = address[i] & out.mask[i];
    }
    return out;
}

template <unsigned Words>
result<packed_rule<Words>> pack(const rule& r) {
    if (auto ok = check(r); !ok) return tl::unexpected<error>(ok.error());
    if (Words == ipv4_words && !(only_ipv4(r.source) && only_ipv4(r.destination)))
        return fail(EINVAL, "rule", "an IPv4 address has four bytes");
    packed_rule<Words> p{};
    const auto put = [&p](unsigned word, uint32_t value, uint32_t mask) {
        p.value[word] = value & mask;
        p.mask[word] = mask;
    };
    constexpr unsigned address_words = (Words - ports_from_end) / 2;
    for (unsigned w = 0; w < address_words; ++w) {
        put(w, load_be<uint32_t>(&r.source.value[4 * w]), load_be<uint32_t>(&r.source.mask[4 * w]));
        put(address_words + w, load_be<uint32_t>(&r.destination.value[4 * w]),
            load_be<uint32_t>(&r.destination.mask[4 * w]));
    }
    put(Words - protocol_from_end,
        uint32_t{r.protocol.value} << 24 | uint32_t{r.dscp.value} << 16 | r.tcp_flags.value,
        uint32_t{r.protocol.mask} << 24 | uint32_t{r.dscp.mask} << 16 | r.tcp_flags.mask);
    put(Words - vlan_from_end, uint32_t{r.vlan.value} << 16, uint32_t{r.vlan.mask} << 16);
    port_range source = r.source_port, destination = r.destination_port;
    if (r.icmp_type) source = {*r.icmp_type, *r.icmp_type};
    if (r.icmp_code) destination = {*r.icmp_code, *r.icmp_code};
    set_ports(p, source, destination);
    p.priority = r.priority;
    p.categories = r.categories;
    p.user_data = r.user_data;
    return p;
}

template result<packed_rule<ipv4_words>> pack(const rule&);
template result<packed_rule<ipv6_words>> pack(const rule&);

}  // namespace turnpike::acl
