// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/thresholds.hpp"

namespace turnpike::rxtx {
namespace {

struct row {
    std::string_view driver;
    thresholds values;
};

// DPDK's PMDs batch by 32 (their vector paths demand it of tx_rs on ixgbe, i40e, ice, iavf:
// RTE_*_MAX_TX_FREE_BUF_SZ, vector RX rearm 32, ice with AVX 64). igb has no RS threshold: WTHRESH.
// virtio, vmxnet3, mlx5 and the software drivers know no thresholds: their defaults stand.
constexpr row table[] = {
    {"net_ixgbe", {32, 32, 32}},
    {"net_i40e", {32, 32, 32}},
    {"net_iavf", {32, 32, 32}},
    {"net_ice", {64, 32, 32}},
    {"net_e1000_em", {32, 32, 32}},
    {"net_e1000_igb", {32, 0, 0}},
    {"net_simnic", {32, 32, 32}},
};

}  // namespace

thresholds thresholds_of(std::string_view driver, uint16_t descriptors) noexcept {
    for (const row& r : table) {
        if (driver.substr(0, r.driver.size()) != r.driver) continue;
        const thresholds& t = r.values;
        const bool fits = descriptors % t.rx_free == 0 && (t.tx_rs == 0 || descriptors % t.tx_rs == 0) &&
                          descriptors >= 4 * t.rx_free;
        return fits ? t : thresholds{};
    }
    return {};
}

}  // namespace turnpike::rxtx
