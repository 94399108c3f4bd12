// SPDX-License-Identifier: BSD-3-Clause
// Membership reports for the IPv4 groups of interfaces, by IGMPv3, or by an older version while an older querier is
// present. On interfaces that the kernel has, the kernel's own IGMP reports its groups, and gets the same queries.
#pragma once

#include "control/slow_path/multicast_membership.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
class igmp_reports : public multicast_membership {
  public:
    explicit igmp_reports(slow_path_context& t) : multicast_membership(t, 3) {}
    /// An IGMP message arrived. False: the interface has joined no group.
    [[nodiscard]] bool process_query(const owned_mbuf& p);

  private:
    [[nodiscard]] std::vector<ip_address> groups_of(const datapath::interface& on) const override;
    void send(uint16_t interface, unsigned version, std::span<const ip_address> groups,
              packet::group_record kind) override;
};

}  // namespace turnpike::control::slow_path
