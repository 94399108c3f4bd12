// SPDX-License-Identifier: BSD-3-Clause
// ICMP redirects: for a host that sends packets by us that leave by its own link (RFC 1812 section 5.2.7.2,
// RFC 4861 section 8.2).
#pragma once

#include "control/slow_path/dad.hpp"
#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class redirects : public handler {
  public:
    redirects(slow_path_context& t, const dad& own) : handler(t), own_(own) {}
    void set_rate(uint32_t per_second) { rate_.set(per_second); }
    void handle(owned_mbuf p) override;

  private:
    /// Write the redirect's IP packet into `ip`. Answers its length; 0: no redirect is due.
    uint32_t write4(const owned_mbuf& p, const known_neighbour& by, std::span<uint8_t> ip);
    uint32_t write6(const owned_mbuf& p, const known_neighbour& by, std::span<uint8_t> ip);

    const dad& own_;
    message_rate rate_{0};
};

}  // namespace turnpike::control::slow_path
