// SPDX-License-Identifier: BSD-3-Clause
// E. Myers: An O(ND) Difference Algorithm and Its Variations, Algorithmica 1 (1986), the greedy algorithm of section 3.
#include "sources/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using line_list = std::vector<std::string_view>;

constexpr size_t max_routes = 10'000;
/// Differences beyond which the lines between the first and the last one are replaced as a whole: time and memory grow
/// with the square.
constexpr size_t max_differences = 1500;

size_t routes_of(const configuration& c) {
    size_t n = c.routes.size();
    for (const auto& [name, v] : c.vrfs) n += v.routes.size();
    return n;
}

std::string text_of(const configuration& c, bool with_routes) {
    if (with_routes) return to_yaml(c, written_fields::compared);
    configuration copy = c;  // its routes are shared
    copy.routes = {};
    for (const auto& [name, v] : c.vrfs) copy.routes_of(name) = {};
    return to_yaml(copy, written_fields::compared);
}

line_list split_lines(std::string_view text) {
    line_list out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

enum class side : uint8_t { both, before, after };
struct step {
    side of;
    size_t index;  ///< in the list of lines of the side; both: of `after`
};

/// The shortest list of steps from one list of lines to the other.
std::vector<step> steps_between(const line_list& a, const line_list& b) {
    const auto n = static_cast<ptrdiff_t>(a.size()), m = static_cast<ptrdiff_t>(b.size());
    const ptrdiff_t most = std::min(n + m, static_cast<ptrdiff_t>(max_differences));
    // furthest[d][k + d]: the largest x on diagonal k = x - y after d differences.
    std::vector<std::vector<ptrdiff_t>> furthest;
    const auto at = [&](ptrdiff_t d, ptrdiff_t k) {
        return furthest[static_cast<size_t>(d)][static_cast<size_t>(k + d)];
    };
    /// Where a path of d differences to diagonal k comes from: from above is an insertion.
    const auto is_insertion = [&](ptrdiff_t d, ptrdiff_t k) {
        return k == -d || (k != d && at(d - 1, k - 1) < at(d - 1, k + 1));
    };
    ptrdiff_t d = 0;
    bool found = false;
    for (; !found && d <= most; ++d) {
        furthest.emplace_back(static_cast<size_t>(2 * d + 1));
        for (ptrdiff_t k = -d; k <= d && !found; k += 2) {
            ptrdiff_t x = 0;
            if (d > 0) x = is_insertion(d, k) ? at(d - 1, k + 1) : at(d - 1, k - 1) + 1;
            while (x < n && x - k < m && x - k >= 0 &&
                   a[static_cast<size_t>(x)] == b[static_cast<size_t>(x - k)])
                ++x;
            furthest.back()[static_cast<size_t>(k + d)] = x;
            found = x >= n && x - k >= m;
        }
    }
    std::vector<step> out;
    if (!found) {
        for (size_t i = 0; i < a.size(); ++i) out.push_back({side::before, i});
        for (size_t i = 0; i < b.size(); ++i) out.push_back({side::after, i});
        return out;
    }
    ptrdiff_t x = n, y = m;
    const auto back_along_equal_lines = [&](ptrdiff_t to_x) {
        for (; x > to_x; --x) out.push_back({side::both, static_cast<size_t>(--y)});
    };
    for (--d; d > 0; --d) {
        const ptrdiff_t k = x - y;
        const bool inserts = is_insertion(d, k);
        const ptrdiff_t from = inserts ? at(d - 1, k + 1) : at(d - 1, k - 1);
        back_along_equal_lines(inserts ? from : from + 1);
        if (inserts)
            out.push_back({side::after, static_cast<size_t>(--y)});
        else
            out.push_back({side::before, static_cast<size_t>(--x)});
    }
    back_along_equal_lines(0);
    return {out.rbegin(), out.rend()};
}

size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

/// The lines of the maps and lists that a line is in, the outermost first.
std::vector<size_t> ancestors_of(const line_list& lines, size_t index) {
    std::vector<size_t> out;
    size_t indent = indent_of(lines[index]);
    for (size_t i = index; i-- > 0 && indent > 0;)
        if (indent_of(lines[i]) < indent) {
            indent = indent_of(lines[i]);
            out.insert(out.begin(), i);
        }
    return out;
}

}  // namespace

std::vector<std::string> compare(const configuration& before, const configuration& after,
                                 size_t max_lines) {
    const bool with_routes = routes_of(before) <= max_routes && routes_of(after) <= max_routes;
    const std::string from = text_of(before, with_routes), to = text_of(after, with_routes);
    const line_list a = split_lines(from), b = split_lines(to);
    std::vector<std::string> out;
    size_t more = 0;
    std::vector<std::string_view> context;  // the ancestors of the last difference
    for (const step& s : steps_between(a, b)) {
        if (s.of == side::both) continue;
        if (out.size() >= max_lines) {
            ++more;
            continue;
        }
        const line_list& lines = s.of == side::before ? a : b;
        std::vector<std::string_view> in;
        for (const size_t i : ancestors_of(lines, s.index)) in.push_back(lines[i]);
        for (size_t i = 0; i < in.size(); ++i)
            if (i >= context.size() || context[i].data() != in[i].data()) {
                const bool is_context = i < context.size() && context[i] == in[i];
                if (!is_context) out.push_back("  " + std::string(in[i]));
            }
        context = std::move(in);
        out.push_back((s.of == side::before ? "- " : "+ ") + std::string(lines[s.index]));
        context.push_back(lines[s.index]);
    }
    if (more != 0) out.push_back(fmt::format("... and {} more lines", more));
    return out;
}

}  // namespace turnpike::sources
