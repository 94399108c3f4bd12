// SPDX-License-Identifier: BSD-3-Clause
// Membership reports for the IPv6 groups of interfaces, by MLDv2, or by MLDv1 while a version 1 querier is present.
#pragma once

#include "control/slow_path/group_reports.hpp"

namespace turnpike::control::slow_path {

class own_groups;

/// Threads  control.
class mld_reports : public group_reports {
  public:
    mld_reports(tools& t, const own_groups& own) : group_reports(t, 2), own_(own) {}

  private:
    [[nodiscard]] std::vector<ip_address> groups_of(const datapath::interface& on) const override;
    void send(uint16_t interface, unsigned version, std::span<const ip_address> groups,
              packet::group_record kind) override;

    const own_groups& own_;
};

}  // namespace turnpike::control::slow_path
