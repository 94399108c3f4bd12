// SPDX-License-Identifier: BSD-3-Clause
// Routes as text lines, "PREFIX via ADDRESS [dev PORT]", in the format of `ip route`; blackhole and
// unreachable precede the prefix, recursive is last. Next hops may be on separate, indented lines, as `ip
// route` prints them. Parses a million lines in about a second, also from .gz.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "state/next_hop_rules.hpp"
#include "state/routes.hpp"

namespace turnpike::sources {

/// A prefix, an address, or "default". Errors: EINVAL with a sentence, no object.
[[nodiscard]] result<ip_prefix> parse_destination(std::string_view text);

/// Limit of a route with its next hops, as of a line of a file (lib/yaml/lines.hpp).
inline constexpr size_t max_route_line_bytes = size_t{64} << 10;

/// The route of a line.
struct route_line {
    struct member {
        std::optional<ip_address> via{};  ///< none: on-link
        std::string_view dev{};           ///< empty: not given
        uint16_t weight = 1;
        bool onlink = false;
        bool operator==(const member&) const = default;
    };
    ip_prefix to{};
    state::route_type type = state::route_type::unicast;
    bool recursive = false;
    uint16_t mtu = 0;  ///< 0: not given
    member first{};
    std::vector<member> others{};  ///< further next hops; empty for most lines
    bool operator==(const route_line&) const = default;
};

/// Skips other words of `ip route` (proto, scope, metric, linkdown, ...). `default` without a gateway is the IPv6 one
/// behind -6, in a line with `pref`, which `ip -6 route` prints for each route, or of a type with `dev lo`.
/// Errors  EINVAL with a sentence, no object
[[nodiscard]] result<route_line> parse_route_line(std::string_view line);

/// Whether a line is empty or a # comment.
[[nodiscard]] bool says_nothing(std::string_view line) noexcept;

/// Converts lines to routes, with a cache of the last target.
class route_line_reader {
  public:
    /// targets  receives the targets
    route_line_reader(state::neighbour_finder& neighbours, state::route_set& targets)
        : neighbours_(neighbours), targets_(targets) {}
    /// Errors  EINVAL with a sentence, no object
    [[nodiscard]] result<state::route> read(std::string_view line);

  private:
    result<state::route_target> target_of(const route_line& line);

    state::neighbour_finder& neighbours_;
    state::route_set& targets_;
    // The previous line, and its target: mostly also of the next one.
    route_line last_{};  ///< with one next hop, whose port is in last_dev_
    std::string last_dev_{};
    uint32_t last_index_ = UINT32_MAX;
};

/// Joins lines that `ip route` continues: "PREFIX proto static", then "<tab>nexthop via ..." for each next hop. Leaves out
/// empty lines, comments, and routes of connected networks (`proto kernel`).
class joined_lines {
  public:
    /// A line and its number. Calls add(route line, number of its first line) for each complete one.
    template <class Add>
    result<void> add(std::string_view line, uint32_t number, const Add& add) {
        const bool is_indented = !line.empty() && (line.front() == ' ' || line.front() == '\t');
        const std::string_view words =
            line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
        if (is_indented && words.starts_with("nh_info ")) return {};  // of `ip -d route`
        if (is_indented && words.starts_with("nexthop ") && !head_.empty()) {
            head_ += line;
            // add() refuses a longer line: one without end would take all memory.
            return head_.size() > max_route_line_bytes ? finish(add) : result<void>();
        }
        if (auto good = finish(add); !good) return good;
        if (says_nothing(line) || is_kernels(line)) return {};
        if (!is_head(line)) return add(line, number);
        head_ = line;
        number_ = number;
        return {};
    }
    [[nodiscard]] bool pending() const noexcept { return !head_.empty(); }
    template <class Add>
    result<void> finish(const Add& add) {
        if (head_.empty()) return {};
        const std::string line = std::exchange(head_, {});
        return add(std::string_view(line), number_);
    }

  private:
    static bool is_kernels(std::string_view line) noexcept;
    /// Whether a line has neither a gateway nor an interface nor a type.
    static bool is_head(std::string_view line) noexcept;

    std::string head_{};
    uint32_t number_ = 0;
};

/// Called for each route with its target's index in the set and the line number; throws on errors.
using route_sink = std::function<void(const ip_prefix&, uint32_t target, uint32_t line)>;

/// Reads the routes of a file; skips empty lines, # comments, and the kernel's own routes (`proto kernel`).
/// Errors  ENOENT...; EINVAL with "file:line"
[[nodiscard]] result<void> read_route_file(const std::filesystem::path& path,
                                           state::neighbour_finder& neighbours,
                                           state::route_set& into, const route_sink& add);
/// Reads lines in memory; messages refer to name:line, counted from `first_line`.
[[nodiscard]] result<void> read_route_lines(std::string_view text, uint32_t first_line,
                                            const std::string& name,
                                            state::neighbour_finder& neighbours,
                                            state::route_set& into, const route_sink& add);

}  // namespace turnpike::sources
