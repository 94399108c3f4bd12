// SPDX-License-Identifier: BSD-3-Clause
#include "sources/route_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/arguments.hpp"
#include "base/next_piece.hpp"
#include "state/errors.hpp"
#include "yaml/lines.hpp"

namespace turnpike::sources {
namespace {

using state::refuse;
using state::route_type;

/// Removes and returns the next word of a line. `ip -oneline` prints a backslash for the end of a line.
std::string_view next_word(std::string_view& line) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\\'; };
    const auto start = std::find_if_not(line.begin(), line.end(), is_blank);
    const auto end = std::find_if(start, line.end(), is_blank);
    const std::string_view word =
        line.substr(static_cast<size_t>(start - line.begin()), static_cast<size_t>(end - start));
    line.remove_prefix(static_cast<size_t>(end - line.begin()));
    return word;
}

/// Ignored words of `ip route`: words with a value, which may follow `lock`, and single words.
constexpr std::array<std::string_view, 25> with_value{
    "proto",    "scope",    "metric",   "src",        "pref",
    "nhid",     "expires",  "advmss",   "error",      "hoplimit",
    "realm",    "realms",   "initcwnd", "initrwnd",   "rtt",
    "rttvar",   "rto_min",  "ssthresh", "cwnd",       "window",
    "quickack", "features", "congctl",  "reordering", "fastopen_no_cookie"};
constexpr std::array<std::string_view, 10> without_value{
    "linkdown",          "dead", "pervasive", "offload", "rt_offload", "offload_failed",
    "rt_offload_failed", "trap", "rt_trap",   "notify"};
/// Types of the kernel's routes that turnpike does not have.
constexpr std::array<std::string_view, 7> other_types{"throw",     "local", "broadcast", "anycast",
                                                      "multicast", "nat",   "xresolve"};
constexpr const char* forms =
    "a route is PREFIX via ADDRESS [dev PORT [onlink]], or PREFIX dev PORT, or PREFIX nexthop via "
    "ADDRESS [dev PORT] [weight N] nexthop ..., or the same with recursive behind it and no dev, "
    "or blackhole, unreachable or prohibit PREFIX";

template <size_t N>
bool is_one(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Removes the option -4 or -6 of `ip`. Returns whether it is -6; nullopt: neither.
std::optional<bool> extract_family(std::string_view& line) {
    std::string_view left = line;
    const std::string_view word = next_word(left);
    if (word != "-4" && word != "-6") return std::nullopt;
    line = left;
    return word == "-6";
}

result<ip_prefix> destination_of(std::string_view word, std::optional<bool> v6) {
    if (word == "default") return ip_prefix{{.v6 = v6.value_or(false)}, 0};
    result<ip_prefix> to;
    if (word.find('/') != std::string_view::npos) {
        to = parse_prefix(word);
    } else if (const auto host = parse_address(word); host) {
        to = ip_prefix{*host, static_cast<uint8_t>(host->bits())};
    } else {
        to = tl::unexpected<error>(host.error());
    }
    if (to && v6 && *v6 != to->address.v6)
        return refuse("is of the other family than {}", *v6 ? "-6" : "-4");
    return to;
}

}  // namespace

result<ip_prefix> parse_destination(std::string_view text) {
    std::string_view left = text;
    const auto family = extract_family(left);
    const std::string_view word = next_word(left);
    if (!next_word(left).empty()) return refuse("should be alone, not '{}'", text.substr(0, 80));
    return destination_of(word, family);
}

namespace {

/// The words of a line after its prefix.
class line_words {
  public:
    line_words(std::string_view left, route_line& into) : left_(left), into_(into) {}

    result<void> read() {
        for (std::string_view word; !(word = next_word(left_)).empty();)
            if (auto good = read(word); !good) return good;
        return end_member();
    }
    /// Whether `inet` or `inet6` names a gateway of the other family.
    [[nodiscard]] bool crosses_families() const noexcept { return crosses_; }
    [[nodiscard]] bool any() const noexcept { return members_ != 0; }
    /// Whether `ip -6 route` printed the line: only IPv6 routes have a preference.
    [[nodiscard]] bool has_pref() const noexcept { return has_pref_; }

