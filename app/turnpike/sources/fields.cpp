// SPDX-License-Identifier: BSD-3-Clause
#include "sources/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/hardware.hpp"
#include "base/printable.hpp"
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
    const std::string name = device_name_of(device);
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
    if (printable(line) != line)
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
    return read_distinct(from, type, read_station_mac);
}

state::host_pass read_pass(const reader& from) {
    return from.taken(state::parse_host_pass(from.text()));
}

std::vector<state::host_pass> read_passes(const reader& from, const value_type& type) {
    return read_distinct(from, type, read_pass);
}

constexpr std::string_view checksum_words[] = {"software", "device"};

// A router is master of few VRRP groups; each address in a burst costs a comparison pass.
constexpr uint64_t max_macs = 16;
constexpr uint64_t max_passes = 32;

constexpr value_type acl_type = text_type("the name of an ACL", any_length, "LIST");

constexpr value_type description_type = text_type("a line of text", 255);

constexpr field<port> port_rows[] = {
    {"device", text_type("a PCI address, or an EAL vdev with its arguments", 512, "DEVICE"),
     "The device", access<member<&port::device>, read_device>(), is_required | reopens_port},
    {"description", description_type, "Description for operators",
     access<member<&port::description>, read_line>()},
    {"shutdown", truth_type(),
     "Takes the port out of service: it has no link, and receives and sends nothing",
     access<&port::shutdown>()},
    {"optional", truth_type(),
     "A start or a change succeeds without the device, which is opened when it is there",
     access<&port::optional>()},
    {"mtu", number_type(68, 65535 - 18, "bytes"), "MTU: the Ethernet payload", access<&port::mtu>(),
     is_always_compared},
    {"rx_queues", number_type(1, 1024), "Receive queues; more than one needs RSS",
     access<&port::rx_queues>(), is_always_compared | reopens_port},
    {"descriptors", number_type(32, 32768), "Descriptors of each receive and each transmit queue",
     access<&port::descriptors>(), is_always_compared | reopens_port},
    {"udp_checksums", word_type(checksum_words),
     "Where UDP checksums of tunnel packets are computed; the device if it can: doc/vxlan.md",
     access<&port::device_sums_udp>(), reopens_port},
    {"timestamps", truth_type(), "The device stamps received packets, for captures: doc/capture.md",
     access<&port::timestamps>(), reopens_port},
    {"rx_workers", number_list_type("an lcore", "lcores", 0, state::max_lcore, 0),
     "Workers that poll the receive queues in turn; without it, the workers with the fewest "
     "queues, on the port's NUMA node",
     access<member<&port::rx_workers>, read_lcores>()},
    {"pcie.profile", text_type("the name of a NIC profile", any_length),
     "NIC profile of the PCIe model; without it, the driver's: doc/pcie.md",
     access<&port::bill, &state::pcie::profile>()},
    {"pcie.link", text_type("generation and lanes, as gen3x8", any_length),
     "PCIe link of the model; without it, the detected one",
     access<&port::bill, &state::pcie::link>()},
    {"pcie.mps", number_type(128, 4096, "bytes"),
     "Maximum payload size; without it, the detected one, or the link's default",
     access<&port::bill, &state::pcie::mps>()},
    {"pcie.mrrs", number_type(128, 4096, "bytes"),
     "Maximum read request size; without it, the detected one, or the link's default",
     access<&port::bill, &state::pcie::mrrs>()},
};

