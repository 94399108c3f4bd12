// SPDX-License-Identifier: BSD-3-Clause
#include "sources/route_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/lines.hpp"

namespace turnpike::sources {
namespace {

using state::route_type;

/// The next word of a line, which loses it.
std::string_view take_word(std::string_view& line) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    const auto start = std::find_if_not(line.begin(), line.end(), is_blank);
    const auto end = std::find_if(start, line.end(), is_blank);
    const std::string_view word =
        line.substr(static_cast<size_t>(start - line.begin()), static_cast<size_t>(end - start));
    line.remove_prefix(static_cast<size_t>(end - line.begin()));
    return word;
}

/// What `ip route` says of a route that we have no use for: a word, or a word and its value.
constexpr std::array<std::string_view, 6> with_value{"proto", "scope", "metric",
                                                     "src",   "pref",  "table"};
constexpr std::array<std::string_view, 2> alone{"onlink", "linkdown"};

template <size_t N>
bool is_one(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

tl::unexpected<error> refuse(std::string text) { return fail(EINVAL, "", std::move(text)); }

}  // namespace

result<ip_prefix> parse_destination(std::string_view text) {
    std::string_view left = text;
    const std::string_view word = take_word(left);
    if (!take_word(left).empty())
        return refuse(fmt::format("should be alone, not '{}'", text.substr(0, 80)));
    if (word == "default") return ip_prefix{};
    if (word.find('/') != std::string_view::npos) return parse_prefix(word);
    const auto host = parse_address(word);
    if (!host) return tl::unexpected<error>(host.error());
    return ip_prefix{*host, static_cast<uint8_t>(host->bits())};
}

result<route_line> parse_route_line(std::string_view line) {
    route_line out;
    std::string_view word = take_word(line);
    for (const auto& [name, type] : {std::pair{"blackhole", route_type::blackhole},
                                     std::pair{"unreachable", route_type::unreachable}})
        if (word == name) {
            out.type = type;
            word = take_word(line);
        }
    const bool by_default = word == "default";
    const auto to = parse_destination(word);
    if (!to) return refuse("the route's prefix " + to.error().text);
    out.to = *to;
    bool via = false;
    while (!(word = take_word(line)).empty()) {
        const std::string_view value = is_one(alone, word) ? std::string_view{} : take_word(line);
        if (word == "via") {
            const auto address = parse_address(value);
            if (!address) return refuse("via " + address.error().text);
            out.via = *address;
            via = true;
        } else if (word == "dev") {
            out.dev = value;
        } else if (!is_one(with_value, word) && !is_one(alone, word)) {
            return refuse(
                fmt::format("'{}' is not known; a route is PREFIX via ADDRESS [dev PORT], or "
                            "blackhole PREFIX, or unreachable PREFIX",
                            word.substr(0, 80)));
        }
    }
    if (out.type != route_type::unicast) {
        if (via) return refuse("via says where packets go, but a route of this type sends none");
        return out;
    }
    if (!via) return refuse("says not where packets go: PREFIX via ADDRESS [dev PORT]");
    if (by_default) out.to.address.v6 = out.via.v6;
    if (out.via.v6 != out.to.address.v6)
        return refuse(fmt::format("via is {}, not of the same IP version as {}", out.via.text(),
                                  out.to.text()));
    return out;
}

bool says_nothing(std::string_view line) noexcept {
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string_view::npos || line[first] == '#';
}

result<state::route> route_line_reader::read(std::string_view line) {
    const auto parsed = parse_route_line(line);
    if (!parsed) return refuse(parsed.error().text);
    if (auto good = state::check_routed_prefix(parsed->to); !good)
        return refuse("the route's prefix " + good.error().text);
    if (last_index_ == UINT32_MAX || parsed->type != last_.type || parsed->via != last_.via ||
        parsed->dev != last_dev_) {
        last_ = {.type = parsed->type, .via = parsed->via};
        last_dev_ = parsed->dev;
        last_index_ = UINT32_MAX;
        if (parsed->type == route_type::unicast) {
            auto found = neighbours_.interface_of(parsed->via, parsed->dev);
            if (!found) return refuse("via " + found.error().text);
            last_.interface = *found;
        }
        last_index_ = targets_.target_index(last_);
    }
    return state::route{parsed->to, last_index_};
}

result<void> read_route_file(const std::filesystem::path& path, state::neighbour_finder& neighbours,
                             state::route_set& into, const route_taker& take) {
    auto file = config::lines::open(path, {.file_bytes = uint64_t{4} << 30});
    if (!file) return tl::unexpected<error>(file.error());
    route_line_reader reader(neighbours, into);
    for (uint32_t number = 1;; ++number) {
        const auto line = file->next();
        if (!line) return tl::unexpected<error>(line.error());
        if (!*line) return {};
        if (says_nothing(**line)) continue;
        const auto route = reader.read(**line);
        if (!route) return fail(EINVAL, file->where(), route.error().text);
        take(route->to, route->target, number);
    }
}

result<void> read_route_lines(std::string_view text, uint32_t first_line, const std::string& name,
                              state::neighbour_finder& neighbours, state::route_set& into,
                              const route_taker& take) {
    route_line_reader reader(neighbours, into);
    for (uint32_t number = first_line; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (says_nothing(line)) continue;
        const auto route = reader.read(line);
        if (!route) return fail(EINVAL, fmt::format("{}:{}", name, number), route.error().text);
        take(route->to, route->target, number);
    }
    return {};
}

}  // namespace turnpike::sources
