// SPDX-License-Identifier: BSD-3-Clause
#include "state/interface_networks.hpp"

#include <algorithm>

#include "state/next_hop_rules.hpp"

namespace turnpike::state {

void interface_networks::add(std::string_view vrf, std::string_view interface, const ip_prefix& a) {
    std::vector<owned>& here = by_network_[{vrf, a.network()}];
    // An address excludes all of another interface in its network, except perhaps its equal: of two, one does.
    const auto same = std::ranges::count(here, interface, &owned::interface);
    if (same < 2) here.push_back({interface, a});
    lengths_[a.address.v6].set(a.length);
}

bool interface_networks::is_borrowed(std::string_view vrf, const owned& host,
                                     std::string_view from) const {
    return host.address.length == host.address.address.bits() &&
           noted_.contains({vrf, from, host.address.address});
}

const interface_networks::owned* interface_networks::find_overlap(std::string_view vrf,
                                                                  std::string_view interface,
                                                                  const ip_prefix& a) const {
    const auto find_in = [&](const std::vector<owned>& all) -> const owned* {
        const auto at = std::ranges::find_if(all, [&](const owned& o) {
            return o.interface != interface && !may_both_be(a, o.address) &&
                   !is_borrowed(vrf, o, interface) &&
                   !is_borrowed(vrf, {interface, a}, o.interface);
        });
        return at == all.end() ? nullptr : &*at;
    };
    for (unsigned length = 0; length < a.length; ++length) {
        if (!lengths_[a.address.v6].test(length)) continue;
        const ip_prefix wider = ip_prefix{a.address, static_cast<uint8_t>(length)}.network();
        const auto at = by_network_.find({vrf, wider});
        if (at == by_network_.end()) continue;
        if (const owned* const found = find_in(at->second)) return found;
    }
    const ip_prefix network = a.network();
    for (auto at = by_network_.lower_bound({vrf, network});
         at != by_network_.end() && at->first.first == vrf &&
         network.contains(at->first.second.address);
         ++at)
        if (const owned* const found = find_in(at->second)) return found;
    return nullptr;
}

}  // namespace turnpike::state
