// SPDX-License-Identifier: BSD-3-Clause
#include "state/acl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "packet/headers.hpp"

namespace turnpike::state {
namespace {

/// An extension header and its bit of the key.
struct extension_bit {
    uint8_t protocol;
    uint16_t flags, vlan;
};
constexpr std::array extension_bits = {
    extension_bit{packet::protocol_hop_by_hop, 0, acl_key::has_hop_by_hop},
    extension_bit{packet::protocol_routing, acl_key::has_routing, 0},
    extension_bit{packet::protocol_fragment, 0, acl_key::has_fragment_header},
    extension_bit{packet::protocol_authentication, acl_key::has_authentication, 0},
    extension_bit{packet::protocol_destination_options, 0, acl_key::has_destination_options}};

const extension_bit* extension_of(uint8_t protocol) noexcept {
    const auto* const at =
        std::find_if(extension_bits.begin(), extension_bits.end(),
                     [&](const extension_bit& e) { return e.protocol == protocol; });
    return at == extension_bits.end() ? nullptr : at;
}

/// Fixes bits to 1.
void require(acl::masked<uint16_t>& field, uint16_t bits) noexcept {
    field.value |= bits;
    field.mask |= bits;
}

using packed = acl::packed_rule<acl::ipv6_words>;

/// Whether a packet can match both rules.
bool overlap(const packed& a, const packed& b) {
    for (size_t w = 0; w < a.value.size(); ++w)
        if (((a.value[w] ^ b.value[w]) & a.mask[w] & b.mask[w]) != 0) return false;
    for (const unsigned half : {0U, 16U}) {
        const auto first = [half](const packed& p) { return p.ports_low >> half & 0xffff; };
        const auto last = [&](const packed& p) {
            return first(p) + (p.ports_more >> half & 0xffff);
        };
        if (first(a) > last(b) || first(b) > last(a)) return false;
    }
    return true;
}

struct counted {
    packed match4, match6;
    bool ipv4, ipv6;
};

}  // namespace

acl::rule match_in(const acl_rule& r, bool ipv6) noexcept {
    acl::rule out = r.match;
    const extension_bit* const e =
        ipv6 && out.protocol.mask == 0xff ? extension_of(out.protocol.value) : nullptr;
    if (e == nullptr) return out;
    out.protocol = {};
    require(out.tcp_flags, e->flags);
    require(out.vlan, e->vlan);
    return out;
}

std::optional<bool> has_extension(uint8_t protocol, uint16_t flags, uint16_t vlan) noexcept {
    const extension_bit* const e = extension_of(protocol);
    if (e == nullptr) return {};
    return (flags & e->flags) != 0 || (vlan & e->vlan) != 0;
}

/// lib/acl returns the best rule of each category, but every matching count rule must count. So
/// overlapping count rules get different categories.
result<void> divide_counts(acl_list& list) {
    std::vector<std::vector<counted>> groups;
    for (acl_rule& r : list.rules) {
        if (r.action != acl_action::count) continue;
        const counted c{*acl::pack<acl::ipv6_words>(match_in(r, false)),
                        *acl::pack<acl::ipv6_words>(match_in(r, true)), r.ipv4, r.ipv6};
        const auto apart = [&](const std::vector<counted>& group) {
            return std::none_of(group.begin(), group.end(), [&](const counted& other) {
                return (c.ipv4 && other.ipv4 && overlap(c.match4, other.match4)) ||
                       (c.ipv6 && other.ipv6 && overlap(c.match6, other.match6));
            });
        };
        const auto at = std::find_if(groups.begin(), groups.end(), apart);
        const auto group = static_cast<size_t>(at - groups.begin());
        if (group + 1 == acl::max_categories)
            return fail(
                EINVAL, r.where.text,
                fmt::format("access list '{}': this count rule may match the same packets as "
                            "count rules of {} other groups, and so many can count a packet",
                            list.name, group));
        if (at == groups.end()) groups.emplace_back();
        groups[group].push_back(c);
        r.match.categories = 2u << group;
    }
    list.categories = groups.empty() ? 1 : (1 + static_cast<uint32_t>(groups.size()) + 3) / 4 * 4;
    return {};
}

}  // namespace turnpike::state
