// SPDX-License-Identifier: BSD-3-Clause
#include "state/acl.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace turnpike::state {
namespace {

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
    packed match;
    bool ipv4, ipv6;
};

}  // namespace

/// lib/acl returns the best rule of each category, but every matching count rule must count. So
/// overlapping count rules get different categories.
result<void> divide_counts(acl_list& list) {
    std::vector<std::vector<counted>> groups;
    for (acl_rule& r : list.rules) {
        if (r.action != acl_action::count) continue;
        const counted c{*acl::pack<acl::ipv6_words>(r.match), r.ipv4, r.ipv6};
        const auto apart = [&](const std::vector<counted>& group) {
            return std::none_of(group.begin(), group.end(), [&](const counted& other) {
                return ((c.ipv4 && other.ipv4) || (c.ipv6 && other.ipv6)) &&
                       overlap(c.match, other.match);
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
