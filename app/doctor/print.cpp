// SPDX-License-Identifier: BSD-3-Clause
#include "print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace turnpike::doctor {

size_t count_of(const std::vector<diagnosis>& all, severity level) {
    return static_cast<size_t>(std::count_if(all.begin(), all.end(),
                                             [&](const diagnosis& f) { return f.level == level; }));
}

std::string text_of(const std::vector<diagnosis>& all) {
    std::string out;
    for (const diagnosis& f : all) {
        out += fmt::format("{:<8} {:<12} {}: {}\n", severity_names[static_cast<size_t>(f.level)],
                           f.check, f.subject, f.text);
        constexpr std::string_view indent = "                      ";
        if (!f.reason.empty()) out += fmt::format("{}why: {}\n", indent, f.reason);
        for (const std::string& command : f.remedy)
            out += fmt::format("{}do:  {}\n", indent, command);
    }
    out += fmt::format("{} errors, {} warnings, {} notes, {} ok\n", count_of(all, severity::error),
                       count_of(all, severity::warning), count_of(all, severity::note),
                       count_of(all, severity::ok));
    return out;
}

std::string json_of(const std::vector<diagnosis>& all) {
    nlohmann::json out = {{"schema", "turnpike.doctor/1"},
                          {"errors", count_of(all, severity::error)},
                          {"warnings", count_of(all, severity::warning)},
                          {"notes", count_of(all, severity::note)},
                          {"diagnoses", nlohmann::json::array()}};
    for (const diagnosis& f : all) {
        nlohmann::json changes = nlohmann::json::array();
        for (const file_change& c : f.changes)
            changes.push_back({{"file", c.file}, {"from", c.from}, {"to", c.to}});
        out["diagnoses"].push_back({{"level", severity_names[static_cast<size_t>(f.level)]},
                                    {"check", f.check},
                                    {"subject", f.subject},
                                    {"text", f.text},
                                    {"reason", f.reason},
                                    {"remedy", f.remedy},
                                    {"changes", std::move(changes)}});
    }
    return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string diff_of(const std::vector<file_change>& changes) {
    std::string out;
    for (const file_change& c : changes)
        out += fmt::format("--- {}\n-{}\n+{}\n", c.file, c.from, c.to);
    return out;
}

}  // namespace turnpike::doctor
