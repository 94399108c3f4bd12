// SPDX-License-Identifier: BSD-3-Clause
// Membership reports for the IPv6 groups of interfaces, by MLDv2, or by MLDv1 while a version 1 querier is present.
#pragma once

#include "control/slow_path/multicast_membership.hpp"

namespace turnpike::control::slow_path {

class dad;

/// Threads  control.
class mld_reports : public multicast_membership {
  public:
    mld_reports(slow_path_context& t, const dad& own) : multicast_membership(t, 2), own_(own) {}

  private:
    [[nodiscard]] std::vector<ip_address> groups_of(const datapath::interface& on) const override;
    void send(uint16_t interface, unsigned version, std::span<const ip_address> groups,
              packet::group_record kind) override;

    const dad& own_;
};

}  // namespace turnpike::control::slow_path
