// SPDX-License-Identifier: BSD-3-Clause
// Parts of a burst in stage ip_fast, and the results of a pass over a burst or a part.
#pragma once

#include <array>

#include "datapath/burst.hpp"
#include "datapath/stages/fast_frames.hpp"

namespace turnpike::datapath {
namespace {

/// Result masks of a burst.
struct fast_verdict {
    packet_mask sent = 0, denied = 0;
    packet_mask tagged = 0;  ///< subset of `sent`: complete, with the tag of its egress interface

    fast_verdict& operator+=(const fast_verdict& other) noexcept {
        sent |= other.sent;
        tagged |= other.tagged;
        denied |= other.denied;
        return *this;
    }
};

/// An element that is not cleared when its array is made.
union unset_egress {
    egress is;
    unset_egress() noexcept {}
};

/// Packets of one family, side by side, so that its kernels run over no others.
struct part {
    frames f{frames::empty{}};
    alignas(16) std::array<uint32_t, burst_max> single_segment_bytes;
    std::array<rte_mbuf*, burst_max> packet;
    std::array<uint16_t, burst_max> tag;
    std::array<unset_egress, burst_max> out;  ///< of packets that are sent
    std::array<uint8_t, burst_max> at;        ///< index in the burst
    uint32_t n = 0;
    packet_mask in_burst = 0, tagged = 0;

    /// Called once.
    void gather(const burst& b, const frames& all, packet_mask packets) noexcept {
        in_burst = packets;
        uint32_t k = 0;
        for_each(packets, [&](uint32_t i) {
            f.first[k] = all.first[i];
            single_segment_bytes[k] = b.single_segment_bytes[i];
            packet[k] = b.packet[i];
            at[k++] = static_cast<uint8_t>(i);
        });
        n = k;
    }
};

/// Results of a part, at the indices of its packets in the burst.
fast_verdict put_back(burst& b, const part& p, const fast_verdict& done) noexcept {
    const auto in_burst = [&](packet_mask packets) {
        if (packets == all_of(p.n)) return p.in_burst;
        packet_mask out = 0;
        for_each(packets, [&](uint32_t k) { out |= packet_mask{1} << p.at[k]; });
        return out;
    };
    for_each(done.sent, [&](uint32_t k) { b.out[p.at[k]] = p.out[k].is; });
    return {in_burst(done.sent), in_burst(done.denied), in_burst(done.tagged)};
}

}  // namespace
}  // namespace turnpike::datapath
