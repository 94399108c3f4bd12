// SPDX-License-Identifier: BSD-3-Clause
// Running state as JSON: the subjects of the request `show`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "control/controller.hpp"

namespace turnpike::control {

/// Typed access to the members of a request: a missing or invalid member throws `error`.
class request_fields {
  public:
    /// all  an object
    explicit request_fields(const nlohmann::json& all) : all_(all) {}
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::string text(std::string_view name) const;
    /// A member of any type.
    [[nodiscard]] std::string json_text(std::string_view name) const;
    [[nodiscard]] const nlohmann::json& member(std::string_view name) const;
    [[nodiscard]] bool truth_or(std::string_view name, bool otherwise) const;
    [[nodiscard]] uint64_t number_or(std::string_view name, uint64_t otherwise, uint64_t least,
                                     uint64_t most) const;
    /// Throws unless all members are among these names, separated by blanks.
    void expect(std::string_view names) const;

  private:
    const nlohmann::json& all_;
};

/// The parsed value of a member's text; an invalid text throws `error`.
template <class T>
[[nodiscard]] T parsed(result<T> r, std::string_view field) {
    if (!r) throw error{EINVAL, std::string(field), r.error().text};
    return std::move(*r);
}

/// Counters with the length of their period, and whether `clear counters` began it.
[[nodiscard]] nlohmann::json with_period(const controller& c, nlohmann::json shown);
/// Throws  error
[[nodiscard]] nlohmann::json show(controller& c, const request_fields& f);
/// {name: help}
[[nodiscard]] nlohmann::json show_help();

// Long subjects are shown by the page: at most `most` (256) elements, and "next", the "from" of the
// next page.
[[nodiscard]] inline uint64_t page_of(const request_fields& f) {
    constexpr uint64_t usual = 256, largest = 1024;
    return f.number_or("most", usual, 1, largest);
}
/// A next hop as JSON.
[[nodiscard]] nlohmann::json nexthop_json(controller& c, uint32_t index);
/// Add the route of an address in a VRF (index): to, origin, its protocol, and the gateways of a recursive one.
/// Answers  its prefix; none: no route
std::optional<ip_prefix> add_route(controller& c, uint8_t vrf, const ip_address& a,
                                   nlohmann::json& out);
[[nodiscard]] nlohmann::json show_route(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_routes(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_route_summary(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_neighbours(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_next_hops(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_fdb(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_rates(controller& c, const request_fields& f);
/// Packets and bytes; null: not counted.
[[nodiscard]] nlohmann::json traffic_json(const std::optional<observe::traffic>& n);
/// Rates of interfaces by name.
[[nodiscard]] nlohmann::json interface_rates_json(const controller& c);
/// Rates of ports and drops, and the recent verdict: the result of show_rates with `history`.
[[nodiscard]] nlohmann::json page_rates(controller& c);

[[nodiscard]] nlohmann::json show_vrfs(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_tunnels(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_neigh_suppress(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_bridges(controller& c, const request_fields& f);
/// Delete learned FDB entries, filtered by `bridge`, `port`, `vlan` and `mac`.
/// Answers  how many
uint32_t flush_fdb_entries(controller& c, const request_fields& f);
/// Delete dynamic neighbour entries, filtered by `port` (an interface's name) and `address`, a part of them by each call.
/// Answers  how many
/// Threads  management
uint32_t flush_neighbours(controller& c, control_calls& calls, const request_fields& f);

}  // namespace turnpike::control
