// SPDX-License-Identifier: BSD-3-Clause
#include "print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/printable.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// Which list of a subject's result is its table, and which members are its columns.
struct table {
    std::string_view what, list, columns;
};
constexpr table tables[] = {
    {"ports", "ports", "name driver link mtu mac rx_packets tx_packets rx_missed drops"},
    {"interfaces", "interfaces", "name kind port mtu mac addresses peer acl_in acl_out"},
    {"routes", "routes", "to origin type reason interface via mac"},
    {"neighbours", "neighbours", "interface address state mac gateway static held next_hop"},
    {"next-hops", "next_hops", "next_hop type reason interface via mac mtu"},
    {"acl", "acl", "port direction list permitted denied table_bytes"},
    {"cost", "workers", "lcore packets pps cpp utilisation headroom_pps"},
    {"workers", "workers", "lcore rx_queues"},
};

std::string cell(const json& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return printable(value.get_ref<const std::string&>());
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
    if (!value.is_structured()) return value.dump();
    std::string out;
    for (const auto& [name, one] : value.items()) {
        if (!out.empty()) out += value.is_array() ? "," : " ";
        if (one.is_object() && one.contains("port"))  // of a worker
            out += cell(one["port"]) + ":" + cell(one["queue"]);
        else
            out += (value.is_object() ? printable(name) + " " : std::string()) + cell(one);
    }
    return out.empty() ? "-" : out;
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// Numbers to the right, everything else to the left, nothing behind the last.
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
    std::vector<size_t> width(names.size());
    for (const auto& line : lines)
        for (size_t i = 0; i < names.size(); ++i) width[i] = std::max(width[i], line[i].size());
    std::string out;
    for (const auto& line : lines) {
        std::string text;
        for (size_t i = 0; i < names.size(); ++i)
            text += fmt::format(fmt::runtime(right[i] ? "{}{:>{}}" : "{}{:<{}}"),
                                i == 0 ? "" : "  ", line[i], width[i]);
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    }
    return out;
}

/// A line for each value, named by the way to it.
void add_values(std::string& out, const std::string& name, const json& value) {
    if (!value.is_object() || value.empty()) {
        out += fmt::format("{:<28} {}\n", name, cell(value));
        return;
    }
    for (const auto& [inner, one] : value.items())
        add_values(out, (name.empty() ? "" : name + ".") + printable(inner), one);
}

}  // namespace

std::string shown_text(const std::string& what, const json& result) {
    if (what == "report") return result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    const auto* const t = std::find_if(std::begin(tables), std::end(tables),
                                       [&](const table& row) { return row.what == what; });
    if (t != std::end(tables) && result.contains(t->list))
        return columns_text(result[std::string(t->list)], t->columns);
    std::string out;
    add_values(out, "", result);
    return out;
}

std::string changes_text(const json& result) {
    std::string out = cell(result.value("text", json())) + "\n";
    for (const char* kind : {"ports", "interfaces", "acls"})
        for (const char* how : {"removed", "added", "changed"})
            for (const json& name : result.value(kind, json::object()).value(how, json::array()))
                out += fmt::format("  {} {}: {}\n", kind, how, cell(name));
    return out;
}

}  // namespace turnpike::ctl
