// SPDX-License-Identifier: BSD-3-Clause
// The JSON object for PCIe, common to all programs of turnpike: {"source":
//   "modelled|counted|measured", "profile": NAME or null, "link": {...}, "per_packet": {"lines":
//   {...}, "tlps": {...}, "bytes": {...}, "by_purpose": {...}}, "assumptions": [...]} Threads: any.
//   Errors: none.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "pcie/cost.hpp"

namespace turnpike::pcie {

/// {"gen", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "addr64", "ecrc", "raw_gbps",
/// "tlp_gbps", "approximate", "sizes_assumed": only if true}
[[nodiscard]] nlohmann::json to_json(const link& l);

/// {"lines": {rd_cur, itom, rfo, wil, prd}, "tlps": {mrd, mwr, cpld}, "bytes": {up, down}}
[[nodiscard]] nlohmann::json to_json(const transactions_per_packet& t);

/// The object, source "modelled", for a packet received and a packet sent, or in the proportion of
/// rx_packets to tx_packets per packet of `per` (see bill::combined).
[[nodiscard]] nlohmann::json to_json(const bill& b, double rx_packets = 1, double tx_packets = 1,
                                     double per = 1);

}  // namespace turnpike::pcie
