// SPDX-License-Identifier: BSD-3-Clause
#include "cache/geometry.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace turnpike::cache {
namespace {

constexpr uint32_t usual_line_bytes = 64;
constexpr uint64_t max_sets = 1u << 24;

std::string first_line(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// Parse "64", "32K", "1M"; 0 if malformed.
uint64_t number_in(const std::filesystem::path& file) {
    std::istringstream in(first_line(file));
    uint64_t value = 0;
    char unit = 0;
    if (!(in >> value) || value > (uint64_t{1} << 40)) return 0;
    in >> unit;
    return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

/// nullopt: an instruction cache, or missing values.
std::optional<level> read_level(const std::filesystem::path& folder) {
    const std::string type = first_line(folder / "type");
    if (type != "Data" && type != "Unified") return std::nullopt;
    const uint64_t number = number_in(folder / "level");
    uint64_t line = number_in(folder / "coherency_line_size");
    uint64_t sets = number_in(folder / "number_of_sets");
    uint64_t ways = number_in(folder / "ways_of_associativity");
    const uint64_t size = number_in(folder / "size");
    if (line == 0) line = usual_line_bytes;
    if (sets == 0 && ways != 0) sets = size / ways / line;
    if (ways == 0 && sets != 0) ways = size / sets / line;
    const bool usable = number >= 1 && number <= 4 && (line & (line - 1)) == 0 && line >= 16 &&
                        line <= 4096 && sets >= 1 && sets <= max_sets && ways >= 1 &&
                        ways <= max_sets;
    if (!usable) return std::nullopt;
    return level{static_cast<unsigned>(number), static_cast<uint32_t>(sets),
                 static_cast<uint32_t>(ways), static_cast<uint32_t>(line),
                 first_line(folder / "shared_cpu_list")};
}

void sort_levels(geometry& g) {
    std::stable_sort(g.levels.begin(), g.levels.end(),
                     [](const level& a, const level& b) { return a.number < b.number; });
}

}  // namespace

const level* geometry::find(unsigned number) const noexcept {
    for (const level& l : levels)
        if (l.number == number) return &l;
    return nullptr;
}

result<geometry> read_geometry(const std::filesystem::path& sysfs, unsigned cpu) {
    const auto folder = sysfs / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cache";
    geometry g{.levels = {}, .source = folder.string()};
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.path().filename().string().rfind("index", 0) == 0)
            if (auto found = read_level(entry.path())) g.levels.push_back(std::move(*found));
    sort_levels(g);
    if (g.levels.empty())
        return fail(ENOENT, folder.string(),
                    "describes no data cache; specify the geometry by hand");
    return g;
}

result<geometry> parse_geometry(const std::string& text) {
    geometry g{.levels = {}, .source = text};
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) {
        level l{.line_bytes = usual_line_bytes};
        char after = 0;
        if (std::sscanf(word.c_str(), "%u:%ux%u%c", &l.number, &l.sets, &l.ways, &after) != 3 ||
            l.number < 1 || l.number > 4 || l.sets < 1 || l.sets > max_sets || l.ways < 1 ||
            l.ways > max_sets || g.find(l.number) != nullptr)
            return fail(EINVAL, text,
                        "is not a geometry; should be like 1:64x8,2:2048x8: level, sets, ways");
        g.levels.push_back(l);
    }
    if (g.levels.empty())
        return fail(EINVAL, text, "names no level; should be like 1:64x8,2:2048x8");
    sort_levels(g);
    return g;
}

geometry geometry_or_typical(const std::filesystem::path& sysfs, unsigned cpu) {
    auto found = read_geometry(sysfs, cpu);
    if (found) return std::move(*found);
    auto typical = parse_geometry("1:64x8,2:2048x8");
    typical->source = "assumed: " + found.error().message();
    return std::move(*typical);
}

}  // namespace turnpike::cache
