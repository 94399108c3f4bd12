// SPDX-License-Identifier: BSD-3-Clause
// Our own ICMP: echo replies, and errors about what was not forwarded. Echo and errors have a rate
// each, so that pings silence no Packet Too Big.
#pragma once

#include "control/slow_path/igmp_reports.hpp"
#include "control/slow_path/own_groups.hpp"
#include "control/slow_path/tools.hpp"
#include "packet/icmp.hpp"

namespace turnpike::control::slow_path {

/// The ICMP error that tells of a drop, for the packet's own family; type 0 where none does.
[[nodiscard]] packet::icmp_error icmp_error_of(packet::drop_reason why, bool v4,
                                               uint16_t mtu) noexcept;

/// Writes errors to the senders of packets.
class icmp_errors {
  public:
    icmp_errors(tools& t, const own_groups& own) : tools_(t), own_(own) {}
    void set_rate(uint32_t per_second) { rate_ = token_bucket(per_second); }
    /// Tell the packet's sender, if that is allowed and the rate permits; the packet stays.
    void tell(const packet_in_hand& p, const packet::icmp_error& error);
    /// The same of a frame that is bridged: in the name of whom it was sent to, and by the way that an answer would
    /// come. by: a tunnel's place
    void tell_as_receiver(const packet_in_hand& p, const packet::icmp_error& error, uint16_t by);

  private:
    tools& tools_;
    const own_groups& own_;
    token_bucket rate_{0};
};

/// Packets for us: ICMP echo is answered; what nobody takes is dropped and its sender told.
class local : public handler {
  public:
    local(tools& t, icmp_errors& errors, own_groups& own, igmp_reports& igmp)
        : handler(t), errors_(errors), own_(own), igmp_(igmp) {}
    void set_rate(uint32_t per_second) { echo_rate_ = token_bucket(per_second); }
    void take(packet_in_hand p) override;

  private:
    void echo(packet_in_hand p);

    icmp_errors& errors_;
    own_groups& own_;
    igmp_reports& igmp_;
    token_bucket echo_rate_{0};
};

/// More than its tunnel takes: a bridge has no address of its own to say so from. (Linux does the same for its tunnels
/// since 5.9, iptunnel_pmtud_build_icmp.)
class too_big : public handler {
  public:
    too_big(tools& t, icmp_errors& errors) : handler(t), errors_(errors) {}
    void take(packet_in_hand p) override;

  private:
    icmp_errors& errors_;
};

/// What was dropped on its way, and whose sender is to be told.
class told : public handler {
  public:
    told(tools& t, icmp_errors& errors) : handler(t), errors_(errors) {}
    void take(packet_in_hand p) override;

  private:
    icmp_errors& errors_;
};

}  // namespace turnpike::control::slow_path
