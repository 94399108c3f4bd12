// SPDX-License-Identifier: BSD-3-Clause
// Counter values at the time of `clear counters`. They are subtracted from the counters shown later. The
// counters themselves are not changed, so the balance still holds.
//
// Counters also restart at 0 when an object is recreated: a port that is removed and added again, a rule
// without a name in a new list. A recreated object has a new `life` (report.hpp), which the baseline ignores.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "observe/inventory.hpp"
#include "observe/report.hpp"

namespace turnpike::observe {

/// Threads  one at a time, also for const members.
class baseline {
  public:
    /// The start: subtracts nothing.
    baseline() = default;
    /// now, objects  counts since the start
    explicit baseline(const report& now, inventory objects = {});

    /// From here on the counters of a port and of its interfaces are subtracted; the others' period stays.
    void clear_port(const port_report& now, const inventory& objects);

    /// Subtracts the baseline from counters and duration, so rates are since the baseline too.
    void subtract_from(report& now) const;
    /// The same for other objects, of which `now` may have some kinds.
    void subtract_from(inventory& now) const;
    /// The same for one ACL, of which `now` may have a part of the rules.
    void subtract_from_list(acl_report& now) const;
    [[nodiscard]] bool is_start() const noexcept { return start_; }
    /// From the start to the baseline.
    [[nodiscard]] double duration_s() const noexcept { return duration_s_; }

  private:
    struct port {
        uint64_t rx_missed = 0, rx_no_buffer = 0;
        double duration_s = 0;
        port_totals totals{};
        std::map<std::string, uint64_t> pcie{};
    };
    struct list {
        acl_report counted{};
        /// Positions of rules by life; made when the first rule is elsewhere, so that each later page costs its own rules.
        mutable std::unordered_map<uint64_t, size_t> position{};
    };
    static void subtract_from_port(port_report& now, const port& then);
    void subtract_from_worker(worker_report& now) const;

    bool start_ = true;
    double duration_s_ = 0;
    std::map<uint64_t, port> ports_{};             ///< by life
    port removed_{};                               ///< the sum of removed ports
    std::map<unsigned, worker_report> workers_{};  ///< by lcore
    std::map<uint64_t, list> lists_{};             ///< by life
    std::map<std::pair<uint64_t, datapath::punt_class>, punt_report>
        punt_{};  ///< by life and class
    inventory objects_{};
};

}  // namespace turnpike::observe
