// SPDX-License-Identifier: BSD-3-Clause
// The keys of tunnels, mirrors, VRFs and static neighbours.
#include <fmt/format.h>

#include "packet/erspan.hpp"
#include "sources/fields.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using state::mirror;
using state::tunnel;
using yaml::reader;

/// A unicast address that is not link-local.
ip_address read_end(const reader& from) {
    const ip_address a = from.taken(parse_address(from.text()));
    if (!a.is_host() || a.is_link_local())
        from.refuse("is {}; should be one host's, and not link-local", a.text());
    return a;
}

/// A unicast address, or an any-source multicast group of more than link scope (RFC 5771, RFC 4607, RFC 4291
/// section 2.7).
ip_address read_remote(const reader& from) {
    const ip_address a = from.taken(parse_address(from.text()));
    if (!a.is_multicast()) return read_end(from);
    const auto refuse = [&](std::string_view what) {
        from.refuse("is the group {}{}", a.text(), what);
    };
    if (a.v6) {
        const unsigned flags = a.bytes[1] >> 4, scope = a.bytes[1] & 0xf;
        if (scope < 3 || scope == 0xf)
            refuse("; its scope should be from ff03::/16 to ff0e::/16, more than one link's");
        if (flags == 3 && load_be<uint16_t>(&a.bytes[2]) == 0)
            refuse(", one of ff3x::/32, whose groups have one source; should be any source's");
    } else if (a.v4() >> 8 == 0xe0'00'00) {
        refuse("; should be none of 224.0.0.0/24, which are one link's");
    } else if (a.v4() >> 24 == 232) {
        refuse(", one of 232.0.0.0/8, whose groups have one source; should be any source's");
    }
    return a;
}

constexpr std::string_view dscp_words[] = {"inherit"};

std::optional<uint8_t> read_dscp(const reader& from, const value_type& type) {
    if (!from.is_map() && !from.is_list() && from.text() == dscp_words[0]) return std::nullopt;
    return static_cast<uint8_t>(from.number(type.least, type.most));
}

/// IPv6 routers do not fragment, so the key exists over IPv4 only.
written_value write_dont_fragment(const tunnel& t, const value_type& type) {
    return t.local.v6 ? written_value{} : member<&tunnel::dont_fragment>::write(t, type);
}

constexpr accessor<tunnel> mtu_access() {
    constexpr uint16_t usual = 1500;
    accessor<tunnel> out = access<&tunnel::mtu>();
    out.reset = [](tunnel& t) { t.mtu = static_cast<uint16_t>(usual - t.overhead()); };
    return out;
}
constexpr accessor<tunnel> checksum_access() {
    accessor<tunnel> out = access<&tunnel::checksum>();
    out.reset = [](tunnel& t) { t.checksum = t.local.v6; };
    return out;
}
constexpr accessor<tunnel> dscp_access() {
    accessor<tunnel> out = access<member<&tunnel::dscp>, read_dscp>();
    out.write = [](const tunnel& t, const value_type&) {
        return written_value{{t.dscp ? std::to_string(*t.dscp) : std::string(dscp_words[0])}};
    };
    return out;
}
constexpr accessor<tunnel> dont_fragment_access() {
    accessor<tunnel> out = access<&tunnel::dont_fragment>();
    out.write = write_dont_fragment;
    return out;
}

