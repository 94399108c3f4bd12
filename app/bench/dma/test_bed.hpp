// SPDX-License-Identifier: BSD-3-Clause
// Runs rows on an engine, with the memory that they need, and checks their data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distribution.hpp"
#include "engine.hpp"
#include "row.hpp"

namespace turnpike::bench::dma {

struct row_result {
    int node = -1;                        ///< the window's node
    uint64_t transfers = 0;               ///< per repetition
    std::optional<distribution> latency;  ///< TSC cycles, over all repetitions
    std::vector<double> cycles;  ///< per repetition: median latency, or cycles per transfer
    uint64_t checked_bytes = 0;
};

/// Memory for rows.
class test_bed {
  public:
    /// last_cache_bytes  `thrash` writes twice as much
    test_bed(engine& e, uint64_t last_cache_bytes);
    ~test_bed();

    /// Reserve memory for all these rows, so that a shortage is reported before the first.
    result<void> reserve(const std::vector<row>& rows);
    /// transfers  per repetition
    /// Requires   reserve() with this row
    /// Throws     void_run
    row_result run(const row& r, uint64_t transfers, unsigned repetitions);

  private:
    struct memory;
    engine& engine_;
    uint64_t last_cache_bytes_;
    std::unique_ptr<memory> memory_;
};

}  // namespace turnpike::bench::dma
