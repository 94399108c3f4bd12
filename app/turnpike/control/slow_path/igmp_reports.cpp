// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/igmp_reports.hpp"

#include <algorithm>
#include <array>

#include "packet/igmp.hpp"

namespace turnpike::control::slow_path {

using packet::group_record;

namespace {

/// A sender that knows its distance can choose the TTL: queries from other links would set an older version (RFC 3376
/// section 9.1). Connected networks are in the published snapshot, which is readable during a loan. On an interface
/// without a network any source may be of the link.
bool may_be_of_link(const datapath::interface& on, const ip_address& source) noexcept {
    if (source == ip_address::from_v4(0)) return true;
    bool any = false;
    for (const ip_prefix& network : on.addresses->prefixes) {
        if (network.address.v6 || network.length == 32) continue;
        if (network.contains(source)) return true;
        any = true;
    }
    return !any;
}

}  // namespace

bool igmp_reports::process_query(const owned_mbuf& p) {
    const uint16_t ifindex = p.about().in_interface;
    if (context_.interface(ifindex).addresses->v4_groups.empty()) return false;
    const packet::parsed& h = p.about().parsed;
    const auto query = packet::read_igmp_query(p.lead(), h);
    if (!query) return true;
    const bool of_link =
        may_be_of_link(context_.interface(ifindex), address_at(p, h.source_offset()));
    // Without a Router Alert option, which versions 2 and 3 require, any unicast packet could be a query.
    if (query->version == 1 && !of_link) return true;
    const auto group =
        query->group == 0 ? std::nullopt : std::optional(ip_address::from_v4(query->group));
    queried(ifindex, {query->version, query->max_response_ms, group, of_link});
    return true;
}

std::vector<ip_address> igmp_reports::groups_of(const datapath::interface& on) const {
    std::vector<ip_address> out;
    for (const uint32_t group : on.addresses->v4_groups) out.push_back(ip_address::from_v4(group));
    return out;
}

void igmp_reports::send(uint16_t ifindex, unsigned version, std::span<const ip_address> groups,
                        group_record kind) {
    const datapath::interface& on = context_.interface(ifindex);
    const auto& ours = on.addresses->v4;
    const packet::igmp_host us{on.mac, ours.empty() ? 0 : ours.front().address};
    std::array<uint8_t, packet::igmp_report_bytes(packet::igmp_groups_max)> frame;
    const auto out = [&](uint32_t bytes) {
        context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    };
    if (version < 3) {
        const bool leaves = kind == group_record::to_include;
        if (leaves && version == 1) return;  // IGMPv1 has no leave message
        const auto says = leaves         ? packet::igmp_older::leave_2
                          : version == 1 ? packet::igmp_older::report_1
                                         : packet::igmp_older::report_2;
        for (const ip_address& group : groups)
            out(packet::write_igmp_older(frame, us, group.v4(), says));
        return;
    }
    std::array<uint32_t, packet::igmp_groups_max> some;
    while (!groups.empty()) {
        const size_t n = std::min(groups.size(), some.size());
        std::transform(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(n),
                       some.begin(), [](const ip_address& g) { return g.v4(); });
        out(packet::write_igmp_report(frame, us, std::span(some).first(n), kind));
        groups = groups.subspan(n);
    }
}

}  // namespace turnpike::control::slow_path
