// SPDX-License-Identifier: BSD-3-Clause
#include "state/listen_address.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/arguments.hpp"

namespace turnpike::state {
namespace {

constexpr std::string_view unix_scheme = "unix:";
constexpr size_t max_path = 107;  ///< sun_path without its final zero

tl::unexpected<error> no_listen_address(std::string_view text) {
    return fail(
        EINVAL, {},
        fmt::format("is '{}'; an address to listen on is ADDRESS:PORT, like "
                    "127.0.0.1:9417 or [::1]:9417, or a port of 127.0.0.1 alone, or unix:/PATH",
                    text.substr(0, 120)));
}

result<listen_address> parse_path(std::string_view path) {
    if (!path.starts_with('/') || path.ends_with('/') || path.size() > max_path)
        return fail(EINVAL, {},
                    fmt::format("should have a whole path after unix:, from / on, of at most {} "
                                "characters",
                                max_path));
    return listen_address{.path = std::string(path)};
}

/// "127.0.0.1:9417", "[::1]:9417"; none: another text.
std::optional<listen_address> with_port(std::string_view text) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    uint16_t port = 0;
    const auto address = parse_address(host);
    if (!read_number<uint16_t>(text.substr(colon + 1), 1, UINT16_MAX, port) || !address ||
        address->v6 != bracketed || address->is_multicast())
        return std::nullopt;
    return listen_address{.address = *address, .port = port};
}

}  // namespace

std::string listen_address::text() const {
    if (!path.empty()) return std::string(unix_scheme) + path;
    return address.v6 ? fmt::format("[{}]:{}", address.text(), port)
                      : fmt::format("{}:{}", address.text(), port);
}

result<listen_address> parse_listen_address(std::string_view text) {
    if (text.starts_with(unix_scheme)) return parse_path(text.substr(unix_scheme.size()));
    const bool port_only = text.rfind(':') == std::string_view::npos;
    const auto out = with_port(port_only ? fmt::format("127.0.0.1:{}", text) : std::string(text));
    if (!out) return no_listen_address(text);
    return *out;
}

result<listen_address> parse_collector(std::string_view text) {
    constexpr uint16_t sflow_port = 6343;
    // An IPv6 address without brackets may be meant with a port.
    const bool is_alone = text.ends_with(']') || text.find(':') == std::string_view::npos;
    const auto out =
        with_port(is_alone ? fmt::format("{}:{}", text, sflow_port) : std::string(text));
    if (!out)
        return fail(EINVAL, {},
                    fmt::format("is '{}'; a collector is an ADDRESS, or ADDRESS:PORT with a UDP "
                                "port, like 10.0.0.9, 10.0.0.9:6343 or [2001:db8::9]:6343",
                                text.substr(0, 120)));
    return *out;
}

}  // namespace turnpike::state
