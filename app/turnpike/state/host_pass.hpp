// SPDX-License-Identifier: BSD-3-Clause
// Key host_pass: the frames that a host interface passes to the kernel beside IS-IS, LLDP and CDP (doc/control-plane.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::state {

struct ether_type {
    uint16_t value = 0;
    auto operator<=>(const ether_type&) const = default;
};

/// IP packets to a multicast group; other frames to a group MAC address; or frames of an EtherType, to the interface's MAC
/// address or to any group.
struct host_pass {
    std::variant<ip_address, mac_address, ether_type> what{};
    bool operator==(const host_pass&) const = default;
    /// "239.1.1.1", "01:80:c2:00:00:02", "0x88f7"
    [[nodiscard]] std::string text() const;
};

/// Errors  EINVAL with a sentence, without an object
[[nodiscard]] result<host_pass> parse_host_pass(std::string_view text);

}  // namespace turnpike::state
