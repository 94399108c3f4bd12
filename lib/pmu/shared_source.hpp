// SPDX-License-Identifier: BSD-3-Clause
// Counters shared by measurements of the same events on the same target: of two ports below one IIO stack, or of one
// socket. Each event is opened once, so copies do not take each other's hardware counters (an IIO has four, an IRP two).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pmu/counter_source.hpp"

namespace turnpike::pmu {

/// Threads  one at a time
class shared_source : public counter_source {
  public:
    /// from  opens the counters; closed with the last measurement that uses them
    explicit shared_source(std::unique_ptr<counter_source> from) : from_(std::move(from)) {}

    [[nodiscard]] result<std::unique_ptr<counter_group>> open(const device& of,
                                                              std::span<const coded_event> events,
                                                              target whose) override;

  private:
    struct key {
        uint32_t type = 0;  ///< of the PMU
        int cpu = -1, thread = -1;
        std::vector<uint64_t> words{};  ///< the events' encodings
        auto operator<=>(const key&) const = default;
    };
    std::unique_ptr<counter_source> from_;
    std::map<key, std::weak_ptr<counter_group>> open_{};
};

}  // namespace turnpike::pmu
