// SPDX-License-Identifier: BSD-3-Clause
#include "print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/next_piece.hpp"
#include "base/printable.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

std::string cell(const json& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return printable(value.get_ref<const std::string&>());
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_number_float()) {
        constexpr double whole_from = 9999.5;  // {:.4g} would have an exponent
        const double number = value.get<double>();
        return fmt::format(fmt::runtime(std::abs(number) >= whole_from ? "{:.0f}" : "{:.4g}"),
                           number);
    }
    if (!value.is_structured()) return value.dump();
    std::string out;
    for (const auto& [name, one] : value.items()) {
        if (!out.empty()) out += value.is_array() ? "," : " ";
        if (one.is_object() && one.contains("port"))  // a receive queue of a worker
            out += cell(one["port"]) + ":" + cell(one["queue"]);
        else
            out += (value.is_object() ? printable(name) + " " : std::string()) + cell(one);
    }
    return out.empty() ? "-" : out;
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) out.emplace_back(next_piece(text, ' '));
    return out;
}

/// Numbers right-aligned, other values left-aligned, no trailing blanks.
std::string columns_text(const json& rows, std::string_view columns) {
    const std::vector<std::string> names = words(columns);
    std::vector<std::vector<std::string>> lines = {names};
    std::vector<bool> right(names.size(), true);
    for (const json& row : rows) {
        auto& line = lines.emplace_back();
        for (size_t i = 0; i < names.size(); ++i) {
            const json value = row.value(names[i], json());
            right[i] = right[i] && (value.is_number() || value.is_null());
            line.push_back(cell(value));
        }
    }
    std::string out;
    for (const std::string& line : aligned(lines, right)) out += line + "\n";
    return out;
}

/// One line per value, named by its path.
void add_values(std::string& out, const std::string& name, const json& value) {
    if (!value.is_object() || value.empty()) {
        out += fmt::format("{:<28} {}\n", name, cell(value));
        return;
    }
    for (const auto& [inner, one] : value.items())
        add_values(out, (name.empty() ? "" : name + ".") + printable(inner), one);
}

/// "3 h 25 min" of seconds.
std::string duration_text(const json& seconds) {
    constexpr uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    const auto s = seconds.is_number() ? seconds.get<uint64_t>() : 0;
    if (s >= day) return fmt::format("{} d {} h", s / day, s % day / hour);
    if (s >= hour) return fmt::format("{} h {} min", s / hour, s % hour / minute);
    if (s >= minute) return fmt::format("{} min {} s", s / minute, s % minute);
    return cell(seconds) + " s";
}

/// A note if the counters were cleared since the start.
std::string since_text(const json& result) {
    return result.value("cleared", json()) == true
               ? fmt::format("counters cleared {} ago\n",
                             duration_text(result.value("since_s", json())))
               : "";
}

}  // namespace

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& lines,
                                 const std::vector<bool>& right) {
    std::vector<size_t> width(right.size());
    for (const auto& line : lines)
        for (size_t i = 0; i < width.size(); ++i) width[i] = std::max(width[i], line[i].size());
    std::vector<std::string> out;
    for (const auto& line : lines) {
        std::string text;
        for (size_t i = 0; i < width.size(); ++i)
            text += fmt::format(fmt::runtime(right[i] ? "{}{:>{}}" : "{}{:<{}}"),
                                i == 0 ? "" : "  ", line[i], width[i]);
        text.erase(text.find_last_not_of(' ') + 1);
        out.push_back(std::move(text));
    }
    return out;
}

std::string scaled(double value) {
    if (value >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
    if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
    if (value >= 1e4) return fmt::format("{:.1f} k", value / 1e3);
    const bool whole = value >= 100 || value == std::floor(value);
    return fmt::format("{:.{}f}", value, whole ? 0 : 1);
}

std::string text_of(const json& of, const char* name) {
    const json value = of.is_object() ? of.value(name, json()) : json();
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::string value_text(const json& of, const char* name) {
    const json value = of.is_object() ? of.value(name, json()) : json();
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

std::string shown_text(std::string_view list, std::string_view columns, const json& result) {
    if (!list.empty() && result.is_object() && result.contains(list))
        return columns_text(result[std::string(list)], columns) + since_text(result);
    std::string out;
    add_values(out, "", result);
    return out;
}

std::string undone_in(const json& result, const std::string& asked) {
    const auto left = result.is_object() ? result.find("undone_in_s") : result.end();
    if (left == result.end()) return asked;
    return left->is_number() ? left->dump() : std::string();
}

std::string changes_text(const json& result) {
    std::string out = cell(result.value("text", json())) + "\n";
    if (const json lines = result.value("compare", json::array()); !lines.empty()) {
        for (const json& line : lines) out += cell(line) + "\n";
        return out;
    }
    for (const char* kind : {"ports", "interfaces", "bridges", "acls"})
        for (const char* how : {"removed", "added", "changed"})
            for (const json& name : result.value(kind, json::object()).value(how, json::array()))
                out += fmt::format("  {} {}: {}\n", kind, how, cell(name));
    return out;
}

}  // namespace turnpike::ctl
