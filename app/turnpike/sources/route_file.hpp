// SPDX-License-Identifier: BSD-3-Clause
// Routes as plain lines, "PREFIX via ADDRESS [dev PORT]", as `ip route` prints them; blackhole and
// unreachable stand before the prefix, recursive behind all else. A million lines in about a second, .gz too.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "state/next_hop_rules.hpp"
#include "state/routes.hpp"

namespace turnpike::sources {

/// A prefix, an address, or "default". Errors: EINVAL with a sentence, no object.
[[nodiscard]] result<ip_prefix> parse_destination(std::string_view text);

/// One line's route.
struct route_line {
    struct member {
        std::optional<ip_address> via{};  ///< none: the link
        std::string_view dev{};           ///< empty: not said
        uint16_t weight = 1;
        bool onlink = false;
        bool operator==(const member&) const = default;
    };
    ip_prefix to{};
    state::route_type type = state::route_type::unicast;
    bool recursive = false;
    member first{};
    std::vector<member> others{};  ///< where it has several; of most lines there are none
};

/// Words that `ip route` prints besides (proto, scope, metric, linkdown, ...) are passed over.
/// Errors  EINVAL with a sentence, no object
[[nodiscard]] result<route_line> parse_route_line(std::string_view line);

/// Empty, or a # comment.
[[nodiscard]] bool says_nothing(std::string_view line) noexcept;

/// Lines, one after the other, to routes: what they lead to is looked for once, not once a line.
class route_line_reader {
  public:
    /// targets  gets the targets
    route_line_reader(state::neighbour_finder& neighbours, state::route_set& targets)
        : neighbours_(neighbours), targets_(targets) {}
    /// Errors  EINVAL with a sentence, no object
    [[nodiscard]] result<state::route> read(std::string_view line);

  private:
    result<state::route_target> target_of(const route_line& line);

    state::neighbour_finder& neighbours_;
    state::route_set& targets_;
    // What the route before said: mostly this one says the same.
    state::route_type last_type_ = state::route_type::unicast;
    bool last_recursive_ = false;
    route_line::member last_{};  ///< its port is last_dev_
    std::string last_dev_{};
    uint32_t last_index_ = UINT32_MAX;
};

/// Called for each route with its target's index in the set and the line's number; complains by throwing.
using route_taker = std::function<void(const ip_prefix&, uint32_t target, uint32_t line)>;

/// Read the routes of a file; empty lines and # comments are none.
/// Errors  ENOENT...; EINVAL with "file:line"
[[nodiscard]] result<void> read_route_file(const std::filesystem::path& path,
                                           state::neighbour_finder& neighbours,
                                           state::route_set& into, const route_taker& take);
/// The same of lines that are in memory; messages call them name:line, from `first_line` on.
[[nodiscard]] result<void> read_route_lines(std::string_view text, uint32_t first_line,
                                            const std::string& name,
                                            state::neighbour_finder& neighbours,
                                            state::route_set& into, const route_taker& take);

}  // namespace turnpike::sources
