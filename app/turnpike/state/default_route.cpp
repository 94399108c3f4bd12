// SPDX-License-Identifier: BSD-3-Clause
#include "state/default_route.hpp"

#include <iterator>
#include <sstream>
#include <vector>

#include "base/hardware.hpp"

namespace turnpike::state {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream from(line);
    return {std::istream_iterator<std::string>(from), {}};
}

template <class F>
void for_each_line(std::string_view text, const F& f) {
    std::istringstream from{std::string(text)};
    for (std::string line; std::getline(from, line);) f(words_of(line));
}

}  // namespace

std::set<std::string> default_route_interfaces(std::string_view ipv4, std::string_view ipv6) {
    std::set<std::string> out;
    for_each_line(ipv4, [&](const auto& words) {  // interface, destination, ..., mask
        if (words.size() > 7 && words[1] == "00000000" && words[7] == "00000000")
            out.insert(words[0]);
    });
    for_each_line(ipv6, [&](const auto& words) {  // destination, its length, ..., interface
        if (words.size() > 9 && words[0] == std::string(32, '0') && words[1] == "00")
            out.insert(words[9]);
    });
    out.erase("lo");  // the kernel's own entries
    return out;
}

std::string interface_taken_by(std::string_view device) {
    // Its tc rules redirect what the interface receives (tap_setup of rte_eth_tap.c).
    if (device.substr(0, 7) == "net_tap") return std::string(device_argument(device, "remote"));
    const bool af_xdp = device.substr(0, 7) == "net_xsk" || device.substr(0, 10) == "net_af_xdp";
    if (!af_xdp || !device_argument(device, "filter").empty() ||
        !device_argument(device, "xskmap").empty())
        return {};
    return std::string(device_argument(device, "iface"));
}

std::string listening_socket_of(std::string_view device) {
    const auto is_of = [&](std::string_view driver) {
        return device.substr(0, driver.size()) == driver;
    };
    if (is_of("net_vhost"))
        return device_argument(device, "client") == "1"
                   ? std::string()
                   : std::string(device_argument(device, "iface"));
    if (is_of("net_virtio_user") || is_of("virtio_user"))
        return device_argument(device, "server") == "1"
                   ? std::string(device_argument(device, "path"))
                   : std::string();
    if (!is_of("net_memif")) return {};
    // The defaults of rte_eth_memif.c: a client, and an abstract address.
    const std::string_view role = device_argument(device, "role");
    if ((role != "server" && role != "master") ||
        device_argument(device, "socket-abstract") != "no")
        return {};
    const std::string_view path = device_argument(device, "socket");
    return path.empty() ? "/run/memif.sock" : std::string(path);
}

}  // namespace turnpike::state
