// SPDX-License-Identifier: BSD-3-Clause
#include "top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "observe/page.hpp"
#include "print.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// A column of a kind's table: a member of each window, how it is printed, and its heading.
struct rate_column {
    std::string_view member, heading;
    enum class as : uint8_t { rate, share, cycles } printed = as::rate;
};
constexpr rate_column traffic[] = {{"rx_packets", "rx/s"},    {"tx_packets", "tx/s"},
                                   {"rx_bits", "rx bit/s"},   {"tx_bits", "tx bit/s"},
                                   {"rx_missed", "missed/s"}, {"drops", "drops/s"}};
constexpr rate_column bridged[] = {{"rx_packets", "rx/s"},
                                   {"tx_packets", "tx/s"},
                                   {"rx_bits", "rx bit/s"},
                                   {"flooded", "flooded/s"}};
constexpr rate_column load[] = {{"packets", "packets/s"},
                                {"utilisation", "busy", rate_column::as::share},
                                {"cpp", "cycles/pkt", rate_column::as::cycles}};
constexpr rate_column dropped[] = {{"packets", "drops/s"}, {"bits", "bit/s"}};

/// A list of the result. Its order of rows: by the sum of the members `rx_packets` and `tx_packets`, or `packets`.
struct rate_section {
    const char* list;
    std::initializer_list<const char*> names;
    std::span<const rate_column> columns;
};
const rate_section sections[] = {
    {"workers", {"lcore"}, load},           {"ports", {"name"}, traffic},
    {"drops", {"reason", "port"}, dropped}, {"interfaces", {"name"}, std::span(traffic).first(4)},
    {"bridges", {"name"}, bridged},
};
constexpr std::string_view windows[] = {"1s", "10s", "1min"};

const json& member_list(const json& result, const char* name) {
    static const json none = json::array();
    const auto at = result.is_object() ? result.find(name) : result.end();
    return at != result.end() && at->is_array() ? *at : none;
}

/// A member of a window; null: unknown.
json rate_of(const json& row, std::string_view window, std::string_view member) {
    const auto at = row.is_object() ? row.find(window) : row.end();
    if (at == row.end() || !at->is_object()) return {};
    const auto value = at->find(member);
    return value != at->end() && value->is_number() ? *value : json();
}

double weight_of(const json& row) {
    double sum = 0;
    for (const char* member : {"rx_packets", "tx_packets", "packets"})
        if (const json value = rate_of(row, "1s", member); !value.is_null())
            sum += value.get<double>();
    return sum;
}

std::string rate_cell(const json& row, std::string_view window, const rate_column& c) {
    const json value = rate_of(row, window, c.member);
    if (value.is_null()) return "-";
    const double n = value.get<double>();
    switch (c.printed) {
        case rate_column::as::share:
            return fmt::format("{:.1f}%", 100 * n);
        case rate_column::as::cycles:
            return fmt::format("{:.0f}", n);
        case rate_column::as::rate:
            break;
    }
    return scaled(n);
}

/// The rows of a list, the highest rate first.
std::vector<const json*> sorted(const json& list) {
    std::vector<const json*> rows;
    for (const json& row : list) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const json* a, const json* b) { return weight_of(*a) > weight_of(*b); });
    return rows;
}

/// The kind of a row: "port", "drop".
std::string singular(const rate_section& s) {
    const std::string name = s.list;
    return name.substr(0, name.size() - 1);
}

/// A heading and a line per row and window.
std::vector<std::string> section_lines(const rate_section& s, const std::vector<const json*>& rows,
                                       std::span<const std::string_view> of, size_t hidden) {
    const bool one = of.size() == 1;
    std::vector<std::string> heading;
    for (const char* name : s.names)
        heading.push_back(!heading.empty() ? name
                          : hidden == 0    ? singular(s)
                                           : fmt::format("{} ({} more)", singular(s), hidden));
    if (!one) heading.emplace_back("over");
    std::vector<bool> right(heading.size(), false);
    for (const rate_column& c : s.columns) {
        heading.emplace_back(c.heading);
        right.push_back(true);
    }
    std::vector<std::vector<std::string>> cells = {heading};
    for (const json* row : rows)
        for (const std::string_view window : of) {
            std::vector<std::string>& line = cells.emplace_back();
            for (const char* name : s.names) line.push_back(value_text(*row, name));
            if (!one) line.emplace_back(window);
            for (const rate_column& c : s.columns) line.push_back(rate_cell(*row, window, c));
        }
    return aligned(cells, right);
}

/// Rows of each section if all are to have at most `rows`: the small ones whole, the others the same number.
std::vector<size_t> shares(std::vector<size_t> wanted, size_t rows) {
    std::vector<size_t> order(wanted.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
    for (size_t i = 0; i < order.size(); ++i) {
        wanted[order[i]] = std::min(wanted[order[i]], rows / (order.size() - i));
        rows -= wanted[order[i]];
    }
    return wanted;
}

}  // namespace

top_view::top_view() : now_(std::make_unique<json>()) {}
top_view::~top_view() = default;

void top_view::update(json shown) { *now_ = std::move(shown); }

std::string top_view::title() const {
    const json v = now_->is_object() ? now_->value("verdict", json()) : json();
    if (!v.is_object()) return "top";
    std::string out = fmt::format("{}: {}", value_text(v, "bound"), value_text(v, "says"));
    if (const json more = v.value("headroom_pps", json()); more.is_number())
        out += fmt::format("; headroom {} packets/s", scaled(more.get<double>()));
    // Since the last request for rates, of this program or another one.
    constexpr double usual_s = 10;
    if (const json s = v.value("seconds", json()); s.is_number() && s.get<double>() > usual_s)
        out += fmt::format("; over the last {}", observe::interval_text(s.get<double>()));
    return out;
}

std::vector<std::string> top_view::lines(size_t rows) {
    std::vector<std::string> out;
    headings_.clear();
    std::vector<std::vector<const json*>> all;
    std::vector<size_t> sizes;
    size_t used = 0;
    for (const rate_section& s : sections) {
        sizes.push_back(all.emplace_back(sorted(member_list(*now_, s.list))).size());
        used += sizes.back() != 0 ? 1 : 0;
    }
    sizes = shares(sizes, rows > used ? rows - used : 0);
    for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].empty()) continue;
        const size_t hidden = all[i].size() - sizes[i];
        all[i].resize(sizes[i]);
        headings_.push_back(out.size());
        for (std::string& line :
             section_lines(sections[i], all[i], std::span(windows).first(1), hidden))
            out.push_back(std::move(line));
    }
    return out;
}

std::string rates_text(const given&, const json& result) {
    std::string out;
    for (const rate_section& s : sections) {
        const auto rows = sorted(member_list(result, s.list));
        if (rows.empty()) continue;
        for (const std::string& line : section_lines(s, rows, windows, 0)) out += line + "\n";
        out += "\n";
    }
    top_view view;
    view.update(result);
    return out + "verdict: " + view.title() + "\n";
}

}  // namespace turnpike::ctl
