// SPDX-License-Identifier: BSD-3-Clause
// The hardware that a DPDK device string names: "0000:3b:00.0", "net_xsk0,iface=eth0". Two strings may name the same
// hardware in other words.
#pragma once

#include <string>
#include <string_view>

#include "base/ifindex.hpp"

namespace turnpike {

/// "net_tap0" of "net_tap0,remote=x".
[[nodiscard]] inline std::string device_name_of(std::string_view device) {
    return std::string(device.substr(0, device.find(',')));
}

/// The value of an argument of a device string; empty: it has none.
[[nodiscard]] inline std::string_view device_argument(std::string_view device,
                                                      std::string_view key) noexcept {
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

/// The kernel's interface in a virtual device's arguments; empty: none.
[[nodiscard]] inline std::string kernel_interface_of(std::string_view device) {
    return std::string(device_argument(device, "iface"));
}

/// Whether two names are of one interface, which may have alternative names.
[[nodiscard]] inline bool same_interface(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const unsigned index = ifindex_of(a);
    return index != 0 && index == ifindex_of(b);
}

/// Whether two device strings name hardware that only one port can use: the same device, or the same interface of
/// the kernel.
[[nodiscard]] inline bool same_hardware(std::string_view a, std::string_view b) {
    if (device_name_of(a) == device_name_of(b)) return true;
    const std::string on = kernel_interface_of(a), other = kernel_interface_of(b);
    return !on.empty() && !other.empty() && same_interface(on, other);
}

}  // namespace turnpike
