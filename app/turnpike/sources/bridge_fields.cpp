// SPDX-License-Identifier: BSD-3-Clause
// The keys of bridges and of their members.
#include <fmt/format.h>

#include <charconv>

#include "sources/fields.hpp"

namespace turnpike::sources {
namespace {

using state::bridge;
using state::bridge_member;
using state::configuration;
using state::last_vlan;
using state::move_damping;
using state::reserved_groups;
using state::storm_rates;
using yaml::reader;

/// "10" or "20-29".
std::pair<uint16_t, uint16_t> read_range(const reader& from) {
    const std::string text = from.text();
    const char *at = text.data(), *const end = at + text.size();
    uint16_t first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-')
        read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{} || read.ptr != end || first < 1 || first > last || last > last_vlan)
        from.refuse("is '{}'; should be a VLAN from 1 to {}, or a range like 20-29",
                    text.substr(0, 40), last_vlan);
    return {first, last};
}

state::vlan_set read_vlans(const reader& from, const value_type& type) {
    state::vlan_set out;
    for (const reader& one : from.list(type.plural)) {
        const auto [first, last] = read_range(one);
        for (uint16_t v = first; v <= last; ++v) out.set(v);
    }
    if (out.none()) from.refuse("is empty; without the key, all VLANs");
    return out;
}

/// {wire: 100, vlan: 10}, or "100:10".
std::pair<uint16_t, uint16_t> read_translation(const reader& from) {
    if (from.is_map()) {
        from.expect_map({"wire", "vlan"});
        return {read_vlan(from.at("wire")), read_vlan(from.at("vlan"))};
    }
    const std::string text = from.text();
    uint16_t wire = 0, vlan = 0;
    const char* const end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, wire);
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == ':')
        read = std::from_chars(read.ptr + 1, end, vlan);
    if (read.ec != std::errc{} || read.ptr != end || wire < 1 || wire > last_vlan || vlan < 1 ||
        vlan > last_vlan)
        from.refuse(
            "should be {{wire: VLAN, vlan: VLAN}}, or as 110:10, with VLANs from 1 to {}, not '{}'",
            last_vlan, text.substr(0, 40));
    return {wire, vlan};
}

/// Both sides are unique, so that the mapping is reversible.
std::map<uint16_t, uint16_t> read_translations(const reader& from, const value_type& type) {
    std::map<uint16_t, uint16_t> out;
    state::vlan_set inside;
    for (const reader& one : from.list(type.plural)) {
        const auto [wire, vlan] = read_translation(one);
        if (!out.emplace(wire, vlan).second || inside.test(vlan))
            one.refuse("is a second translation of one VLAN");
        inside.set(vlan);
    }
    return out;
}

constexpr value_type pairs_of_vlans =
    list_type("{wire, vlan}: VLAN IDs on the wire and in the bridge, or as 110:10",
              "pairs of wire and vlan", 0, "PAIRS");
constexpr std::string_view ethertype_words[] = {"802.1q", "802.1ad"};
constexpr value_type storm_type = number_type(1, 1'000'000'000, "packets per second");
constexpr value_type reserved_type = word_type(state::reserved_frames_names);

constexpr field<bridge_member> member_rows[] = {
    {"mode", word_type(state::vlan_mode_names),
     "VLAN mode; unaware: VLAN-transparent, as all other members of the bridge: doc/bridge.md",
     access<&bridge_member::mode>()},
    {"vlan", number_type(1, last_vlan), "VLAN ID of untagged frames; required but in mode trunk",
     access<&bridge_member::vlan>()},
    {"trunks", list_type("a VLAN ID, or a range as 20-29", "VLANs", 0, "VLANS"),
     "VLAN IDs of tagged frames; without it, all",
     access<member<&bridge_member::vlans>, read_vlans>()},
    {"ethertype", word_type(ethertype_words), "Type of the tags; 802.1ad: service tags",
     access<&bridge_member::service_tags>()},
    {"translate", pairs_of_vlans, "VLAN translation",
     access<member<&bridge_member::translate>, read_translations>()},
    {"learning", truth_type(), "Learns MAC addresses", access<&bridge_member::learning>()},
    {"flood_unknown", truth_type(), "Floods frames to unknown MAC addresses to it",
     access<&bridge_member::flood_unknown>()},
    {"neigh_suppress", truth_type(), "ARP and ND suppression (RFC 9161); of a tunnel: doc/vxlan.md",
     access<&bridge_member::neigh_suppress>()},
    {"locked", truth_type(), "Drops frames whose source is not in the FDB",
     access<&bridge_member::locked>()},
    {"isolation", number_type(1, state::max_isolation),
     "Isolation group: members of one group do not reach each other",
     access<&bridge_member::isolation>()},
    {"max_addresses", number_type(1, 1u << 20),
     "Maximum number of MAC addresses learnt on it; without it, the bridge's",
     access<&bridge_member::max_addresses>()},
    {"storm.broadcast", storm_type,
     "Storm control: maximum rate of broadcast frames; without it, none",
     access<&bridge_member::storm, &storm_rates::broadcast>()},
    {"storm.multicast", storm_type, "Maximum rate of multicast frames",
     access<&bridge_member::storm, &storm_rates::multicast>()},
    {"storm.unknown", storm_type, "Maximum rate of frames to unknown MAC addresses",
     access<&bridge_member::storm, &storm_rates::unknown>()},
};

constexpr field<bridge> bridge_rows[] = {
    {"ageing_s", number_type(10, 1'000'000, "s"), "Lifetime of an unused learnt FDB entry",
     access<&bridge::ageing_s>(), is_always_compared},
    {"max_addresses", number_type(1, 1'000'000), "Maximum number of learnt FDB entries",
     access<&bridge::max_addresses>(), is_always_compared},
    {"mac", text_type("a unicast MAC address", any_length, "MAC"),
     "MAC address of its routed interfaces; without it, the first port's",
     access<member<&bridge::mac>, read_station_mac>()},
    {"reserved.stp", reserved_type, "Frames to 01-80-c2-00-00-00",
     access<&bridge::reserved, &reserved_groups::stp>(), is_always_compared},
    {"reserved.lacp", reserved_type, "Frames to 01-80-c2-00-00-02",
     access<&bridge::reserved, &reserved_groups::lacp>(), is_always_compared},
    {"reserved.lldp", reserved_type, "Frames to 01-80-c2-00-00-0e",
     access<&bridge::reserved, &reserved_groups::lldp>(), is_always_compared},
    {"reserved.other", reserved_type, "Frames to the other addresses up to 01-80-c2-00-00-0f",
     access<&bridge::reserved, &reserved_groups::other>(), is_always_compared},
    {"damping.moves", number_type(0, move_damping::max_moves),
     "Moves of a MAC address, within within_s, before it stays on its port; 0: no limit",
     access<&bridge::damping, &move_damping::moves>(), is_always_compared},
    {"damping.within_s", number_type(1, 3600, "s"), "Time in which moves are counted",
     access<&bridge::damping, &move_damping::within_s>(), is_always_compared},
    {"damping.hold_s", number_type(1, 86'400, "s"),
     "Time that a moving MAC address stays on its port",
     access<&bridge::damping, &move_damping::hold_s>(), is_always_compared},
};

}  // namespace

uint16_t read_vlan(const reader& from) { return static_cast<uint16_t>(from.number(1, last_vlan)); }

std::span<const field<bridge>> bridge_fields() noexcept { return bridge_rows; }
std::span<const field<bridge_member>> member_fields() noexcept { return member_rows; }

}  // namespace turnpike::sources
