// SPDX-License-Identifier: BSD-3-Clause
// Schedule of multicast group membership reports to routers and snooping switches. IGMP (RFC 3376) and MLD (RFC 3810)
// share it; the messages are in igmp_reports.hpp and mld_reports.hpp.
//
//   link up, joined   at once, and again after a second
//   left              at once, and again after a second
//   a query           within its maximum response time, for its group or for all
//
// Other hosts' reports do not suppress ours (RFC 3376 section 7.2.2): snooping switches need every
// member's.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "control/slow_path/slow_path_context.hpp"
#include "packet/group_record.hpp"

namespace turnpike::control::slow_path {

struct group_query {
    unsigned version;
    uint32_t max_response_ms;
    std::optional<ip_address> group;  ///< none: general query
    bool of_link = true;              ///< its source may be a node of the link
};

/// Threads  control.
class multicast_membership {
  public:
    /// newest  highest protocol version supported
    multicast_membership(slow_path_context& t, unsigned newest) : context_(t), newest_(newest) {}
    virtual ~multicast_membership() = default;
    multicast_membership(const multicast_membership&) = delete;
    multicast_membership& operator=(const multicast_membership&) = delete;

    /// The link of an interface came up, or its addresses changed.
    void begin(uint16_t interface);
    /// The interface went down or was removed.
    void forget(uint16_t interface) noexcept;
    /// Remove state of all removed interfaces, before their indices are reused.
    void forget_gone() noexcept;
    void tick();

    /// The interface joined or left the group.
    void joined(uint16_t interface, const ip_address& group);
    void left(uint16_t interface, const ip_address& group);
    /// A router's query arrived.
    void queried(uint16_t interface, const group_query& q);

  protected:
    /// Groups to report.
    [[nodiscard]] virtual std::vector<ip_address> groups_of(
        const datapath::interface& on) const = 0;
    /// Requires  groups is not empty
    virtual void send(uint16_t interface, unsigned version, std::span<const ip_address> groups,
                      packet::group_record kind) = 0;
    slow_path_context& context_;

  private:
    struct due_report {
        uint64_t at_ms;
        packet::group_record kind;
        unsigned version;  ///< at most
    };
    [[nodiscard]] bool is_in(uint16_t interface, const ip_address& group) const;
    [[nodiscard]] unsigned version_of(uint16_t interface) const noexcept;
    void report(uint16_t interface, packet::group_record kind, unsigned version);
    void send_twice(uint16_t interface, const ip_address& group, packet::group_record kind);

    unsigned newest_;
    /// key without a group: all groups
    std::map<std::pair<uint16_t, std::optional<ip_address>>, due_report> due_;
    /// Older Version Querier Present timers: end by version
    std::map<std::pair<uint16_t, unsigned>, uint64_t> older_;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace turnpike::control::slow_path
