// SPDX-License-Identifier: BSD-3-Clause
// Rows, done by an engine in the memory that they need, and their data checked.
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
    int node = -1;                        ///< where the window is
    uint64_t transfers = 0;               ///< of a repetition
    std::optional<distribution> latency;  ///< TSC cycles, over all repetitions
    std::vector<double> cycles;           ///< of each repetition: median latency, or per transfer
    uint64_t checked_bytes = 0;
};

/// The memory that rows run on.
class test_bed {
  public:
    /// last_cache_bytes  what `thrash` overwrites twice
    test_bed(engine& e, uint64_t last_cache_bytes);
    ~test_bed();

    /// Memory for all of these rows, so that what is short is said before the first.
    result<void> reserve(const std::vector<row>& rows);
    /// transfers  a repetition
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
