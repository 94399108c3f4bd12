// SPDX-License-Identifier: BSD-3-Clause
// "Patience diff" (B. Cohen): lines that are unique in both texts stay, as many as are in the same order in both, and the
// parts between them are compared likewise.
#include "sources/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/next_piece.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using line_list = std::vector<std::string_view>;

constexpr size_t max_routes = 10'000;
/// Parts within parts; a deeper one is replaced as a whole.
constexpr unsigned max_depth = 16;

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
    while (!text.empty()) out.push_back(next_piece(text, '\n'));
    return out;
}

enum class side : uint8_t { both, before, after };
struct step {
    side of;
    size_t index;  ///< in the list of lines of the side; both: of `after`
};

/// Lines of `before` and of `after`, by index.
struct line_range {
    size_t a, a_end, b, b_end;
};

using anchor_list = std::vector<std::pair<size_t, size_t>>;

/// Lines that are unique in both lists, and in the same order in both: the longest list of them.
anchor_list anchors_of(const line_list& a, const line_list& b, const line_range& p) {
    struct occurrences {
        size_t in_a = 0, in_b = 0, b = 0;
    };
    std::unordered_map<std::string_view, occurrences> lines;
    for (size_t i = p.a; i < p.a_end; ++i) ++lines[a[i]].in_a;
    for (size_t i = p.b; i < p.b_end; ++i) {
        occurrences& o = lines[b[i]];
        ++o.in_b;
        o.b = i;
    }
    // The longest increasing subsequence: tails[n] is the end of the one of n + 1 lines with the smallest index in b.
    struct link {
        size_t a, b, previous;
    };
    std::vector<link> links;
    std::vector<size_t> tails;
    for (size_t i = p.a; i < p.a_end; ++i) {
        const occurrences& o = lines[a[i]];
        if (o.in_a != 1 || o.in_b != 1) continue;
        const auto at = std::lower_bound(tails.begin(), tails.end(), o.b,
                                         [&](size_t l, size_t b_of) { return links[l].b < b_of; });
        links.push_back({i, o.b, at == tails.begin() ? SIZE_MAX : *(at - 1)});
        if (at == tails.end())
            tails.push_back(links.size() - 1);
        else
            *at = links.size() - 1;
    }
    anchor_list out;
    for (size_t l = tails.empty() ? SIZE_MAX : tails.back(); l != SIZE_MAX; l = links[l].previous)
        out.emplace_back(links[l].a, links[l].b);
    std::reverse(out.begin(), out.end());
    return out;
}

/// The steps from one list of lines to the other.
class line_steps {
  public:
    line_steps(const line_list& a, const line_list& b) : a_(a), b_(b) {}
    std::vector<step> all() {
        add({0, a_.size(), 0, b_.size()}, 0);
        return std::move(out_);
    }

  private:
    void add(line_range p, unsigned depth) {
        for (; p.a < p.a_end && p.b < p.b_end && a_[p.a] == b_[p.b]; ++p.a) add_equal(p.b++);
        size_t equal = 0;  // at the end
        for (; p.a < p.a_end && p.b < p.b_end && a_[p.a_end - 1] == b_[p.b_end - 1]; ++equal)
            --p.a_end, --p.b_end;
        const auto anchors = depth < max_depth ? anchors_of(a_, b_, p) : anchor_list{};
        line_range next = p;
        for (const auto& [a, b] : anchors) {
            add({next.a, a, next.b, b}, depth + 1);
            add_equal(b);
            next.a = a + 1;
            next.b = b + 1;
        }
        if (anchors.empty())
            replace(p);
        else
            add(next, depth + 1);
        for (; equal > 0; --equal) add_equal(p.b_end++);
    }
    void add_equal(size_t index) { out_.push_back({side::both, index}); }
    void replace(const line_range& p) {
        for (size_t i = p.a; i < p.a_end; ++i) out_.push_back({side::before, i});
        for (size_t i = p.b; i < p.b_end; ++i) out_.push_back({side::after, i});
    }

    const line_list &a_, &b_;
    std::vector<step> out_{};
};

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
    for (const step& s : line_steps(a, b).all()) {
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
