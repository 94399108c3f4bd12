// SPDX-License-Identifier: BSD-3-Clause
// The slow path: dispatches punted packets to the handler that is registered for their reason.
//
//   worker --punted--> slow_path --> arp, nd (neighbours' addresses) -> neighbours ---> control_tx --> worker
//                                \-> unresolved (packets that wait) -/                   /
//                                \-> local (echo replies), icmp_error_sender ------/
#pragma once

#include <array>

#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

/// Whether the handler of a reason uses only the published snapshot, rings and TAPs, not the tables.
constexpr bool needs_no_tables(datapath::punt_reason why) noexcept {
    using enum datapath::punt_reason;
    return why == local || why == icmp_error || why == link_protocol || why == too_big;
}

/// Threads  control.
class slow_path {
  public:
    /// Register the handler of a reason; one per reason.
    void on(datapath::punt_reason why, handler& h) noexcept {
        handlers_[static_cast<size_t>(why)] = &h;
    }
    /// Handle a punted packet; on any error it is dropped with a reason.
    void handle(rte_mbuf* m, slow_path_context& t) noexcept;
    /// handler::answer() of a punted packet, which stays the caller's.
    [[nodiscard]] bool answer(rte_mbuf* m, slow_path_context& t) noexcept;

  private:
    std::array<handler*, static_cast<size_t>(datapath::punt_reason::count_)> handlers_{};
};

}  // namespace turnpike::control::slow_path
