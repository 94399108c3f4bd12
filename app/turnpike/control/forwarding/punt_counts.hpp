// SPDX-License-Identifier: BSD-3-Clause
// Counters of punted packets by interface and class. Workers count by interface index; an interface that takes over
// an index begins at 0.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "control/forwarding/workers.hpp"
#include "control/transaction.hpp"
#include "observe/report.hpp"

namespace turnpike::control {

/// Threads  control.
class punt_counts {
  public:
    explicit punt_counts(const workers& w) : workers_(w) {}
    /// Room for the interfaces of a change, before it is committed.
    void make_room(const transaction::ifindexes& ifindexes);
    /// The interfaces of the running configuration, after make_room().
    void follow(const transaction::ifindexes& ifindexes) noexcept;
    /// Classes that have counted packets, in order of the interfaces' names.
    [[nodiscard]] std::vector<observe::punt_report> report() const;

  private:
    struct counts {
        uint64_t punted = 0, dropped = 0;
    };
    struct followed {
        uint16_t ifindex = 0;  ///< 0: not followed yet
        uint64_t life = 0;
        std::array<counts, datapath::punt_classes> before{};
    };
    [[nodiscard]] counts sum(uint16_t ifindex, datapath::punt_class c) const noexcept;

    const workers& workers_;
    std::map<std::string, followed, std::less<>> interfaces_;
};

}  // namespace turnpike::control
