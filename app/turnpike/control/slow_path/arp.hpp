// SPDX-License-Identifier: BSD-3-Clause
// ARP (RFC 826): answers requests for our addresses, and passes senders and replies to the neighbour table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/slow_path_context.hpp"

namespace turnpike::control::slow_path {

class arp : public handler {
  public:
    arp(slow_path_context& t, message_rate& rate, conflict_callback conflict)
        : handler(t), rate_(rate), conflict_(std::move(conflict)) {}
    void handle(owned_mbuf p) override;
    [[nodiscard]] bool answer(const owned_mbuf& p) override;

  private:
    [[nodiscard]] std::vector<uint32_t> ours(uint16_t interface) const;

    message_rate& rate_;
    conflict_callback conflict_;
};

}  // namespace turnpike::control::slow_path