  private:
    result<void> read(std::string_view word) {
        if (word == "nexthop") {
            if (in_member_ && !several_) return refuse("via stands before nexthop");
            several_ = true;
            return end_member();
        }
        if (word == "via") return read_via();
        if (word == "dev") {
            now_.dev = next_word(left_);
            if (now_.dev.empty()) return refuse("dev has no value");
        } else if (word == "weight" && several_) {
            const std::string_view value = next_word(left_);
            if (!read_number<uint16_t>(value, 1, state::max_member_weight, now_.weight))
                return refuse("weight should be a number from 1 to {}, not '{}'",
                              state::max_member_weight, value.substr(0, 80));
        } else if (word == "mtu") {
            std::string_view value = next_word(left_);
            if (value == "lock") value = next_word(left_);
            if (!read_number<uint16_t>(value, 1, UINT16_MAX, into_.mtu))
                return refuse("mtu should be a number from 1 to 65535, not '{}'",
                              value.substr(0, 80));
        } else if (word == "table") {
            return read_table();
        } else if (is_one(with_value, word)) {
            has_pref_ |= word == "pref";
            std::string_view value = next_word(left_);
            if (value == "lock") value = next_word(left_);
            if (value.empty()) return refuse("{} has no value", word);
        } else if (word == "onlink") {
            now_.onlink = true;
        } else if (word == "recursive") {
            into_.recursive = true;
        } else if (!is_one(without_value, word)) {
            return refuse("'{}' is not known; {}", word.substr(0, 80), forms);
        }
        return {};
    }
    /// Printed by `ip route show table all` for tables other than main, and by `ip -d route`.
    result<void> read_table() {
        const std::string_view table = next_word(left_);
        if (table == "main" || table == "254") return {};
        return refuse(
            "table {} is not this list's: list the routes of one table, as `ip route show table "
            "{}` prints them, for the VRF that they are for",
            table.substr(0, 80), table.substr(0, 80));
    }
    result<void> read_via() {
        if (in_member_) return refuse("via is there twice; say nexthop before each of several");
        std::string_view value = next_word(left_);
        if (value == "inet6" || value == "inet") {  // printed by `ip route` if the families differ
            crosses_ = true;
            value = next_word(left_);
        }
        const auto address = parse_address(value);
        if (!address) return refuse("via {}", address.error().text);
        now_.via = *address;
        in_member_ = true;
        return {};
    }
    /// Completes a next hop.
    result<void> end_member() {
        if (!in_member_) {
            if (members_ != 0 || (several_ && !now_.dev.empty()))
                return refuse("nexthop says no via");
            if (now_.dev.empty()) return {};
        }
        if (members_++ == 0)
            into_.first = now_;
        else
            into_.others.push_back(now_);
        now_ = {};
        in_member_ = false;
        return {};
    }

