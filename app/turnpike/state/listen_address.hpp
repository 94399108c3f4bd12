// SPDX-License-Identifier: BSD-3-Clause
// The address of a listening stream socket: TCP over IPv4 or IPv6, or a UNIX socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/ip.hpp"

namespace turnpike::state {

struct listen_address {
    ip_address address{};
    uint16_t port = 0;   ///< TCP
    std::string path{};  ///< UNIX; empty: TCP
    bool operator==(const listen_address&) const = default;
    /// "127.0.0.1:9417", "[::1]:9417", "unix:/run/turnpike/metrics.sock".
    [[nodiscard]] std::string text() const;
};

/// A port alone is one of 127.0.0.1.
/// Errors: EINVAL with a sentence, without an object.
[[nodiscard]] result<listen_address> parse_listen_address(std::string_view text);

/// An sFlow collector: "10.0.0.9", "10.0.0.9:6344", "[2001:db8::9]", "[2001:db8::9]:6344". The UDP port is 6343 by default,
/// which IANA has assigned to sFlow.
[[nodiscard]] result<listen_address> parse_collector(std::string_view text);

}  // namespace turnpike::state
