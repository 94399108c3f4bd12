// SPDX-License-Identifier: BSD-3-Clause
// ICMP originated by turnpike: echo replies, and errors about dropped packets. Echo, Packet Too Big and other errors
// have separate rate limits: a lost Packet Too Big is a black hole for its sender (RFC 2923 section 2.1), other lost
// errors are not. Each ingress interface has separate limits, and one receiver of Packet Too Big gets a quarter of the
// interface's rate (message_rate.hpp).
#pragma once

#include "control/slow_path/dad.hpp"
#include "control/slow_path/igmp_reports.hpp"
#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/slow_path_context.hpp"
#include "packet/icmp.hpp"

namespace turnpike::control::slow_path {

/// The ICMP error for a drop reason, in the packet's family; type 0: none.
[[nodiscard]] packet::icmp_error icmp_error_of(datapath::drop_reason why, bool v4,
                                               uint16_t mtu) noexcept;

/// Sends ICMP errors.
class icmp_errors {
  public:
    icmp_errors(slow_path_context& t, const dad& own) : context_(t), own_(own) {}
    void set_rate(uint32_t per_second) {
        rate_.set(per_second);
        too_big_rate_.set(per_second);
    }
    /// Send an error to the packet's source, if RFCs and the rate limit permit; the caller keeps
    /// the packet.
    void send(const owned_mbuf& p, const packet::icmp_error& error);
    /// The same for a bridged frame: from its destination's address, by the interface where a reply
    /// would arrive. by: index of a tunnel's interface
    void send_as_receiver(const owned_mbuf& p, const packet::icmp_error& error, uint16_t by);

  private:
    [[nodiscard]] bool may_send(const owned_mbuf& p, const packet::icmp_error& error) noexcept;

    slow_path_context& context_;
    const dad& own_;
    message_rate rate_{0}, too_big_rate_{4};
};

/// Packets to us: answers ICMP echo, passes the rest to the kernel, or drops it with an ICMP error.
class local : public handler {
  public:
    local(slow_path_context& t, icmp_errors& errors, dad& own, igmp_reports& igmp)
        : handler(t), errors_(errors), own_(own), igmp_(igmp) {}
    void set_rate(uint32_t per_second) { echo_rate_.set(per_second); }
    void handle(owned_mbuf p) override;

  private:
    void echo(owned_mbuf p);

    icmp_errors& errors_;
    dad& own_;
    igmp_reports& igmp_;
    message_rate echo_rate_{0};
};

/// Frames that exceed their tunnel's MTU. A bridge has no address to send the error from. (Linux
/// does the same for its tunnels since 5.9, iptunnel_pmtud_build_icmp.)
class too_big : public handler {
  public:
    too_big(slow_path_context& t, icmp_errors& errors) : handler(t), errors_(errors) {}
    void handle(owned_mbuf p) override;

  private:
    icmp_errors& errors_;
};

/// Dropped packets with an ICMP error to their source.
class icmp_error_sender : public handler {
  public:
    icmp_error_sender(slow_path_context& t, icmp_errors& errors) : handler(t), errors_(errors) {}
    void handle(owned_mbuf p) override;

  private:
    icmp_errors& errors_;
};

}  // namespace turnpike::control::slow_path