    std::string_view left_;
    route_line& into_;
    route_line::member now_{};
    bool in_member_ = false, several_ = false, crosses_ = false, has_pref_ = false;
    size_t members_ = 0;
};

}  // namespace

result<route_line> parse_route_line(std::string_view line) {
    if (line.size() > max_route_line_bytes)
        return refuse("is longer than {} bytes", max_route_line_bytes);
    route_line out;
    const auto family = extract_family(line);
    std::string_view word = next_word(line);
    for (const auto type : {route_type::blackhole, route_type::unreachable, route_type::prohibit})
        if (word == state::route_type_names[static_cast<size_t>(type)]) {
            out.type = type;
            word = next_word(line);
            break;
        }
    if (word == "unicast") word = next_word(line);  // printed by `ip -d route`
    if (is_one(other_types, word))
        return refuse("is of type {}; the types are unicast, blackhole, unreachable and prohibit",
                      word);
    const bool by_default = word == "default";
    const auto to = destination_of(word, family);
    if (!to) return refuse("the route's prefix {}", to.error().text);
    out.to = *to;
    line_words words(line, out);
    if (auto good = words.read(); !good) return tl::unexpected<error>(good.error());
    if (by_default && !family) {
        // Linux sets the interface lo for IPv6 routes of these types, and none for IPv4 routes.
        const bool on_lo = out.type != route_type::unicast && out.first.dev == "lo";
        out.to.address.v6 = out.first.via ? out.first.via->v6 != words.crosses_families()
                                          : words.has_pref() || on_lo;
    }
    if (out.type != route_type::unicast) {
        if (out.first.via || !out.others.empty() || out.recursive)
            return refuse("{} says where packets go, but a route of this type sends none",
                          out.recursive ? "recursive" : "via");
        return out;
    }
    if (!words.any()) return refuse("says not where packets go: {}", forms);
    if (out.recursive && !out.first.via)
        return refuse("recursive says where a gateway is, and there is none: no via");
    return out;
}

bool says_nothing(std::string_view line) noexcept {
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string_view::npos || line[first] == '#';
}

namespace {

/// Adds a gateway of a recursive route.
result<void> add_beyond(const route_line::member& m, state::route_target& to) {
    if (!m.dev.empty() || m.onlink)
        return refuse(
            "dev says on which link the gateway is, and recursive that other routes do: one of "
            "them");
    if (auto good = state::check_recursive(*m.via); !good)
        return refuse("via {}", good.error().text);
    to.members.push_back({.via = m.via, .weight = m.weight});
    return {};
}

}  // namespace

result<state::route_target> route_line_reader::target_of(const route_line& line) {
    state::route_target out{.type = line.type, .recursive = line.recursive, .mtu = line.mtu};
    if (line.type != route_type::unicast) {
        out.mtu = 0;
        return out;
    }
    const auto add = [&](const route_line::member& m) -> result<void> {
        if (line.recursive) return add_beyond(m, out);
        if (!m.via) {
            if (auto good = neighbours_.check_link(m.dev); !good)
                return refuse("dev {}", good.error().text);
            out = state::target_on_link(std::string(m.dev));  // without an MTU
            return {};
        }
        const bool onlink =
            m.onlink && !m.dev.empty();  // otherwise its network determines the link
        auto found = neighbours_.interface_of(*m.via, m.dev, onlink);
        if (!found) return refuse("via {}", found.error().text);
        out.members.push_back(
            {.via = m.via, .interface = std::move(*found), .weight = m.weight, .onlink = onlink});
        return {};
    };
    auto good = add(line.first);
    for (size_t i = 0; good && i < line.others.size(); ++i) good = add(line.others[i]);
    if (good) good = state::arrange_members(out.members);
    if (!good) return tl::unexpected<error>(good.error());
    return out;
}

result<state::route> route_line_reader::read(std::string_view line) {
    const auto parsed = parse_route_line(line);
    if (!parsed) return refuse("{}", parsed.error().text);
    if (auto good = state::check_routed_prefix(parsed->to); !good)
        return refuse("the route's prefix {}", good.error().text);
    if (auto good = state::check_mtu(parsed->mtu, parsed->to); !good)
        return refuse("mtu {}", good.error().text);
    for (size_t i = 0; i < 1 + parsed->others.size(); ++i) {
        const auto& via = (i == 0 ? parsed->first : parsed->others[i - 1]).via;
        if (parsed->type != route_type::unicast || !via) break;
        if (auto good = state::check_family(*via, parsed->to); !good)
            return refuse("via {}", good.error().text);
    }
    last_.to = parsed->to;
    last_.first.dev = last_dev_;
    if (last_index_ == UINT32_MAX || *parsed != last_) {
        last_index_ = UINT32_MAX;
        const auto target = target_of(*parsed);
        if (!target) return tl::unexpected<error>(target.error());
        const uint32_t index = targets_.target_index(*target);
        if (!parsed->others.empty()) return state::route{parsed->to, index};
        last_ = *parsed;
        last_dev_ = parsed->first.dev;
        last_index_ = index;
    }
    return state::route{parsed->to, last_index_};
}

/// Routes that the kernel adds for addresses: connected networks.
bool joined_lines::is_kernels(std::string_view line) noexcept {
    const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
    return (has(" proto kernel") || has(" proto 2 ")) && !has(" table ");
}

bool joined_lines::is_head(std::string_view line) noexcept {
    if (line.find(" via ") != line.npos || line.find(" dev ") != line.npos ||
        line.find("nexthop") != line.npos)
        return false;
    const std::string_view word = next_word(line);
    return word != "blackhole" && word != "unreachable" && word != "prohibit" &&
           !is_one(other_types, word);
}

namespace {

/// next  the next line; none: the end
template <class Next>
result<void> read_lines(const Next& next, uint32_t first_line, const std::string& name,
                        state::neighbour_finder& neighbours, state::route_set& into,
                        const route_sink& add) {
    route_line_reader reader(neighbours, into);
    joined_lines joined;
    const auto read = [&](std::string_view line, uint32_t number) -> result<void> {
        const auto route = reader.read(line);
        if (!route) return fail(EINVAL, fmt::format("{}:{}", name, number), route.error().text);
        add(route->to, route->target, number);
        return {};
    };
    for (uint32_t number = first_line;; ++number) {
        const result<std::optional<std::string_view>> line = next();
        if (!line) return tl::unexpected<error>(line.error());
        if (!*line) return joined.finish(read);
        if (auto good = joined.add(**line, number, read); !good) return good;
    }
}

}  // namespace

result<void> read_route_file(const std::filesystem::path& path, state::neighbour_finder& neighbours,
                             state::route_set& into, const route_sink& add) {
    auto file = yaml::lines::open(path, {.file_bytes = uint64_t{4} << 30});
    if (!file) return tl::unexpected<error>(file.error());
    return read_lines([&] { return file->next(); }, 1, path.string(), neighbours, into, add);
}

result<void> read_route_lines(std::string_view text, uint32_t first_line, const std::string& name,
                              state::neighbour_finder& neighbours, state::route_set& into,
                              const route_sink& add) {
    const auto next = [&]() -> std::optional<std::string_view> {
        if (text.empty()) return std::nullopt;
        return next_piece(text, '\n');
    };
    return read_lines(next, first_line, name, neighbours, into, add);
}

}  // namespace turnpike::sources
