// SPDX-License-Identifier: BSD-3-Clause
// When routers, and switches that snoop, are told which multicast groups our interfaces are in. IGMP (RFC 3376) and
// MLD (RFC 3810) agree on that; what is said is theirs (igmp_reports.hpp, mld_reports.hpp).
//
//   link up, joined   at once, and again in a second
//   left              at once, and again in a second
//   a query           within the time that it gives, of its group or of all
//
// Nobody's report keeps us from ours (RFC 3376 section 7.2.2): switches that snoop want to hear everyone.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "control/slow_path/tools.hpp"
#include "packet/group_record.hpp"

namespace turnpike::control::slow_path {

struct group_query {
    unsigned version;
    uint32_t max_response_ms;
    std::optional<ip_address> group;  ///< none: all of ours
};

/// Threads  control.
class group_reports {
  public:
    /// newest  version that we speak
    group_reports(tools& t, unsigned newest) : tools_(t), newest_(newest) {}
    virtual ~group_reports() = default;
    group_reports(const group_reports&) = delete;
    group_reports& operator=(const group_reports&) = delete;

    /// The link of an interface came up, or its addresses changed.
    void begin(uint16_t interface);
    /// It is gone.
    void forget(uint16_t interface) noexcept;
    /// Of all interfaces that are gone, before their places are used again.
    void forget_gone() noexcept;
    void tick();

    /// Its addresses have the group now, or have it no more.
    void joined(uint16_t interface, const ip_address& group);
    void left(uint16_t interface, const ip_address& group);
    /// A router asked.
    void queried(uint16_t interface, const group_query& q);

  protected:
    /// Those that are reported.
    [[nodiscard]] virtual std::vector<ip_address> groups_of(
        const datapath::interface& on) const = 0;
    /// groups  not empty
    virtual void send(uint16_t interface, unsigned version, std::span<const ip_address> groups,
                      packet::group_record kind) = 0;
    tools& tools_;

  private:
    struct due_report {
        uint64_t at_ms;
        packet::group_record kind;
    };
    [[nodiscard]] bool is_in(uint16_t interface, const ip_address& group) const;
    [[nodiscard]] unsigned version_of(uint16_t interface) const noexcept;
    void report(uint16_t interface, packet::group_record kind);
    void say_twice(uint16_t interface, const ip_address& group, packet::group_record kind);

    unsigned newest_;
    std::map<std::pair<uint16_t, std::optional<ip_address>>, due_report> due_;  ///< none: of all
    std::map<std::pair<uint16_t, unsigned>, uint64_t> older_;  ///< routers of a version: until
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace turnpike::control::slow_path
