// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/mld_reports.hpp"

#include <algorithm>
#include <array>

#include "control/slow_path/dad.hpp"
#include "packet/ipv6.hpp"
#include "packet/mld.hpp"

namespace turnpike::control::slow_path {

using packet::group_record;

/// All-nodes is never reported: RFC 3810 section 6, RFC 2710 section 5.
std::vector<ip_address> mld_reports::groups_of(const datapath::interface& on) const {
    std::vector<ip_address> out;
    for (const ipv6_address& group : on.addresses->v6_groups)
        if (group != packet::ipv6_all_nodes) out.push_back(ip_address::from_v6(group));
    return out;
}

void mld_reports::send(uint16_t ifindex, unsigned version, std::span<const ip_address> groups,
                       group_record kind) {
    const datapath::interface& on = context_.interface(ifindex);
    // RFC 3810 section 5.2.13, RFC 3590: from the unspecified address while the link-local one is
    // tentative.
    const ipv6_address& near = on.addresses->v6.front();
    const bool ours = !own_.is_tentative(ifindex, near) && !own_.is_duplicate(ifindex, near);
    const packet::nd_host us{on.mac, ours ? near : packet::ipv6_unspecified};
    std::array<uint8_t, packet::mld_report_bytes(packet::mld_groups_max)> frame;
    const auto out = [&](uint32_t bytes) {
        context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    };
    if (version == 1) {
        for (const ip_address& group : groups)
            out(kind == group_record::to_include
                    ? packet::write_mld1_done(frame, us, group.v6_bytes())
                    : packet::write_mld1_report(frame, us, group.v6_bytes()));
        return;
    }
    std::array<ipv6_address, packet::mld_groups_max> some;
    while (!groups.empty()) {
        const size_t n = std::min(groups.size(), some.size());
        std::transform(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(n),
                       some.begin(), [](const ip_address& g) { return g.v6_bytes(); });
        out(packet::write_mld_report(frame, us, std::span(some).first(n), kind));
        groups = groups.subspan(n);
    }
}

}  // namespace turnpike::control::slow_path
