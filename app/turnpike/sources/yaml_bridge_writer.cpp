// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_bridge_writer.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sources/yaml_acl_writer.hpp"
#include "sources/yaml_bridges.hpp"

namespace turnpike::sources {
namespace {

using state::bridge_member;
using state::vlan_mode;

class bridge_writer {
  public:
    explicit bridge_writer(std::string& to) : out_(to) {}

    void add_all(const std::string& name, const state::bridge& b) {
        add("  - name: {}\n    ageing_s: {}\n    max_addresses: {}\n", quoted(name), b.ageing_s,
            b.max_addresses);
        if (b.mac) add("    mac: {}\n", quoted(b.mac->text()));
        const auto choice = [](state::reserved_frames f) {
            return state::reserved_frames_names[static_cast<size_t>(f)];
        };
        add("    reserved: {{stp: {}, lacp: {}, lldp: {}, other: {}}}\n", choice(b.reserved.stp),
            choice(b.reserved.lacp), choice(b.reserved.lldp), choice(b.reserved.other));
        add("    damping: {{moves: {}, within_s: {}, hold_s: {}}}\n", b.damping.moves,
            b.damping.within_s, b.damping.hold_s);
        add("    members:\n");
        for (const bridge_member& m : b.members) add_member(m);
        if (b.fixed.empty()) return;
        add("    fdb:\n");
        for (const auto& [fdb_entry, port] : b.fixed) {
            add("      - {{mac: {}, ", quoted(fdb_entry.mac.text()));
            if (fdb_entry.vlan != 0) add("vlan: {}, ", fdb_entry.vlan);
            add("port: {}}}\n", quoted(port));
        }
    }

  private:
    template <class... T>
    void add(fmt::format_string<T...> text, T&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
    }

    void add_member(const bridge_member& m) {
        add("      - port: {}\n", quoted(m.port));
        if (m.mode != vlan_mode::unaware)
            add("        mode: {}\n", state::vlan_mode_names[static_cast<size_t>(m.mode)]);
        if (m.vlan != 0) add("        vlan: {}\n", m.vlan);
        if (m.vlans.any()) add("        trunks: [{}]\n", vlans_text(m.vlans));
        if (m.service_tags) add("        ethertype: 802.1ad\n");
        if (!m.translate.empty()) {
            add("        translate:\n");
            for (const auto& [wire, vlan] : m.translate)
                add("          - {{wire: {}, vlan: {}}}\n", wire, vlan);
        }
        if (!m.learning) add("        learning: false\n");
        if (!m.flood_unknown) add("        flood_unknown: false\n");
        if (m.neigh_suppress) add("        neigh_suppress: true\n");
        if (m.locked) add("        locked: true\n");
        if (m.isolation != 0) add("        isolation: {}\n", m.isolation);
        if (m.max_addresses != 0) add("        max_addresses: {}\n", m.max_addresses);
        std::string storm;
        for (const auto& [key, rate] : {std::pair{"broadcast", m.storm.broadcast},
                                        {"multicast", m.storm.multicast},
                                        {"unknown", m.storm.unknown}})
            if (rate != 0) storm += fmt::format("{}{}: {}", storm.empty() ? "" : ", ", key, rate);
        if (!storm.empty()) add("        storm: {{{}}}\n", storm);
    }

    std::string& out_;
};

}  // namespace

void add_bridge(std::string& to, const std::string& name, const state::bridge& b) {
    bridge_writer(to).add_all(name, b);
}

}  // namespace turnpike::sources
