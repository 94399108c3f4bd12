// SPDX-License-Identifier: BSD-3-Clause
// The oracle's tables: a line of column names, then rows.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace turnpike::test {

using csv_row = std::map<std::string, std::string>;

inline std::vector<std::string> csv_fields(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
    return fields;
}

inline std::vector<csv_row> read_csv(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    const auto names = csv_fields(line);
    std::vector<csv_row> rows;
    while (std::getline(in, line)) {
        const auto fields = csv_fields(line);
        csv_row row;
        for (size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace turnpike::test
