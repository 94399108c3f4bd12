// SPDX-License-Identifier: BSD-3-Clause
// wire=gen: sends stamped UDP frames (traffic.hpp) and checks what the device sends back.
#pragma once

#include <memory>

#include "wire/checker.hpp"
#include "wire/traffic.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

class generator final : public wire {
  public:
    /// source  below 16: one per generator of the process
    /// mac     the port's
    generator(const traffic& t, const pace& p, uint16_t source, const packet::mac_address& mac);

    outgoing peek(uint64_t now) noexcept override;
    void pop() noexcept override;
    bool waits() const noexcept override { return !pace_.limits(); }
    uint64_t skip_due(uint64_t now) noexcept override;
    void resume(uint64_t now) noexcept override { pace_.idle_until(now); }
    void send(const uint8_t* frame, uint32_t bytes) noexcept override {
        checker_.frame(frame, bytes);
    }
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    void make_template(const packet::mac_address& mac);
    uint32_t next_bytes() const noexcept;
    void set_length(uint32_t bytes) noexcept;
    void advance(uint32_t bytes) noexcept;
    void build() noexcept;

    const traffic traffic_;
    pace pace_;
    const uint16_t source_;
    std::unique_ptr<uint8_t[]> frame_;
    uint32_t l3_at_ = 14, l4_at_ = 34, stamp_at_ = 42;
    uint32_t length_ = 0;                ///< of the frame as it stands, without FCS
    uint32_t ip_sum_ = 0, udp_sum_ = 0;  ///< of what does not change from frame to frame
    uint32_t size_turn_ = 0, flow_ = 0;
    uint64_t sequence_ = 0;
    bool built_ = false;
    cost::counter sent_{};
    checker checker_{};
};

}  // namespace turnpike::simnic
