// SPDX-License-Identifier: BSD-3-Clause
#include "state/next_hop_rules.hpp"

#include <fmt/format.h>

namespace turnpike::state {

bool is_network_or_broadcast(const ip_prefix& p) noexcept {
    if (p.address.v6 || p.length >= 31) return false;
    const uint32_t mask = 0xffff'ffffU >> p.length;
    return (p.address.v4() & mask) == 0 || (p.address.v4() & mask) == mask;
}

result<std::string> neighbour_finder::interface_of(const ip_address& neighbour,
                                                   std::string_view named) {
    std::pair key{neighbour, std::string(named)};
    if (const auto known = found_.find(key); known != found_.end()) return known->second;
    auto found = find(neighbour, named);
    if (found) found_.emplace(std::move(key), *found);
    return found;
}

result<std::string> neighbour_finder::find(const ip_address& neighbour,
                                           std::string_view named) const {
    const std::string text = neighbour.text();
    const auto refuse = [&](const std::string& why) {
        return fail(EINVAL, "", "is " + text + ", " + why);
    };
    if (!named.empty()) {
        const interface* i = in_.interfaces.find(named);
        if (i == nullptr) return refuse(fmt::format("on '{}', which is not a port", named));
        if (i->kind != interface_kind::routed)
            return refuse(fmt::format("on '{}', which has no addresses", named));
    }
    if (neighbour.is_link_local()) {
        if (!named.empty()) return std::string(named);
        return refuse("a link-local address: say on which port, as in {" + std::string("via: \"") +
                      text + "\", port: NAME}");
    }
    for (const auto& [name, i] : in_.interfaces)
        for (const ip_prefix& a : i.addresses) {
            if (!a.contains(neighbour)) continue;
            if (a.address == neighbour) return refuse("our own address");
            if (is_network_or_broadcast({neighbour, a.length}))
                return refuse("the network's own or broadcast address of " + a.text());
            if (!named.empty() && name != named)
                return refuse(fmt::format("on the network of '{}', not of '{}'", name, named));
            return name;
        }
    return refuse("which is on no port's network");
}

result<void> check_routed_prefix(const ip_prefix& to) {
    if (to != to.network())
        return fail(EINVAL, "",
                    fmt::format("is {}, which has host bits set: it should be {}", to.text(),
                                to.network().text()));
    if (to.length >= 4 && to.address.is_multicast())
        return fail(EINVAL, "", fmt::format("is {}; multicast is not routed", to.text()));
    return {};
}

}  // namespace turnpike::state
