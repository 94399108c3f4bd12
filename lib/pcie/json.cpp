// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/json.hpp"

#include <nlohmann/json.hpp>

namespace turnpike::pcie {
namespace {

const char* const buffers_assumed =
    "buffers start at a cache line and lie within a page; the host sends the largest completions "
    "that RCB and MPS allow";
const char* const flits_assumed =
    "gen 6 sends FLITs of fixed size; its TLPs are counted as those of gen 1 to 5";

}  // namespace

nlohmann::json to_json(const link& l) {
    nlohmann::json out = {{"gen", l.gen},
                          {"lanes", l.lanes},
                          {"mps_bytes", l.mps},
                          {"mrrs_bytes", l.mrrs},
                          {"rcb_bytes", l.rcb},
                          {"addr64", l.addr64},
                          {"ecrc", l.ecrc},
                          {"raw_gbps", raw_gbps(l)},
                          {"tlp_gbps", tlp_gbps(l)},
                          {"approximate", is_approximate(l)}};
    if (l.sizes_assumed) out["sizes_assumed"] = true;
    return out;
}

nlohmann::json to_json(const transactions_per_packet& t) {
    return {{"lines",
             {{"rd_cur", t.lines.rd_cur},
              {"itom", t.lines.itom},
              {"rfo", t.lines.rfo},
              {"wil", t.lines.wil},
              {"prd", t.lines.prd}}},
            {"tlps", {{"mrd", t.tlps.mrd}, {"mwr", t.tlps.mwr}, {"cpld", t.tlps.cpld}}},
            {"bytes", {{"up", t.bytes.up}, {"down", t.bytes.down}}}};
}

nlohmann::json to_json(const bill& b, double rx_packets, double tx_packets, double per) {
    const direction_bill combined = b.combined(rx_packets, tx_packets, per);
    nlohmann::json per_packet = to_json(combined.total());
    for (size_t i = 0; i < purpose_names.size(); ++i)
        per_packet["by_purpose"][std::string(purpose_names[i])] = to_json(combined.by_purpose[i]);
    nlohmann::json assumptions = b.profile.assumptions;
    assumptions.push_back(buffers_assumed);
    if (is_approximate(b.link)) assumptions.push_back(flits_assumed);
    return {{"source", "modelled"},
            {"profile", b.profile.name},
            {"link", to_json(b.link)},
            {"per_packet", std::move(per_packet)},
            {"assumptions", std::move(assumptions)}};
}

}  // namespace turnpike::pcie
