// SPDX-License-Identifier: BSD-3-Clause
#include "sources/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "sources/settings.hpp"
#include "sources/yaml_acl.hpp"
#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using state::interface;
using state::port;
using yaml::reader;

/// Canonical spelling of a device: "0000:3b:00.0" for "3b:00.0" and "3B:0.0", with its arguments.
std::string read_device(const reader& from, const value_type& type) {
    const std::string device = read_text(from, type);
    const std::string name = device.substr(0, device.find(','));
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    int used = 0;
    const auto whole = [&](int fields, int wanted) {
        return fields == wanted && static_cast<size_t>(used) == name.size();
    };
    if (!whole(std::sscanf(name.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &used),
               4)) {
        domain = 0;
        if (!whole(std::sscanf(name.c_str(), "%x:%x.%x%n", &bus, &slot, &function, &used), 3))
            return device;
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}{}", domain, bus, slot, function,
                       device.substr(name.size()));
}

std::string read_line(const reader& from, const value_type& type) {
    std::string line = read_text(from, type);
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
    if (std::any_of(line.begin(), line.end(), is_control))
        from.refuse("should be one line of text without control characters");
    return line;
}

std::vector<unsigned> read_lcores(const reader& from, const value_type& type) {
    std::vector<unsigned> out;
    for (const reader& lcore : from.list(type.plural))
        out.push_back(static_cast<unsigned>(lcore.number(type.least, type.max_element)));
    return out;
}

std::vector<mac_address> read_macs(const reader& from, const value_type& type) {
    std::vector<mac_address> out;
    for (const reader& one : from.list(type.plural)) {
        const mac_address mac = read_station_mac(one);
        if (std::find(out.begin(), out.end(), mac) != out.end())
            one.refuse("is " + mac.text() + " again");
        out.push_back(mac);
    }
    if (out.size() > type.most)
        from.refuse(fmt::format("has {} MAC addresses; the maximum is {}", out.size(), type.most));
    return out;
}

std::vector<state::host_pass> read_passes(const reader& from, const value_type& type) {
    std::vector<state::host_pass> out;
    for (const reader& one : from.list(type.plural)) {
        const auto read = state::parse_host_pass(one.text());
        if (!read) one.refuse(read.error().text);
        if (std::find(out.begin(), out.end(), *read) != out.end())
            one.refuse("is " + read->text() + " again");
        out.push_back(*read);
    }
    if (out.size() > type.most)
        from.refuse(
            fmt::format("has {} {}; the maximum is {}", out.size(), type.plural, type.most));
    return out;
}

constexpr std::string_view checksum_words[] = {"software", "device"};

// A router is master of few VRRP groups; each address in a burst costs a comparison pass.
constexpr uint64_t max_macs = 16;
constexpr uint64_t max_passes = 32;

constexpr value_type acl_type = text_type("the name of an ACL", any_length, "LIST");

constexpr value_type description_type = text_type("a line of text", 255);

constexpr field<port> port_rows[] = {
    {{.key = "device",
      .type = text_type("a PCI address, or an EAL vdev with its arguments", 512, "DEVICE"),
      .meaning = "The device",
      .on_change = effect::reopens,
      .required = true,
      .always_written = true},
     access<member<&port::device>, read_device>()},
    {{.key = "description", .type = description_type, .meaning = "Description for operators"},
     access<member<&port::description>, read_line>()},
    {{.key = "shutdown",
      .type = truth_type(),
      .meaning = "Takes the port out of service: it has no link, and receives and sends nothing"},
     access<member<&port::shutdown>>()},
    {{.key = "mtu",
      .type = number_type(68, 65535 - 18, "bytes"),
      .meaning = "MTU: the Ethernet payload",
      .always_written = true},
     access<member<&port::mtu>>()},
    {{.key = "rx_queues",
      .type = number_type(1, 1024),
      .meaning = "Receive queues; more than one needs RSS",
      .on_change = effect::reopens,
      .always_written = true},
     access<member<&port::rx_queues>>()},
    {{.key = "descriptors",
      .type = number_type(32, 32768),
      .meaning = "Descriptors of each receive and each transmit queue",
      .on_change = effect::reopens,
      .always_written = true},
     access<member<&port::descriptors>>()},
    {{.key = "udp_checksums",
      .type = word_type(checksum_words),
      .meaning = "Where UDP checksums of tunnel packets are computed; the device if it can: "
                 "doc/vxlan.md",
      .on_change = effect::reopens},
     access<member<&port::device_sums_udp>>()},
    {{.key = "timestamps",
      .type = truth_type(),
      .meaning = "The device stamps received packets, for captures: doc/capture.md",
      .on_change = effect::reopens},
     access<member<&port::timestamps>>()},
    {{.key = "rx_workers",
      .type = number_list_type("an lcore", "lcores", 0, state::max_lcore, 0),
      .meaning = "Workers that poll the receive queues in turn; without it, the workers with the "
                 "fewest queues, on the port's NUMA node"},
     access<member<&port::rx_workers>, read_lcores>()},
    {{.key = "pcie.profile",
      .type = text_type("the name of a NIC profile", any_length),
      .meaning = "NIC profile of the PCIe model; without it, the driver's: doc/pcie.md"},
     access<member<&port::bill, &state::pcie::profile>>()},
    {{.key = "pcie.link",
      .type = text_type("generation and lanes, as gen3x8", any_length),
      .meaning = "PCIe link of the model; without it, the detected one"},
     access<member<&port::bill, &state::pcie::link>>()},
    {{.key = "pcie.mps",
      .type = number_type(128, 4096, "bytes"),
      .meaning = "Maximum payload size; without it, the detected one, or the link's default"},
     access<member<&port::bill, &state::pcie::mps>>()},
    {{.key = "pcie.mrrs",
      .type = number_type(128, 4096, "bytes"),
      .meaning = "Maximum read request size; without it, the detected one, or the link's default"},
     access<member<&port::bill, &state::pcie::mrrs>>()},
};

