// SPDX-License-Identifier: BSD-3-Clause
// Counters by perf_event_open(2).
#pragma once

#include <filesystem>

#include "pmu/counter_source.hpp"

namespace turnpike::pmu {

/// Threads  one at a time
class perf_source : public counter_source {
  public:
    /// proc  "/proc": sys/kernel/perf_event_paranoid has the required permission
    explicit perf_source(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}

    [[nodiscard]] result<std::unique_ptr<counter_group>> open(const device& of,
                                                              std::span<const coded_event> events,
                                                              target whose) override;

    /// Explain an error of the kernel, with a remedy.
    [[nodiscard]] error explain(int code, const device& of, std::string_view event) const;

  private:
    std::filesystem::path proc_;
};

}  // namespace turnpike::pmu
