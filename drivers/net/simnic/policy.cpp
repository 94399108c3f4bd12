// SPDX-License-Identifier: BSD-3-Clause
#include "policy.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace turnpike::simnic {
namespace {

constexpr std::array<std::string_view, 6> emulated{"ixgbe", "i40e", "ice",
                                                   "e1000", "igb",  "niantic-dpdk"};

rx_policy rx_of(const pcie::direction_profile& from) {
    rx_policy p;
    p.descriptor_bytes = from.fetch.bytes;
    p.fetch_batch = from.fetch.batch;
    p.write_back = from.write_back.policy;
    p.write_back_packets = p.write_back == pcie::write_back_policy::by_line
                               ? 64 / from.write_back.bytes
                               : from.write_back.packets;
    p.full_line_share = from.write_back.full_line_share;
    if (from.doorbell.policy == pcie::doorbell_policy::burst_end) {
        // em and igb refill at a burst's end, once more than rx_free_thresh buffers are missing.
        p.refill_all = true;
        p.free_threshold = from.doorbell.packets - 1;
        p.doorbell_packets = 0;
    } else {
        p.free_threshold = from.refill_packets;
        p.doorbell_packets = from.doorbell.packets;
    }
    return p;
}

tx_policy tx_of(const pcie::direction_profile& from) {
    tx_policy p;
    p.fetch_batch = from.fetch.batch;
    p.fetch_waits = from.fetch.policy == pcie::fetch_policy::full_batch;
    if (from.write_back.policy == pcie::write_back_policy::batch) {
        p.write_back_packets = from.write_back.packets;
        p.report_all = true;
    }
    // `every`: a driver cannot hold packets back until that many are posted, so the rest of a burst
    // rings a doorbell too.
    p.doorbell_packets = from.doorbell.packets;
    return p;
}

}  // namespace

result<policy> policy_of(std::string_view name) {
    const auto row = std::ranges::find(emulated, name);
    if (row == emulated.end()) {
        const bool known = pcie::find_profile(name).has_value();
        return fail(EINVAL, "profile=" + std::string(name),
                    std::string(known ? "an Intel-style ring cannot emulate this device; it is a "
                                        "model only. profile takes one of "
                                      : "profile takes one of ") +
                        std::string(emulated_profiles));
    }
    const auto found = pcie::find_profile(name);
    if (!found) return tl::unexpected<error>(found.error());
    return policy{*row, rx_of(found->rx), tx_of(found->tx)};
}

}  // namespace turnpike::simnic
