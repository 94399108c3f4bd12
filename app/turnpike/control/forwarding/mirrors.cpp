// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/mirrors.hpp"

#include <nlohmann/json.hpp>

#include "control/controller.hpp"
#include "control/management/show.hpp"
#include "packet/headers.hpp"

namespace turnpike::control {
namespace {

using datapath::mirror_tables;
using datapath::stage;

datapath::mirror mirror_of(const change& c, const state::mirror& m,
                           datapath::mirror_worker_state* state) {
    datapath::mirror to;
    to.to = c.port_index_of.at(m.to);
    if (m.to_vlan) to.tag = uint32_t{packet::ether_type_vlan} << 16 | *m.to_vlan;
    to.one_in = m.sample;
    to.max_bytes = m.max_bytes.value_or(UINT32_MAX);
    to.vlan = m.vlan;
    to.state = state;
    return to;
}

/// The stages of mirrored ports. A frame with its UDP checksum left to the device would be copied without it.
void add_stages(datapath::snapshot& v, const mirror_tables& tables) {
    for (uint16_t port = 0; port < mirror_tables::ports; ++port) {
        if (!tables.in[port].empty()) v.port[port].in_front |= bit(stage::mirror_in);
        if (tables.out[port].empty()) continue;
        v.port[port].inserts_udp_sums = false;
        for (size_t i = 0; i < v.paths.size(); ++i)
            if (v.interfaces[i].kind != datapath::interface_kind::none &&
                v.interfaces[i].port == port && (v.paths[i].output & bit(stage::tx)) != 0)
                v.paths[i].output |= bit(stage::mirror_out);
    }
}

}  // namespace

class mirrors::prepared_mirrors : public prepared_change {
  public:
    prepared_mirrors(mirrors& of, const change& c) : of_(of) {
        if (c.after.mirrors.empty()) return;
        auto tables = std::make_unique<mirror_tables>();
        for (const auto& [name, m] : c.after.mirrors) {
            auto& state = states_[name];
            const auto was = of.states_.find(name);
            state = was != of.states_.end()
                        ? was->second
                        : states::mapped_type(new datapath::mirror_worker_state[max_workers()]);
            const datapath::mirror one = mirror_of(c, m, state.get());
            for (const std::string& port : m.ports) {
                const uint16_t index = c.port_index_of.at(port);
                if (m.in) tables->in[index].push_back(one);
                if (m.out) tables->out[index].push_back(one);
            }
        }
        tables_ = std::move(tables);
    }
    /// This object now owns the previous tables, and is destroyed after a grace period.
    void commit() noexcept override {
        of_.states_.swap(states_);
        of_.shown_.swap(tables_);
    }
    [[nodiscard]] const mirror_tables* tables() const noexcept { return tables_.get(); }

  private:
    mirrors& of_;
    states states_;
    std::unique_ptr<const mirror_tables> tables_;
};

result<std::unique_ptr<prepared_change>> mirrors::prepare(change& c) {
    auto ready = std::make_unique<prepared_mirrors>(*this, c);
    c.snapshot->mirrors = ready->tables();
    if (ready->tables() != nullptr) add_stages(*c.snapshot, *ready->tables());
    return ready;
}

mirrors::counts mirrors::counted(const std::string& name) const noexcept {
    counts out;
    const auto of = states_.find(name);
    if (of == states_.end()) return out;
    for (size_t w = 0; w < max_workers(); ++w) {
        const datapath::mirror_worker_state& one = of->second[w];
        out.packets += one.packets.read();
        out.bytes += one.bytes.read();
        out.lost += one.lost.read();
    }
    return out;
}

nlohmann::json show_mirrors(controller& c, const request_fields& f) {
    using nlohmann::json;
    f.expect("");
    json list = json::array();
    const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
    for (const auto& [name, m] : c.running().mirrors) {
        const mirrors::counts n = c.mirroring().counted(name);
        list.push_back({{"name", name},
                        {"ports", m.ports},
                        {"direction", m.in && m.out ? "both"
                                      : m.in        ? "in"
                                                    : "out"},
                        {"vlan", or_null(m.vlan)},
                        {"sample", m.sample},
                        {"length", or_null(m.max_bytes)},
                        {"to", m.to},
                        {"to_vlan", or_null(m.to_vlan)},
                        {"packets", n.packets},
                        {"bytes", n.bytes},
                        {"lost", n.lost}});
    }
    return {{"mirrors", std::move(list)}};
}

}  // namespace turnpike::control
