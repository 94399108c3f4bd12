// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sources/fields.hpp"
#include "sources/settings.hpp"
#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using state::interface_kind;

class writer {
  public:
    writer(const configuration& d, written_fields which) : d_(d), which_(which) {}

    std::string text() && {
        settings();
        lists();
        objects("vrfs", d_.vrfs, vrf_fields());
        objects("ports", d_.ports, port_fields());
        vlan_interfaces();
        objects("tunnels", d_.tunnels, tunnel_fields());
        objects("mirrors", d_.mirrors, mirror_fields());
        patches();
        objects("bridges", d_.bridges, bridge_fields());
        routes();
        return std::move(out_);
    }

  private:
    template <class... T>
    void add(fmt::format_string<T...> text, T&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
    }

    /// The settings of the map `neighbours` come last.
    void settings() {
        write_fields(out_, "", process_fields(), of_process, d_, which_);
        write_fields(out_, "", settings_fields(), of_settings, d_, which_,
                     d_.neighbours.empty() ? "" : "neighbours");
        if (d_.neighbours.empty()) return;
        add("  static:\n");
        for (const auto& [name, n] : d_.neighbours) {
            add("    - address: {}\n      port: {}\n", quoted(name.address.text()),
                quoted(name.interface));
            write_fields(out_, "      ", neighbour_fields(), of_neighbour, n, which_);
        }
    }

    void lists() {
        if (!d_.acls.empty()) add("acl:\n");
        for (const auto& [name, list] : d_.acls) add_list(out_, *list, which_);
    }

    template <class Object>
    void objects(std::string_view key, const state::named<Object>& all,
                 std::span<const field<Object>> table) {
        if (!all.empty()) add("{}:\n", key);
        for (const auto& [name, one] : all) {
            add("  - name: {}\n", quoted(name));
            write_fields(out_, "    ", table, kind_of_map<Object>, one, which_);
            if constexpr (std::is_same_v<Object, state::port> ||
                          std::is_same_v<Object, state::tunnel>)
                routing(d_.interfaces.at(name), "    ");
            if constexpr (std::is_same_v<Object, state::bridge>) {
                members(one);
                routed_interfaces(name);
            }
        }
    }
    void routing(const state::interface& i, std::string_view indent) {
        write_fields(out_, indent, interface_fields(), kind_of(i, d_), i, which_);
    }

    void vlan_interfaces() {
        bool first = true;
        for (const auto& [name, i] : d_.interfaces) {
            if (i.port.empty() || i.vlan == 0) continue;
            if (std::exchange(first, false)) add("interfaces:\n");
            add("  - port: {}\n    vlan: {}\n", quoted(i.port), i.vlan);
            routing(i, "    ");
        }
    }

    /// The routed interfaces of a bridge.
    void routed_interfaces(const std::string& bridge) {
        bool first = true;
        for (const auto& [interface, i] : d_.interfaces) {
            if (!i.port.empty() || i.bridge != bridge) continue;
            if (i.vlan == 0) {
                routing(i, "    ");
                continue;
            }
            if (std::exchange(first, false)) add("    interfaces:\n");
            add("      - vlan: {}\n", i.vlan);
            routing(i, "        ");
        }
    }

    void members(const state::bridge& b) {
        add("    members:\n");
        for (const state::bridge_member& m : b.members) {
            add("      - port: {}\n", quoted(m.port));
            write_fields(out_, "        ", member_fields(), of_member, m, which_);
        }
        if (!b.fixed.empty()) add("    fdb:\n");
        for (const auto& [fdb_entry, port] : b.fixed) {
            add("      - {{mac: {}, ", quoted(fdb_entry.mac.text()));
            if (fdb_entry.vlan != 0) add("vlan: {}, ", fdb_entry.vlan);
            add("port: {}}}\n", quoted(port));
        }
    }

    void patches() {
        bool first = true;
        for (const auto& [name, i] : d_.interfaces) {
            // Write each patch once, at its first port.
            if (i.kind != interface_kind::patched || position(name) > position(i.peer)) continue;
            if (std::exchange(first, false)) add("xconnects:\n");
            add("  - [{}, {}]\n", quoted(name), quoted(i.peer));
        }
    }
    [[nodiscard]] size_t position(const std::string& name) const {
        return static_cast<size_t>(std::find_if(d_.interfaces.begin(), d_.interfaces.end(),
                                                [&](const auto& i) { return i.first == name; }) -
                                   d_.interfaces.begin());
    }

    /// The part of a line after the prefix.
    static std::string leads_to(const state::route_target& t) {
        std::string out;
        for (const state::route_member& m : t.members) {
            if (t.members.size() > 1) out += " nexthop";
            if (m.via) fmt::format_to(std::back_inserter(out), " via {}", m.via->text());
            if (!t.recursive) fmt::format_to(std::back_inserter(out), " dev {}", m.interface);
            if (m.weight != 1) fmt::format_to(std::back_inserter(out), " weight {}", m.weight);
            if (m.onlink) out += " onlink";
        }
        if (t.recursive) out += " recursive";
        if (t.mtu != 0) fmt::format_to(std::back_inserter(out), " mtu {}", t.mtu);
        return out + '\n';
    }

    void routes() {
        bool first = true;
        routes_of({}, d_.routes, first);
        for (const auto& [name, v] : d_.vrfs) routes_of(name, v.routes, first);
    }
    void routes_of(const std::string& vrf, const state::route_set& all, bool& first) {
        if (all.empty()) return;
        std::vector<std::string> leads;  // by target: formatted once, not per route
        for (const state::route_target& t : all.targets()) leads.push_back(leads_to(t));
        if (std::exchange(first, false)) add("routes:\n");
        if (vrf.empty())
            add("  - lines: |\n");
        else  // first: compare shows it above a changed line
            add("  - vrf: {}\n    lines: |\n", quoted(vrf));
        for (const state::route& r : all) {
            const state::route_type type = all.targets()[r.target].type;
            add("      ");
            if (type != state::route_type::unicast)
                add("{} ", state::route_type_names[static_cast<size_t>(type)]);
            add("{}{}", r.to.text(), leads[r.target]);
        }
    }

    const configuration& d_;
    const written_fields which_;
    std::string out_;
};

}  // namespace

std::string to_yaml(const configuration& d, written_fields which) {
    return writer(d, which).text();
}

}  // namespace turnpike::sources
