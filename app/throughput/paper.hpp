// SPDX-License-Identifier: BSD-3-Clause
// The tables of "Benchmarking and Analysis of Software Data Planes" (2017), sections 4.3.1 to 4.3.3, of workloads on this machine:
// throughput, instructions per packet and per cycle, cycles per packet; speedups by frequency, SMT and cores.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scale.hpp"

namespace turnpike::throughput {

inline constexpr const char* paper_schema = "turnpike.throughput-paper/1";

/// A plan whose steps are each workload's sweep.
///
/// Errors  EINVAL with file:line; of reading the file
[[nodiscard]] result<scale_plan> read_paper_plan(const std::string& path);

struct paper_table {
    std::string id{}, title{};
    std::vector<std::string> headings{};           ///< the first column names the row
    std::vector<std::vector<std::string>> rows{};  ///< cells of text
};

/// paper  turnpike.throughput-paper/1
[[nodiscard]] std::vector<paper_table> paper_tables(const nlohmann::json& paper);
/// Sentences below the tables: differences from the paper's method (section 13.4), and the reasons of cells without a figure.
[[nodiscard]] std::vector<std::string> paper_notes(const nlohmann::json& paper);
[[nodiscard]] std::string paper_text(const nlohmann::json& paper);
[[nodiscard]] std::string to_paper_page(const nlohmann::json& paper);

}  // namespace turnpike::throughput
