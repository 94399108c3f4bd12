// SPDX-License-Identifier: BSD-3-Clause
#include "sources/route_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sources/route_file.hpp"
#include "state/next_hop_rules.hpp"
#include "state/validate.hpp"

namespace turnpike::sources {
namespace {

tl::unexpected<error> refuse(int code, uint32_t line, std::string text) {
    return fail(code, fmt::format("line {}", line), std::move(text));
}

}  // namespace

result<route_stream::change> route_stream::read(std::string_view line,
                                                route_line_reader& reader) const {
    change out{.route = {}, .what = verb::replace, .line = lines_};
    constexpr std::array<std::string_view, 3> names = {"add ", "replace ", "del "};
    line.remove_prefix(line.find_first_not_of(" \t\r"));
    for (size_t v = 0; v < names.size(); ++v)
        if (line.starts_with(names[v])) {
            out.what = static_cast<verb>(v);
            line.remove_prefix(names[v].size());
            break;
        }
    if (out.what == verb::del) {
        const auto to = parse_destination(line);
        if (!to) return refuse(EINVAL, lines_, "the route's prefix " + to.error().text);
        out.route.to = *to;
        return out;
    }
    const auto route = reader.read(line);
    if (!route) return refuse(EINVAL, lines_, route.error().text);
    out.route = *route;
    return out;
}

result<void> route_stream::take(std::string_view lines, const state::desired& in) {
    state::neighbour_finder find(in);
    route_line_reader reader(find, targets_);
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
        ++lines_;
        if (says_nothing(line)) continue;
        auto next = read(line, reader);
        if (!next) return tl::unexpected<error>(next.error());
        if (changes_.size() == most)
            return refuse(ENOSPC, lines_, fmt::format("more than {} changes at once", most));
        changes_.push_back(*next);
    }
    return {};
}

result<void> route_stream::make(state::desired& into) {
    // By prefix, since neighbours in the set are near each other in memory; each prefix's in their order.
    std::vector<change> all = std::move(changes_);
    changes_.clear();
    std::stable_sort(all.begin(), all.end(),
                     [](const change& a, const change& b) { return a.route.to < b.route.to; });
    const change* wrong = nullptr;
    for (const change& c : all) {
        const bool there = c.what != verb::replace && into.routes.at(c.route.to) != nullptr;
        if ((c.what == verb::add && there) || (c.what == verb::del && !there)) {
            if (wrong == nullptr || c.line < wrong->line) wrong = &c;
        } else if (c.what == verb::del) {
            into.routes.remove(c.route.to);
        } else {
            into.routes.set(c.route.to, targets_.targets()[c.route.target]);
        }
    }
    if (wrong == nullptr) return state::validate(into);
    const bool add = wrong->what == verb::add;
    return refuse(add ? EEXIST : ENOENT, wrong->line,
                  fmt::format("the route to {} is {}", wrong->route.to.text(),
                              add ? "there already" : "not there"));
}

}  // namespace turnpike::sources
