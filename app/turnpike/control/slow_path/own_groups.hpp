// SPDX-License-Identifier: BSD-3-Clause
// Our own IPv6 addresses on a link that has come up: nobody else may have them (duplicate address
// detection, RFC 4862 section 5.4, optimistic as RFC 4429 has it: they are answered for meanwhile, but
// override nobody and ask nobody), and switches are told which groups we listen to (mld_reports.hpp).
//
//   link up --> tentative --1 s of silence--> ours
//                   |
//        somebody else's answer or probe --> duplicate: not used until the link comes up again
#pragma once

#include <map>
#include <set>

#include "control/slow_path/mld_reports.hpp"
#include "control/slow_path/tools.hpp"
#include "packet/mld.hpp"

namespace turnpike::control::slow_path {

/// Threads  control.
class own_groups {
  public:
    explicit own_groups(tools& t) : tools_(t) {}

    /// The link of an interface came up, or its addresses changed.
    void begin(uint16_t interface);
    /// It is gone.
    void forget(uint16_t interface) noexcept;
    /// Of all interfaces that are gone, before their places are used again.
    void forget_gone() noexcept;
    void tick();

    [[nodiscard]] bool is_tentative(uint16_t interface, const ipv6_address& a) const noexcept;
    [[nodiscard]] bool any_tentative(uint16_t interface) const noexcept;
    /// Somebody else has it: we do not use it.
    [[nodiscard]] bool is_duplicate(uint16_t interface, const ipv6_address& a) const noexcept;
    /// The same of a packet's destination, which came in by any interface.
    [[nodiscard]] bool is_duplicate(const ipv6_address& a, uint16_t came_in_by) const noexcept;
    /// Somebody else says that it is his, or is about to.
    void claimed(uint16_t interface, const ipv6_address& a, const mac_address& by);
    /// A router asked which groups are listened to.
    void queried(uint16_t interface, const packet::mld_query& query);
    [[nodiscard]] group_reports& reports() noexcept { return reports_; }

  private:
    using key = std::pair<uint16_t, ipv6_address>;

    void probe(uint16_t interface, const ipv6_address& a);
    void advertise(uint16_t interface, const ipv6_address& a);

    tools& tools_;
    std::map<key, uint64_t> tentative_;  ///< until
    std::set<key> duplicates_;
    mld_reports reports_{tools_, *this};
};

}  // namespace turnpike::control::slow_path
