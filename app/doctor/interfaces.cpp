// SPDX-License-Identifier: BSD-3-Clause
#include "interfaces.hpp"

#include <string_view>
#include <vector>

#include "base/hardware.hpp"
#include "state/default_route.hpp"

namespace turnpike::doctor {

std::string interface_used_by(const std::string& device) {
    for (const std::string_view driver : {"net_xsk", "net_af_xdp", "net_af_packet"})
        if (device.starts_with(driver)) return std::string(device_argument(device, "iface"));
    return state::interface_taken_by(device);
}

std::set<std::string> with_lower_interfaces(const machine& m, std::set<std::string> names) {
    constexpr std::string_view prefix = "lower_";
    std::vector<std::string> unread(names.begin(), names.end());
    while (!unread.empty()) {
        const std::string upper = std::move(unread.back());
        unread.pop_back();
        for (const std::string& name : m.names("/sys/class/net/" + upper))
            if (name.compare(0, prefix.size(), prefix) == 0 &&
                names.insert(name.substr(prefix.size())).second)
                unread.push_back(name.substr(prefix.size()));
    }
    return names;
}

std::set<std::string> default_route_interfaces(const machine& m) {
    auto out =
        state::default_route_interfaces(m.text("/proc/net/route"), m.text("/proc/net/ipv6_route"));
    for (std::string& name : split(m.text(machine::default_routes), " "))
        out.insert(std::move(name));
    return with_lower_interfaces(m, std::move(out));
}

}  // namespace turnpike::doctor
