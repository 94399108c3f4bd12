// SPDX-License-Identifier: BSD-3-Clause
// What had been counted when an operator asked that what is shown begins at 0 again. It is taken off what
// is shown from then on; nothing that counts is touched, so the books stay what they are.
//
// Counts can begin at 0 by themselves: a port that was removed comes again, a rule that has no name is in
// another list. What counts has a `life` then (report.hpp), and another one is not ours.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "observe/report.hpp"

namespace turnpike::observe {

class baseline {
  public:
    /// The start: nothing is taken off.
    baseline() = default;
    /// now  counts since the start
    explicit baseline(const report& now);

    /// Leaves what came since; rates and the time are those since, too.
    void take_off(report& now) const;
    [[nodiscard]] bool is_start() const noexcept { return start_; }

  private:
    struct port {
        uint64_t rx_missed = 0;
        port_totals totals{};
        std::map<std::string, uint64_t> pcie{};
    };
    void take_off_port(port_report& now) const;
    void take_off_worker(worker_report& now) const;
    void take_off_list(acl_report& now) const;

    bool start_ = true;
    double duration_s_ = 0;
    std::map<uint64_t, port> ports_{};  ///< by life
    port_totals removed_{};
    std::map<unsigned, worker_report> workers_{};  ///< by lcore
    std::map<uint64_t, acl_report> lists_{};       ///< by life
};

}  // namespace turnpike::observe
