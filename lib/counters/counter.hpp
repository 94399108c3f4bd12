// SPDX-License-Identifier: BSD-3-Clause
// A counter that one thread writes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::counters {

/// Threads  one writer, many readers. A reader sees some value that the counter had; two counters
///          read in sequence need not belong to the same moment.
/// Cost     a load, an add and a store: no locked instruction.
class counter {
  public:
    void add(uint64_t n) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    [[nodiscard]] uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<uint64_t> value_{0};
};

}  // namespace turnpike::counters
