// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/client_devices.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace turnpike::control {
namespace {

/// A relative name, too: net_xsk, net_simnic, net_pcap, net_af_xdp, net_softnic, ark.
constexpr std::string_view names_a_file[] = {
    "filter=",   "wire=pcap:", "wire=record:", "rx_pcap=",  "tx_pcap=",
    "xdp_prog=", "firmware=",  "Pkt_gen=",     "Pkt_chkr=", "Pkt_dir="};
/// net_failsafe: a shell runs exec(COMMAND), and fd(NUMBER) is read; any character may be in front.
constexpr std::string_view runs_a_program[] = {"exec(", "fd("};

struct socket_argument {
    std::string_view driver, argument;
};
constexpr socket_argument sockets[] = {{"net_memif", "socket="},
                                       {"net_vhost", "iface="},
                                       {"net_virtio_user", "path="},
                                       {"virtio_user", "path="}};

bool is_socket(std::string_view device, std::string_view argument) noexcept {
    return std::any_of(std::begin(sockets), std::end(sockets), [&](const socket_argument& s) {
        return device.starts_with(s.driver) && argument.starts_with(s.argument);
    });
}

bool is_privileged(std::string_view device, std::string_view argument) noexcept {
    const auto begins = [&](std::string_view with) { return argument.starts_with(with); };
    if (std::any_of(std::begin(names_a_file), std::end(names_a_file), begins)) return true;
    return argument.find('/') != std::string_view::npos && !is_socket(device, argument);
}

}  // namespace

std::string_view privileged_argument(std::string_view device) noexcept {
    for (const std::string_view runs : runs_a_program)
        if (const size_t at = device.find(runs); at != std::string_view::npos)
            return device.substr(at);
    constexpr std::string_view separators = ",()[] \t";  // arguments, and devices within: dev(...)
    for (size_t at = 0; at < device.size();) {
        const size_t end = std::min(device.find_first_of(separators, at), device.size());
        const std::string_view argument = device.substr(at, end - at);
        if (is_privileged(device, argument)) return argument;
        at = end + 1;
    }
    return {};
}

result<void> check_devices_of(const sources::socket_peer& client, const state::configuration& now,
                              const state::configuration& wanted) {
    if (client.uid == 0 || client.uid == ::geteuid()) return {};
    for (const auto& [name, port] : wanted.ports) {
        const state::port* const there = now.ports.find(name);
        if (there != nullptr && there->device == port.device) continue;
        if (const std::string_view argument = privileged_argument(port.device); !argument.empty())
            return fail(
                EACCES, fmt::format("port '{}'", name),
                fmt::format("'{}' of its device names a file or a program, which the driver uses "
                            "with turnpike's rights: only root, or the startup file, may "
                            "configure it",
                            argument));
    }
    return {};
}

}  // namespace turnpike::control
