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
        from.refuse(fmt::format("is {}; should be one host's, and not link-local", a.text()));
    return a;
}

/// A unicast address, or an any-source multicast group of more than link scope (RFC 5771, RFC 4607, RFC 4291
/// section 2.7).
ip_address read_remote(const reader& from) {
    const ip_address a = from.taken(parse_address(from.text()));
    if (!a.is_multicast()) return read_end(from);
    const auto refuse = [&](std::string_view what) {
        from.refuse(fmt::format("is the group {}{}", a.text(), what));
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
    accessor<tunnel> out = access<member<&tunnel::mtu>>();
    out.reset = [](tunnel& t) { t.mtu = static_cast<uint16_t>(usual - t.overhead()); };
    return out;
}
constexpr accessor<tunnel> checksum_access() {
    accessor<tunnel> out = access<member<&tunnel::checksum>>();
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
    accessor<tunnel> out = access<member<&tunnel::dont_fragment>>();
    out.write = write_dont_fragment;
    return out;
}

constexpr field<tunnel> tunnel_rows[] = {
    {{.key = "vni",
      .type = number_type(1, state::last_vni),
      .meaning = "VXLAN network identifier",
      .kinds = of_tunnel,
      .required = true,
      .always_written = true},
     access<member<&tunnel::vni>>()},
    {{.key = "local",
      .type = text_type("an address of one host", any_length, "ADDRESS"),
      .meaning = "Source address of tunnel packets",
      .kinds = of_tunnel,
      .required = true,
      .always_written = true},
     access<member<&tunnel::local>, read_end>()},
    {{.key = "remote",
      .type = text_type("an address of one host, or a multicast group", any_length, "ADDRESS"),
      .meaning = "Destination address of tunnel packets",
      .kinds = of_tunnel,
      .required = true,
      .always_written = true},
     access<member<&tunnel::remote>, read_remote>()},
    {{.key = "interface",
      .type = text_type("the name of an interface", any_length, "INTERFACE"),
      .meaning = "Interface that reaches the multicast group; required for a group",
      .kinds = of_tunnel},
     access<member<&tunnel::interface>>()},
    {{.key = "vrf",
      .type = text_type("the name of a VRF", any_length, "VRF"),
      .meaning = "VRF of tunnel packets; without it, main",
      .kinds = of_tunnel},
     access<member<&tunnel::vrf>, read_vrf_of>()},
    {{.key = "udp_port",
      .type = number_type(1, 65'535),
      .meaning = "UDP destination port in both directions",
      .kinds = of_tunnel,
      .always_written = true},
     access<member<&tunnel::udp_port>>()},
    {{.key = "mtu",
      .type = number_type(68, 65'000, "bytes"),
      .meaning = "MTU of inner packets; without it, 1450 over IPv4 and 1430 over IPv6",
      .kinds = of_tunnel,
      .always_written = true},
     mtu_access()},
    // At most 254: stage ip_forward decrements it (datapath/stages/vxlan_output.cpp).
    {{.key = "ttl",
      .type = number_type(1, 254),
      .meaning = "TTL or hop limit of tunnel packets",
      .kinds = of_tunnel,
      .always_written = true},
     access<member<&tunnel::ttl>>()},
    {{.key = "dscp",
      .type = number_or_word(0, 63, dscp_words),
      .meaning = "DSCP of tunnel packets; inherit: the inner packet's",
      .kinds = of_tunnel,
      .always_written = true},
     dscp_access()},
    {{.key = "dont_fragment",
      .type = truth_type(),
      .meaning = "Sets DF; over IPv4 only",
      .kinds = of_tunnel,
      .always_written = true},
     dont_fragment_access()},
    {{.key = "checksum",
      .type = truth_type(),
      .meaning = "Sends UDP checksums, and over IPv6 requires them; default: true over IPv6",
      .kinds = of_tunnel,
      .always_written = true},
     checksum_access()},
    {{.key = "ignore_reserved",
      .type = truth_type(),
      .meaning = "Ignores reserved bits of the VXLAN header, as RFC 7348 says, instead of dropping",
      .kinds = of_tunnel,
      .always_written = true},
     access<member<&tunnel::ignore_reserved>>()},
};

std::vector<std::string> read_names(const reader& from, const value_type& type) {
    std::vector<std::string> out;
    for (const reader& one : from.list(type.plural)) out.push_back(one.text());
    if (out.empty()) from.refuse("names no port");
    return out;
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

template <std::optional<ip_address> mirror::*Address>
constexpr accessor<mirror> mirror_address() {
    return {[](const reader& from, const value_type&, const configuration&, mirror& into) {
                into.*Address = read_end(from);
            },
            [](const mirror& m, const value_type&) {
                return m.*Address ? write_value(*(m.*Address)) : written_value{};
            },
            [](mirror& m) { (m.*Address).reset(); }};
}

constexpr value_type vlan_type = number_type(1, state::last_vlan);

constexpr field<mirror> mirror_rows[] = {
    {{.key = "ports",
      .type = list_type("the name of a port", "ports", 0, "PORT"),
      .meaning = "Ports whose frames are copied; or `bridge`",
      .kinds = of_mirror},
     access<member<&mirror::ports>, read_names>()},
    {{.key = "bridge",
      .type = text_type("the name of a bridge", any_length, "BRIDGE"),
      .meaning = "Bridge whose ports' frames are copied",
      .kinds = of_mirror},
     access<member<&mirror::bridge>>()},
    {{.key = "direction",
      .type = word_type(direction_words),
      .meaning = "Copies received frames, sent ones, or both",
      .kinds = of_mirror,
      .always_written = true},
     direction_access()},
    {{.key = "vlan",
      .type = vlan_type,
      .meaning = "Copies only frames with this outer VLAN ID",
      .kinds = of_mirror},
     access<member<&mirror::vlan>>()},
    {{.key = "list",
      .type = text_type("the name of an access list", any_length, "LIST"),
      .meaning = "Copies only frames that this access list permits",
      .kinds = of_mirror},
     access<member<&mirror::list>>()},
    {{.key = "sample",
      .type = number_type(1, 1'000'000'000),
      .meaning = "Copies one frame of so many",
      .kinds = of_mirror,
      .always_written = true},
     access<member<&mirror::sample>>()},
    {{.key = "length",
      .type = number_type(64, 65'535, "bytes"),
      .meaning = "Cuts copies to this length",
      .kinds = of_mirror},
     access<member<&mirror::max_bytes>>()},
    {{.key = "to",
      .type = text_type("the name of a port", any_length, "PORT"),
      .meaning = "Port that sends the copies; or `remote`",
      .kinds = of_mirror},
     access<member<&mirror::to>>()},
    {{.key = "to_vlan",
      .type = vlan_type,
      .meaning = "VLAN ID of a tag in front of each copy (RSPAN)",
      .kinds = of_mirror},
     access<member<&mirror::to_vlan>>()},
    {{.key = "remote",
      .type = text_type("an address of one host", any_length, "ADDRESS"),
      .meaning = "Address that gets the copies in GRE (ERSPAN) or, with `vni`, in VXLAN",
      .kinds = of_mirror},
     mirror_address<&mirror::remote>()},
    {{.key = "local",
      .type = text_type("an address of one host", any_length, "ADDRESS"),
      .meaning = "With remote: source address of these packets, one of the router's own",
      .kinds = of_mirror},
     mirror_address<&mirror::local>()},
    {{.key = "vrf",
      .type = text_type("the name of a VRF", any_length, "VRF"),
      .meaning = "With remote: VRF of these packets; without it, main",
      .kinds = of_mirror},
     access<member<&mirror::vrf>, read_vrf_of>()},
    {{.key = "session",
      .type = number_type(0, packet::max_erspan_session),
      .meaning = "With remote: ERSPAN session ID",
      .kinds = of_mirror},
     access<member<&mirror::session>>()},
    {{.key = "erspan_type",
      .type = number_type(2, 3),
      .meaning = "With remote: type of the ERSPAN header; 3 has a timestamp",
      .kinds = of_mirror},
     access<member<&mirror::erspan_type>>()},
    {{.key = "vni",
      .type = number_type(1, state::last_vni),
      .meaning = "With remote: copies are in VXLAN with this network identifier",
      .kinds = of_mirror},
     access<member<&mirror::vni>>()},
    {{.key = "udp_port",
      .type = number_type(1, 65'535),
      .meaning = "With vni: UDP destination port",
      .kinds = of_mirror},
     access<member<&mirror::udp_port>>()},
};

uint32_t read_table(const reader& from, const value_type& type) {
    const auto table = static_cast<uint32_t>(from.number(type.least, type.most));
    if (table >= 253 && table <= 255)
        from.refuse(fmt::format("is {}; 253 to 255 are Linux's own tables", table));
    return table;
}

constexpr field<state::vrf> vrf_rows[] = {
    {{.key = "table",
      .type = number_type(1, UINT32_MAX),
      .meaning =
          "Number of the VRF's table in the kernel, without 253 to 255; without it, the first "
          "free one",
      .kinds = of_vrf,
      .always_written = true},
     access<member<&state::vrf::table>, read_table>()},
};

mac_address read_neighbour_mac(const reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group())
        from.refuse("is " + mac.text() + ", a group's MAC address; no neighbour has it");
    return mac;
}

constexpr accessor<state::neighbour> mac_access() {
    return {[](const reader& from, const value_type&, const configuration&,
               state::neighbour& into) { into.mac = read_neighbour_mac(from); },
            [](const state::neighbour& n, const value_type&) {
                return written_value{{quoted(n.mac.text())}};
            },
            [](state::neighbour& n) { n.mac = {}; }};
}

constexpr field<state::neighbour> neighbour_rows[] = {
    {{.key = "mac",
      .type = text_type("a unicast MAC address", any_length, "MAC"),
      .meaning = "MAC address of the neighbour",
      .kinds = of_neighbour,
      .required = true,
      .always_written = true},
     mac_access()},
};

}  // namespace

std::span<const field<tunnel>> tunnel_fields() noexcept { return tunnel_rows; }
std::span<const field<mirror>> mirror_fields() noexcept { return mirror_rows; }
std::span<const field<state::vrf>> vrf_fields() noexcept { return vrf_rows; }
std::span<const field<state::neighbour>> neighbour_fields() noexcept { return neighbour_rows; }

}  // namespace turnpike::sources