constexpr field<interface> interface_rows[] = {
    {"description", description_type, "Description for operators", of_vlan | of_bridge,
     access<member<&interface::description>, read_line>()},
    {"addresses", list_type("an address with its prefix length", "addresses", 0, "CIDRS"),
     "Addresses of a routed interface", of_routed,
     access<member<&interface::addresses>, read_addresses>()},
    {"vrf", text_type("the name of a VRF", any_length, "VRF"),
     "VRF; without it, main: doc/routing.md", of_routed,
     access<member<&interface::vrf>, read_vrf_of>()},
    {"host_interface", truth_type(), "Mirrors the interface to the kernel: doc/control-plane.md",
     of_routed, access<&interface::host_interface>()},
    {"host_pass",
     list_type("a multicast address, a group MAC address or an EtherType as 0x88f7",
               "multicast addresses, MAC addresses and EtherTypes", max_passes),
     "Passes more frames to the kernel; needs host_interface: doc/control-plane.md", of_routed,
     access<member<&interface::passes>, read_passes>()},
    {"urpf", word_type(state::reverse_path_names),
     "Reverse path check of source addresses: doc/routing.md", of_routed,
     access<&interface::urpf>()},
    {"send_redirects", truth_type(), "Sends ICMP redirects: doc/routing.md", of_routed,
     access<&interface::send_redirects>()},
    {"accept_source_route", truth_type(),
     "Forwards IPv4 packets with source route options: doc/routing.md", of_routed,
     access<&interface::accept_source_route>()},
    {"router_alert", truth_type(),
     "Punts packets with the Router Alert option to the kernel; needs host_interface: "
     "doc/routing.md",
     of_routed, access<&interface::router_alert>()},
    {"accept_ra", truth_type(),
     "Follows the addresses and routes of router advertisements; needs host_interface: "
     "doc/control-plane.md",
     of_routed, access<&interface::accept_ra>()},
    {"extra_macs", list_type("a unicast MAC address", "MAC addresses", max_macs, "MAC"),
     "Additional MAC addresses, as of VRRP: doc/routing.md", of_routed,
     access<member<&interface::extra_macs>, read_macs>()},
    {"acl.in", acl_type, "ACL of received packets: doc/acl.md", of_routed | of_tunnel,
     access<member<&interface::acl_in>, read_binding>()},
    {"acl.out", acl_type, "ACL of sent packets", of_routed | of_tunnel,
     access<member<&interface::acl_out>, read_binding>()},
    {"acl.l2_in", acl_type, "L2 ACL of frames that a bridge port receives", of_routed | of_tunnel,
     access<member<&interface::l2_in>, read_binding>(), 0, "l2_in"},
    {"acl.l2_out", acl_type, "L2 ACL of frames that a bridge port sends", of_routed | of_tunnel,
     access<member<&interface::l2_out>, read_binding>(), 0, "l2_out"},
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

/// With the keys of a table, or of several, each with the kinds of objects.
template <class Object, class... More>
object_facts with(object_facts to, std::span<const field<Object>> table, unsigned kinds,
                  More... more) {
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0) to.fields.push_back({f, f.at.write(Object{}, f.type)});
    if constexpr (sizeof...(more) != 0)
        return with(std::move(to), more...);
    else
        return to;
}

}  // namespace

const std::vector<object_facts>& all_objects() {
    constexpr field_facts mac{.key = "mac",
                              .type = text_type("a unicast MAC address", any_length, "MAC"),
                              .meaning = "MAC address",
                              .required = true},
        neighbours_address{.key = "address",
                           .type = text_type("an IPv4 or IPv6 address", any_length, "ADDRESS"),
                           .meaning = "Address of the neighbour",
                           .required = true};
    static const std::vector<object_facts> all = {
        with({"port", "ports", {key_of_name("Name of the port and of its untagged interface")}},
             port_fields(), of_port, interface_fields(), of_port),
        with({.name = "interface",
              .list = "interfaces",
              .names = {key_of_port("Port"), key_of_vlan("VLAN ID")},
              .in_files = of_vlan},
             interface_fields(), of_routed | of_tunnel),
        with({.name = "bridge",
              .list = "bridges",
              .names = {key_of_name("Name of the bridge")},
              .lists = {{"members", "member", "Ports and tunnels; a name alone: with the defaults",
                         true},
                        {"fdb", "fdb", "Static FDB entries"},
                        {"interfaces", "bridge_interface", "Routed interfaces of VLANs"}}},
             bridge_fields(), of_bridge, interface_fields(), of_bridge),
        with({"member", "", {key_of_port("Port or tunnel")}}, member_fields(), of_member),
        {"fdb",
         "",
         {mac, key_of_vlan("VLAN ID, if the bridge is not VLAN-transparent", false),
          key_of_port("Port or tunnel")}},
        with({"bridge_interface", "", {key_of_vlan("VLAN ID")}}, interface_fields(), of_bridge),
        with({"tunnel", "tunnels", {key_of_name("Name of the tunnel")}}, tunnel_fields(), of_tunnel,
             interface_fields(), of_tunnel),
        with({"mirror", "mirrors", {key_of_name("Name of the mirror")}}, mirror_fields(),
             of_mirror),
        with({"vrf", "vrfs", {key_of_name("Name of the VRF")}}, vrf_fields(), of_vrf),
        with({"neighbour",
              "",
              {neighbours_address,
               key_of_port("Interface; without it, the one with the address's network", false)}},
             neighbour_fields(), of_neighbour),
        with({"settings", ""}, process_fields(), of_process, settings_fields(), of_settings)};
    return all;
}

mac_address read_station_mac(const reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group() || mac.is_zero())
        from.refuse("should be one station's, not a group's or zero");
    return mac;
}

}  // namespace turnpike::sources