constexpr field<interface> interface_rows[] = {
    {{.key = "description",
      .type = description_type,
      .meaning = "Description for operators",
      .kinds = of_vlan | of_bridge},
     access<member<&interface::description>, read_line>()},
    {{.key = "addresses",
      .type = list_type("an address with its prefix length", "addresses", 0, "CIDRS"),
      .meaning = "Addresses of a routed interface",
      .kinds = of_routed},
     access<member<&interface::addresses>, read_addresses>()},
    {{.key = "vrf",
      .type = text_type("the name of a VRF", any_length, "VRF"),
      .meaning = "VRF; without it, main: doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::vrf>, read_vrf_of>()},
    {{.key = "host_interface",
      .type = truth_type(),
      .meaning = "Mirrors the interface to the kernel: doc/control-plane.md",
      .kinds = of_routed},
     access<member<&interface::host_interface>>()},
    {{.key = "host_pass",
      .type = list_type("a multicast address, a group MAC address or an EtherType as 0x88f7",
                        "multicast addresses, MAC addresses and EtherTypes", max_passes),
      .meaning = "Passes more frames to the kernel; needs host_interface: doc/control-plane.md",
      .kinds = of_routed},
     access<member<&interface::passes>, read_passes>()},
    {{.key = "urpf",
      .type = word_type(state::reverse_path_names),
      .meaning = "Reverse path check of source addresses: doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::urpf>>()},
    {{.key = "send_redirects",
      .type = truth_type(),
      .meaning = "Sends ICMP redirects: doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::send_redirects>>()},
    {{.key = "accept_source_route",
      .type = truth_type(),
      .meaning = "Forwards IPv4 packets with source route options: doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::accept_source_route>>()},
    {{.key = "router_alert",
      .type = truth_type(),
      .meaning = "Punts packets with the Router Alert option to the kernel; needs host_interface: "
                 "doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::router_alert>>()},
    {{.key = "accept_ra",
      .type = truth_type(),
      .meaning = "Follows the addresses and routes of router advertisements; needs host_interface: "
                 "doc/control-plane.md",
      .kinds = of_routed},
     access<member<&interface::accept_ra>>()},
    {{.key = "extra_macs",
      .type = list_type("a unicast MAC address", "MAC addresses", max_macs, "MAC"),
      .meaning = "Additional MAC addresses, as of VRRP: doc/routing.md",
      .kinds = of_routed},
     access<member<&interface::extra_macs>, read_macs>()},
    {{.key = "acl.in",
      .type = acl_type,
      .meaning = "ACL of received packets: doc/acl.md",
      .kinds = of_routed | of_tunnel},
     access<member<&interface::acl_in>, read_binding>()},
    {{.key = "acl.out",
      .type = acl_type,
      .meaning = "ACL of sent packets",
      .kinds = of_routed | of_tunnel},
     access<member<&interface::acl_out>, read_binding>()},
    {{.key = "acl.l2_in",
      .type = acl_type,
      .meaning = "L2 ACL of frames that a bridge port receives",
      .kinds = of_routed | of_tunnel,
      .shown = "l2_in"},
     access<member<&interface::l2_in>, read_binding>()},
    {{.key = "acl.l2_out",
      .type = acl_type,
      .meaning = "L2 ACL of frames that a bridge port sends",
      .kinds = of_routed | of_tunnel,
      .shown = "l2_out"},
     access<member<&interface::l2_out>, read_binding>()},
};

constexpr field_facts key_of_name(std::string_view meaning) {
    return {.key = "name",
            .type = text_type("at most 32 letters, digits, '-', '_' and '.'", 32),
            .meaning = meaning,
            .required = true};
}
constexpr field_facts key_of_port(std::string_view meaning, bool required = true) {
    return {.key = "port",
            .type = text_type("the name of a port", any_length, "PORT"),
            .meaning = meaning,
            .required = required};
}
constexpr field_facts key_of_vlan(std::string_view meaning, bool required = true) {
    return {.key = "vlan",
            .type = number_type(1, state::last_vlan),
            .meaning = meaning,
            .required = required};
}

}  // namespace

std::span<const field<port>> port_fields() noexcept { return port_rows; }
std::span<const field<interface>> interface_fields() noexcept { return interface_rows; }

unsigned kind_of(const interface& i, const configuration& in) noexcept {
    if (i.port.empty()) return of_bridge;
    if (in.is_tunnel(i)) return of_tunnel;
    return i.vlan != 0 ? of_vlan : of_port;
}

namespace {

template <class Object>
void add_entries(object_facts& to, std::span<const field<Object>> table, unsigned kinds) {
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0) to.fields.push_back({f, f.at.write(Object{}, f.type)});
}

}  // namespace

const std::vector<object_facts>& all_objects() {
    static const std::vector<object_facts> all = [] {
        object_facts ports{
            "port", "ports", {key_of_name("Name of the port and of its untagged interface")}};
        add_entries(ports, port_fields(), of_port);
        add_entries(ports, interface_fields(), of_port);
        object_facts interfaces{
            "interface", "interfaces", {key_of_port("Port"), key_of_vlan("VLAN ID")}};
        interfaces.in_files = of_vlan;
        add_entries(interfaces, interface_fields(), of_routed | of_tunnel);
        object_facts bridges{"bridge", "bridges", {key_of_name("Name of the bridge")}};
        bridges.lists = {
            {"members", "member", "Ports and tunnels; a name alone: with the defaults", true},
            {"fdb", "fdb", "Static FDB entries"},
            {"interfaces", "bridge_interface", "Routed interfaces of VLANs"}};
        add_entries(bridges, bridge_fields(), of_bridge);
        add_entries(bridges, interface_fields(), of_bridge);
        object_facts members{"member", "", {key_of_port("Port or tunnel")}};
        add_entries(members, member_fields(), of_member);
        object_facts stations{"fdb",
                              "",
                              {{.key = "mac",
                                .type = text_type("a unicast MAC address", any_length, "MAC"),
                                .meaning = "MAC address",
                                .required = true},
                               key_of_vlan("VLAN ID, if the bridge is not VLAN-transparent", false),
                               key_of_port("Port or tunnel")}};
        object_facts routed{"bridge_interface", "", {key_of_vlan("VLAN ID")}};
        add_entries(routed, interface_fields(), of_bridge);
        object_facts tunnels{"tunnel", "tunnels", {key_of_name("Name of the tunnel")}};
        add_entries(tunnels, tunnel_fields(), of_tunnel);
        add_entries(tunnels, interface_fields(), of_tunnel);
        object_facts mirrors{"mirror", "mirrors", {key_of_name("Name of the mirror")}};
        add_entries(mirrors, mirror_fields(), of_mirror);
        object_facts vrfs{"vrf", "vrfs", {key_of_name("Name of the VRF")}};
        add_entries(vrfs, vrf_fields(), of_vrf);
        object_facts neighbours{
            "neighbour",
            "",
            {{.key = "address",
              .type = text_type("an IPv4 or IPv6 address", any_length, "ADDRESS"),
              .meaning = "Address of the neighbour",
              .required = true},
             key_of_port("Interface; without it, the one with the address's network", false)}};
        add_entries(neighbours, neighbour_fields(), of_neighbour);
        object_facts settings{"settings", ""};
        add_entries(settings, process_fields(), of_process);
        add_entries(settings, settings_fields(), of_settings);
        return std::vector{std::move(ports),      std::move(interfaces), std::move(bridges),
                           std::move(members),    std::move(stations),   std::move(routed),
                           std::move(tunnels),    std::move(mirrors),    std::move(vrfs),
                           std::move(neighbours), std::move(settings)};
    }();
    return all;
}

mac_address read_station_mac(const reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group() || mac.is_zero())
        from.refuse("should be one station's, not a group's or zero");
    return mac;
}

}  // namespace turnpike::sources
