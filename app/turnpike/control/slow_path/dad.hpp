// SPDX-License-Identifier: BSD-3-Clause
// Our IPv6 addresses after link up: duplicate address detection (RFC 4862 section 5.4), optimistic (RFC 4429): a
// tentative address answers, but without the Override flag, and is no source of solicitations. Also starts the reports
// of joined groups (mld_reports.hpp).
//
//   link up --> tentative --1 s of silence--> preferred
//                   |
//        an advertisement or probe from another node --> duplicate: unused until the link comes up again
//
// An address that the kernel has with IFA_F_NODAD is preferred at once, as in addrconf_dad_begin().
#pragma once

#include <map>
#include <set>

#include "control/slow_path/mld_reports.hpp"
#include "control/slow_path/slow_path_context.hpp"
#include "packet/mld.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
class dad {
  public:
    explicit dad(slow_path_context& t) : context_(t) {}

    /// The link of an interface came up, or its addresses changed.
    /// had  its addresses before, while its link was up: addresses that stay are not probed for again
    void begin(uint16_t interface, std::span<const ipv6_address> had = {});
    /// The interface went down or was removed.
    void forget(uint16_t interface) noexcept;
    /// Remove state of all removed interfaces, before their indices are reused.
    void forget_gone() noexcept;
    void tick();

    [[nodiscard]] bool is_tentative(uint16_t interface, const ipv6_address& a) const noexcept;
    [[nodiscard]] bool any_tentative(uint16_t interface) const noexcept;
    /// Whether another node uses the address.
    [[nodiscard]] bool is_duplicate(uint16_t interface, const ipv6_address& a) const noexcept;
    /// The same for the destination of a packet from any interface.
    [[nodiscard]] bool is_duplicate(const ipv6_address& a, uint16_t came_in_by) const noexcept;
    /// Another node advertises the address, or probes for it.
    void claimed(uint16_t interface, const ipv6_address& a, const mac_address& by);
    /// A router's MLD query arrived.
    void queried(uint16_t interface, const packet::mld_query& query);
    [[nodiscard]] multicast_membership& reports() noexcept { return reports_; }

  private:
    using key = std::pair<uint16_t, ipv6_address>;

    void probe(uint16_t interface, const ipv6_address& a);
    void advertise(uint16_t interface, const ipv6_address& a);

    slow_path_context& context_;
    std::map<key, uint64_t> tentative_;  ///< end of detection
    std::set<key> duplicates_;
    mld_reports reports_{context_, *this};
};

}  // namespace turnpike::control::slow_path
