// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/default_route.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace turnpike::control {
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

std::string contents_of(const char* file) {
    std::ifstream from(file);
    return {std::istreambuf_iterator<char>(from), {}};
}

/// The value of an argument of a device string; empty: it has none.
std::string_view value_of(std::string_view device, std::string_view key) {
    for (size_t at = device.find(','); at != std::string_view::npos;) {
        const std::string_view rest = device.substr(at + 1);
        const size_t end = rest.find(',');
        const std::string_view one = rest.substr(0, end);
        if (one.substr(0, key.size()) == key && one.size() > key.size() && one[key.size()] == '=')
            return one.substr(key.size() + 1);
        at = end == std::string_view::npos ? end : at + 1 + end;
    }
    return {};
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
    const bool af_xdp = device.substr(0, 7) == "net_xsk" || device.substr(0, 10) == "net_af_xdp";
    if (!af_xdp || !value_of(device, "filter").empty() || !value_of(device, "xskmap").empty())
        return {};
    return std::string(value_of(device, "iface"));
}

std::string cuts_machine_off(const std::string& device) {
    const std::string taken = interface_taken_by(device);
    if (taken.empty()) return {};
    const auto ways_out = default_route_interfaces(contents_of("/proc/thread-self/net/route"),
                                                   contents_of("/proc/thread-self/net/ipv6_route"));
    if (ways_out.count(taken) == 0) return {};
    return fmt::format(
        "device '{}' takes all packets of {}, by which a default route of this machine leaves: it "
        "would be cut off; use another interface, give net_xsk a `filter` (doc/xsk.md), or move "
        "the default route first (ip route replace default ...)",
        device.substr(0, device.find(',')), taken);
}

}  // namespace turnpike::control
