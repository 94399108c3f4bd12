// SPDX-License-Identifier: BSD-3-Clause
// wire=gen: sends stamped UDP frames (traffic.hpp) and checks the frames that the device sends
// back.
#pragma once

#include <array>
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

    uint32_t peek(uint64_t now, std::span<outgoing> into) noexcept override;
    void pop(uint32_t n) noexcept override;
    bool waits() const noexcept override { return !pace_.limits(); }
    uint64_t skip_due(uint64_t now) noexcept override;
    void resume(uint64_t now) noexcept override { pace_.idle_until(now); }
    void send(std::span<const outgoing> frames) noexcept override {
        for (const outgoing& f : frames) checker_.frame(f.bytes, f.length);
    }
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    void make_template(const packet::mac_address& mac);
    void build() noexcept;
    uint32_t next_bytes() const noexcept;
    void advance() noexcept;
    [[nodiscard]] uint32_t flows() const noexcept {
        return traffic_.l2_flows != 0 ? traffic_.l2_flows : traffic_.l3_flows;
    }
    uint32_t draw_flow() noexcept;
    /// Slot of the i-th frame that was built and not popped.
    [[nodiscard]] uint32_t slot(uint32_t i) const noexcept { return (front_ + i) % frame_batch; }

    const traffic traffic_;
    pace pace_;
    const uint16_t source_;
    const uint32_t src_ip_, dst_ip_;
    const uint32_t l3_at_, l4_at_, stamp_at_;
    const uint32_t stride_;
    std::unique_ptr<uint8_t[]>
        frames_;  ///< frame_batch frames; build() writes only the fields that differ
    std::array<uint32_t, frame_batch> length_{};  ///< without FCS
    uint32_t front_ = 0, built_ = 0;
    uint32_t ip_sum_ = 0, udp_sum_ = 0;  ///< sums of the constant fields
    uint32_t size_turn_ = 0, flow_ = 0;  ///< the next frame's
    uint64_t sequence_ = 0, random_;
    counters::counter sent_{};
    checker checker_{};
};

}  // namespace turnpike::simnic
