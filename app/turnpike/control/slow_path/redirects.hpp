// SPDX-License-Identifier: BSD-3-Clause
// ICMP redirects: for a host that sends packets by us that leave by its own link (RFC 1812 section 5.2.7.2,
// RFC 4861 section 8.2).
#pragma once

#include "control/slow_path/own_groups.hpp"
#include "control/slow_path/tools.hpp"

namespace turnpike::control::slow_path {

class redirects : public handler {
  public:
    redirects(tools& t, const own_groups& own) : handler(t), own_(own) {}
    void set_rate(uint32_t per_second) { rate_ = token_bucket(per_second); }
    void take(packet_in_hand p) override;

  private:
    /// Write the redirect's IP packet into `ip`. Answers its length; 0: no redirect is due.
    uint32_t write4(const packet_in_hand& p, const known_neighbour& by, std::span<uint8_t> ip);
    uint32_t write6(const packet_in_hand& p, const known_neighbour& by, std::span<uint8_t> ip);

    const own_groups& own_;
    token_bucket rate_{0};
};

}  // namespace turnpike::control::slow_path
