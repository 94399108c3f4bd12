// SPDX-License-Identifier: BSD-3-Clause
#include "state/acl.hpp"

#include <algorithm>
#include <array>

#include "packet/headers.hpp"
#include "state/errors.hpp"
#include "state/overlap_index.hpp"

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

/// Count rules that no packet matches two of.
struct count_group {
    overlap_index ipv4, ipv6;
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
    std::vector<count_group> groups;
    for (acl_rule& r : list.rules) {
        if (r.action != acl_action::count) continue;
        const auto match4 = *acl::pack<acl::ipv6_words>(match_in(r, false)),
                   match6 = *acl::pack<acl::ipv6_words>(match_in(r, true));
        const auto at = std::ranges::find_if(groups, [&](const count_group& group) {
            return !(r.ipv4 && group.ipv4.overlaps(match4)) &&
                   !(r.ipv6 && group.ipv6.overlaps(match6));
        });
        const auto group = static_cast<size_t>(at - groups.begin());
        if (group + 1 == acl::max_categories)
            return refuse(r.where,
                          "access list '{}': this count rule may match the same packets as count "
                          "rules of {} other groups, and so many can count a packet",
                          list.name, group);
        if (at == groups.end()) groups.emplace_back();
        if (r.ipv4) groups[group].ipv4.add(match4);
        if (r.ipv6) groups[group].ipv6.add(match6);
        r.match.categories = 2u << group;
    }
    list.categories = groups.empty() ? 1 : (1 + static_cast<uint32_t>(groups.size()) + 3) / 4 * 4;
    return {};
}

}  // namespace turnpike::state
