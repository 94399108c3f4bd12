// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "isa/cpu_name.hpp"
#include "isa/isa.hpp"
#include "pcie/json.hpp"
#include "print.hpp"
#include "version.hpp"

namespace turnpike::pcie_tool {
namespace {

using nlohmann::json;

/// The envelope's host, for the format only: the model does not depend on it.
json host() {
    const std::string cpu = isa::cpu_name();
    const auto isas = isa::tokens(isa::detect());
    return {{"cpu", cpu.empty() ? json() : json(cpu)},
            {"tsc_hz", nullptr},
            {"max_simd_bitwidth", isa::any_simd_bitwidth},
            {"isas", std::vector<std::string>(isas.begin(), isas.end())}};
}

json to_json(const cell& c, double burst) {
    const auto& most = c.with_ethernet;
    return {{"profile", c.bill.profile.name},
            {"frame_bytes", c.frame_bytes},
            {"burst", burst},
            {"bandwidth_gbps", {{"tx", c.tx.gbps}, {"rx", c.rx.gbps}, {"both", c.both.gbps}}},
            {"ethernet_gbps", c.ethernet_gbps},
            {"mpps", most.mpps},
            {"binds", pcie::resource_names[static_cast<size_t>(most.binds)]},
            {"utilisation", {{"up", most.up_utilisation}, {"down", most.down_utilisation}}},
            {"pcie", pcie::to_json(c.bill)}};
}

}  // namespace

std::string json_text(const request& r, const std::vector<cell>& cells) {
    json rows = json::array();
    for (const auto& c : cells) rows.push_back(to_json(c, r.burst));
    const json summary{{"cells", cells.size()},
                       {"link", pcie::to_json(r.link)},
                       {"detected", r.detected.empty() ? json() : json(r.detected)},
                       {"as_published", r.slip == pcie::published_slip::reproduced}};
    const json object{{"schema", "turnpike.bench/1"},
                      {"bench", "pcie"},
                      {"version", version},
                      {"host", host()},
                      {"cells", rows},
                      {"summary", summary}};
    return object.dump(2) + "\n";
}

}  // namespace turnpike::pcie_tool