constexpr field<tunnel> tunnel_rows[] = {
    {"vni", number_type(1, state::last_vni), "VXLAN network identifier", access<&tunnel::vni>(),
     is_required},
    {"local", text_type("an address of one host", any_length, "ADDRESS"),
     "Source address of tunnel packets", access<member<&tunnel::local>, read_end>(), is_required},
    {"remote", text_type("an address of one host, or a multicast group", any_length, "ADDRESS"),
     "Destination address of tunnel packets", access<member<&tunnel::remote>, read_remote>(),
     is_required},
    {"interface", text_type("the name of an interface", any_length, "INTERFACE"),
     "Interface that reaches the multicast group; required for a group",
     access<&tunnel::interface>()},
    {"vrf", text_type("the name of a VRF", any_length, "VRF"),
     "VRF of tunnel packets; without it, main", access<member<&tunnel::vrf>, read_vrf_of>()},
    {"udp_port", number_type(1, 65'535), "UDP destination port in both directions",
     access<&tunnel::udp_port>(), is_always_compared},
    {"mtu", number_type(68, 65'000, "bytes"),
     "MTU of inner packets; without it, 1450 over IPv4 and 1430 over IPv6", mtu_access(),
     is_always_compared},
    // At most 254: stage ip_forward decrements it (datapath/stages/vxlan_output.cpp).
    {"ttl", number_type(1, 254), "TTL or hop limit of tunnel packets", access<&tunnel::ttl>(),
     is_always_compared},
    {"dscp", number_or_word(0, 63, dscp_words),
     "DSCP of tunnel packets; inherit: the inner packet's", dscp_access(), is_always_compared},
    {"dont_fragment", truth_type(), "Sets DF; over IPv4 only", dont_fragment_access(),
     is_always_compared},
    {"checksum", truth_type(),
     "Sends UDP checksums, and over IPv6 requires them; default: true over IPv6", checksum_access(),
     is_always_compared},
    {"ignore_reserved", truth_type(),
     "Ignores reserved bits of the VXLAN header, as RFC 7348 says, instead of dropping",
     access<&tunnel::ignore_reserved>(), is_always_compared},
};

std::vector<std::string> read_names(const reader& from, const value_type& type) {
    std::vector<std::string> out;
    for (const reader& one : from.list(type.plural)) out.push_back(one.text());
    if (out.empty()) from.refuse("names no port");
    return out;
}

/// A null takes the access list away, as with acl.in of a port.
std::string read_list_name(const reader& from, const value_type& type) {
    return from.is_nothing() ? std::string() : read_text(from, type);
}

constexpr std::string_view direction_words[] = {"both", "in", "out"};
constexpr accessor<mirror> direction_access() {
    return {
        [](const reader& from, const value_type& type, const configuration&, mirror& into) {
            const size_t direction = from.word(type.words);
            into.in = direction != 2;
            into.out = direction != 1;
        },
        [](const mirror& m, const value_type&) {
            return written_value{{std::string(direction_words[m.in && m.out ? 0 : m.in ? 1 : 2])}};
        },
        [](mirror& m) { m.in = m.out = true; }};
}

constexpr value_type vlan_type = number_type(1, state::last_vlan);

constexpr field<mirror> mirror_rows[] = {
    {"ports", list_type("the name of a port", "ports", 0, "PORT"),
     "Ports whose frames are copied; or `bridge`", access<member<&mirror::ports>, read_names>()},
    {"bridge", text_type("the name of a bridge", any_length, "BRIDGE"),
     "Bridge whose ports' frames are copied", access<&mirror::bridge>()},
    {"direction", word_type(direction_words), "Copies received frames, sent ones, or both",
     direction_access(), is_always_compared},
    {"vlan", vlan_type, "Copies only frames with this outer VLAN ID", access<&mirror::vlan>()},
    {"list", text_type("the name of an access list", any_length, "LIST"),
     "Copies only frames that this access list permits",
     access<member<&mirror::list>, read_list_name>()},
    {"sample", number_type(1, 1'000'000'000), "Copies one frame of so many",
     access<&mirror::sample>(), is_always_compared},
    {"length", number_type(64, 65'535, "bytes"), "Cuts copies to this length",
     access<&mirror::max_bytes>()},
    {"to", text_type("the name of a port", any_length, "PORT"),
     "Port that sends the copies; or `remote`", access<&mirror::to>()},
    {"to_vlan", vlan_type, "VLAN ID of a tag in front of each copy (RSPAN)",
     access<&mirror::to_vlan>()},
    {"remote", text_type("an address of one host", any_length, "ADDRESS"),
     "Address that gets the copies in GRE (ERSPAN) or, with `vni`, in VXLAN",
     access<member<&mirror::remote>, read_end>()},
    {"local", text_type("an address of one host", any_length, "ADDRESS"),
     "With remote: source address of these packets, one of the router's own",
     access<member<&mirror::local>, read_end>()},
    {"vrf", text_type("the name of a VRF", any_length, "VRF"),
     "With remote: VRF of these packets; without it, main",
     access<member<&mirror::vrf>, read_vrf_of>()},
    {"session", number_type(0, packet::max_erspan_session), "With remote: ERSPAN session ID",
     access<&mirror::session>()},
    {"erspan_type", number_type(2, 3), "With remote: type of the ERSPAN header; 3 has a timestamp",
     access<&mirror::erspan_type>()},
    {"vni", number_type(1, state::last_vni),
     "With remote: copies are in VXLAN with this network identifier", access<&mirror::vni>()},
    {"udp_port", number_type(1, 65'535), "With vni: UDP destination port",
     access<&mirror::udp_port>()},
};

uint32_t read_table(const reader& from, const value_type& type) {
    const auto table = static_cast<uint32_t>(from.number(type.least, type.most));
    if (table >= 253 && table <= 255)
        from.refuse("is {}; 253 to 255 are Linux's own tables", table);
    return table;
}

constexpr field<state::vrf> vrf_rows[] = {
    {"table", number_type(1, UINT32_MAX),
     "Number of the VRF's table in the kernel, without 253 to 255; without it, the first free one",
     access<member<&state::vrf::table>, read_table>(), is_always_compared},
};

mac_address read_neighbour_mac(const reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group())
        from.refuse("is " + mac.text() + ", a group's MAC address; no neighbour has it");
    return mac;
}

constexpr field<state::neighbour> neighbour_rows[] = {
    {"mac", text_type("a unicast MAC address", any_length, "MAC"), "MAC address of the neighbour",
     access<member<&state::neighbour::mac>, read_neighbour_mac>(), is_required},
};

}  // namespace

std::span<const field<tunnel>> tunnel_fields() noexcept { return tunnel_rows; }
std::span<const field<mirror>> mirror_fields() noexcept { return mirror_rows; }
std::span<const field<state::vrf>> vrf_fields() noexcept { return vrf_rows; }
std::span<const field<state::neighbour>> neighbour_fields() noexcept { return neighbour_rows; }

}  // namespace turnpike::sources
