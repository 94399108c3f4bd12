// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain data keyed by name. A source produces it, validate() checks it, changes.hpp
// compares it with the running one, and the controller keeps it as the running one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "datapath/punt_class.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"
#include "packet/flow_hash.hpp"
#include "state/acl.hpp"
#include "state/bridge.hpp"
#include "state/host_pass.hpp"
#include "state/listen_address.hpp"
#include "state/mirror.hpp"
#include "state/named.hpp"
#include "state/origin.hpp"
#include "state/routes.hpp"
#include "state/sflow.hpp"
#include "state/shared.hpp"
#include "state/tunnel.hpp"

namespace turnpike::state {

struct eal {
    std::vector<std::string> args{};  ///< as on the command line
    bool hugepages_optional = false;  ///< start without hugepages if there are none
    bool operator==(const eal&) const = default;
};

struct mempool {
    uint32_t buffers = 0;         ///< mbufs; 0: sized for the ports and workers
    uint32_t buffer_size = 2176;  ///< bytes of an mbuf's data buffer, including headroom (128)
    std::string ops{};  ///< the mempool handler; empty: EAL's --mbuf-pool-ops-name, or cache_aware
    origin where{};
    bool operator==(const mempool&) const = default;
};

/// The control socket (doc/control.md).
struct control_socket {
    std::string path{};   ///< empty: the default path, or none if that fails
    std::string group{};  ///< by name or number; empty: the process's
    std::string owner{};  ///< likewise
    bool operator==(const control_socket&) const = default;
};

/// Mirroring of interfaces to the kernel, for routing daemons (doc/control-plane.md).
struct control_plane {
    bool netlink = false;             ///< imports the kernel's routes, addresses and neighbours
    std::string network_namespace{};  ///< as `ip netns` names it; empty: the process's own
    uint32_t rate = 10000;            ///< packets per second and interface to the kernel
    bool follow_admin_status = true;  ///< interfaces that the kernel has set down forward nothing
    origin where{};
    bool operator==(const control_plane&) const = default;
};

/// Metrics over HTTP (doc/metrics.md).
struct metrics {
    static constexpr size_t max_listeners = 8;
    std::vector<listen_address> listen{};  ///< empty: none
    origin where{};
    bool operator==(const metrics& other) const noexcept { return listen == other.listen; }
};

/// Settings that need a restart.
struct process {
    eal eal_options{};
    mempool pool{};
    bool operator==(const process&) const = default;
};

/// Custom NIC profiles: lib/pcie/profile_yaml.hpp.
struct pcie_profiles {
    std::string file{};  ///< empty: none
    std::string text{};  ///< its contents
    bool operator==(const pcie_profiles&) const = default;
};

/// Parameters of the PCIe model of a port, overriding detection.
struct pcie {
    std::string profile{};       ///< empty: selected by driver name
    std::string link{};          ///< "gen3x8"; empty: detected
    uint16_t mps = 0, mrrs = 0;  ///< bytes; 0: detected, or the link's default
    bool operator==(const pcie&) const = default;
};

inline constexpr size_t max_ports = 32;  ///< RTE_MAX_ETHPORTS
inline constexpr unsigned max_lcore = 1023;

/// A device and its queues. Interfaces define the handling of its packets.
struct port {
    std::string device{};  ///< an EAL vdev string or a PCI address
    std::string description{};
    bool shutdown = false;  ///< administratively down: no link, nothing is received or sent
    bool optional = false;  ///< the configuration is valid without the device
    uint16_t mtu = 1500;    ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t descriptors = 1024;   ///< per queue, receive and transmit
    bool device_sums_udp = false;  ///< offload UDP checksums of tunnel packets, if supported
    bool timestamps = false;       ///< RX timestamps of the device, for captures
    /// Lcores: lcore i modulo their number polls queue i; empty: assigned automatically.
    std::vector<unsigned> rx_workers{};
    state::pcie bill{};
    origin where{};
    bool operator==(const port&) const = default;
    /// Whether the device needs no reopening for the other settings.
    [[nodiscard]] bool opens_like(const port& other) const noexcept {
        return device == other.device && rx_queues == other.rx_queues &&
               descriptors == other.descriptors && device_sums_udp == other.device_sums_udp &&
               timestamps == other.timestamps;
    }
};

enum class interface_kind : uint8_t { patched, routed, bridged };
inline constexpr std::string_view interface_kind_names[] = {"patched", "routed", "bridged"};

/// A VRF: a separate route table for its interfaces.
struct vrf {
    uint32_t table = 0;  ///< table number in the kernel
    route_set routes{};  ///< compared by themselves
    origin where{};
    bool operator==(const vrf& other) const noexcept { return table == other.table; }
};
inline constexpr uint32_t main_table = 254;  ///< Linux's number

/// Mode of the reverse path check (RFC 3704).
enum class reverse_path : uint8_t {
    off,
    loose,   ///< the source has a route
    strict,  ///< the route leads to the ingress interface
};
inline constexpr std::string_view reverse_path_names[] = {"off", "loose", "strict"};

/// The interface that (port, VLAN) selects, or a bridge's routing interface. A port's untagged interface has
/// the port's name; others are named after their port or bridge and VLAN: west.100.
struct interface {
    interface_kind kind = interface_kind::routed;
    std::string description{};
    std::string port{};    ///< or tunnel; empty: a routed interface of a bridge
    std::string bridge{};  ///< bridged: its bridge; routed: the bridge of a routed interface
    uint16_t vlan = 0;     ///< 0: untagged
    std::string vrf{};     ///< routed: its VRF; empty: main
    std::string peer{};    ///< patched: the other end
    std::vector<ip_prefix> addresses{};     ///< routed: local addresses with prefix lengths
    std::string acl_in{}, acl_out{};        ///< ACL names; empty: none
    std::string l2_in{}, l2_out{};          ///< bridged: L2 ACL names
    bool host_interface = false;            ///< routed: mirrored to the kernel under the same name
    reverse_path urpf = reverse_path::off;  ///< routed
    std::vector<mac_address> extra_macs{};  ///< routed: additional MAC addresses
    bool send_redirects = false;            ///< routed: sends ICMP redirects
    bool accept_source_route = false;       ///< routed: forwards source-routed packets
    bool router_alert =
        false;  ///< routed, with host_interface: punts Router Alert packets to the kernel
    bool accept_ra = false;  ///< routed, with host_interface: follows router advertisements
    std::vector<host_pass> passes{};  ///< routed, with host_interface: more frames for the kernel
    bool admin_down = false;          ///< set down in the kernel; never in a file
    /// addresses that the kernel has with IFA_F_NODAD; never in a file
    std::vector<ip_address> no_dad{};
    origin where{};
    /// Whether it has IP: addresses, or an interface of the kernel that may have some. A port that only carries VLANs has none.
    [[nodiscard]] bool has_ip() const noexcept {
        return kind == interface_kind::routed && (!addresses.empty() || host_interface);
    }
    bool operator==(const interface&) const = default;
};

/// A place where an ACL can be bound.
struct acl_binding {
    std::string_view name;  ///< key in the configuration
    std::string interface::*list;
    bool out, l2;
};
inline constexpr acl_binding acl_bindings[] = {{"in", &interface::acl_in, false, false},
                                               {"out", &interface::acl_out, true, false},
                                               {"l2_in", &interface::l2_in, false, true},
                                               {"l2_out", &interface::l2_out, true, true}};

/// A static neighbour.
struct neighbour_name {
    std::string interface {};
    ip_address address{};
    auto operator<=>(const neighbour_name&) const = default;
};
struct neighbour {
    mac_address mac{};
    origin where{};
    bool operator==(const neighbour&) const = default;
};

struct tx {
    uint32_t drain_us = 50;  ///< maximum time that a packet waits for a transmit burst to fill
    bool operator==(const tx&) const = default;
};

/// Behaviour of idle workers.
struct idle {
    uint32_t sleep_us = 0;  ///< maximum sleep between polls; 0: never sleeps
    bool operator==(const idle&) const = default;
};

/// Rate limits of originated messages, for each ingress interface.
struct icmp {
    uint32_t rate = 1000;  ///< echo replies per second, and errors per second
    bool operator==(const icmp&) const = default;
};

/// Rates of punted packets by class, per second, ingress interface and worker.
struct punt_rate {
    std::array<uint32_t, datapath::punt_classes> of = [] {
        std::array<uint32_t, datapath::punt_classes> usual{};
        for (size_t c = 0; c < datapath::punt_classes; ++c)
            usual[c] = datapath::punt_class_texts[c].rate;
        return usual;
    }();
    bool operator==(const punt_rate&) const = default;
};

/// For gateways of which families ECMP leaves out next hops whose neighbour does not answer. Linux: IPv6 always,
/// IPv4 with net.ipv4.fib_multipath_use_neigh.
enum class use_neigh : uint8_t { none, ipv6, both };
inline constexpr std::string_view use_neigh_names[] = {"none", "ipv6", "both"};

/// Flow hashing of ECMP.
struct ecmp {
    packet::flow_fields hash = packet::flow_fields::flow;
    std::optional<uint64_t> seed{};  ///< none: derived from the first port's MAC address
    /// UDP ports that `inner` treats as VXLAN; at least one, at most packet::max_vxlan_ports.
    std::vector<uint16_t> vxlan_ports{packet::vxlan_port};
    state::use_neigh use_neigh = state::use_neigh::ipv6;
    [[nodiscard]] bool uses_neigh(const ip_address& gateway) const noexcept {
        return use_neigh == state::use_neigh::both ||
               (use_neigh == state::use_neigh::ipv6 && gateway.v6);
    }
    bool operator==(const ecmp&) const = default;
};

/// Parameters of neighbour discovery as in RFC 4861 section 10, also used for ARP.
struct neighbour_limits {
    uint32_t limit = 16384;         ///< maximum neighbour entries of both families
    uint32_t queue_len = 64;        ///< maximum pending packets per neighbour
    uint32_t rate = 1000;           ///< unsolicited messages per second and interface
    uint32_t solicit_rate = 1000;   ///< multicast solicitations per second and interface
    uint32_t reachable_ms = 30000;  ///< REACHABLE_TIME
    uint32_t retransmit_ms = 1000;  ///< RETRANS_TIMER
    uint32_t attempts = 3;          ///< MAX_UNICAST_SOLICIT, MAX_MULTICAST_SOLICIT
    uint32_t negative_ms = 3000;    ///< lifetime of an unused failed entry
    uint32_t gc_stale_ms = 600000;  ///< lifetime of an unused stale entry
    bool operator==(const neighbour_limits&) const = default;
};

/// Interface name of a port or bridge with a VLAN or without: "west.100", "lan".
[[nodiscard]] inline std::string interface_name(const std::string& of, uint16_t vlan) {
    return vlan == 0 ? of : of + '.' + std::to_string(vlan);
}

struct configuration {
    std::string file{};
    std::vector<std::string>
        old_keys{};  ///< log lines about old keys in the text (sources/old_keys.hpp)
    process fixed{};
    control_socket control{};
    state::control_plane control_plane{};
    state::metrics metrics{};
    state::sflow sflow{};
    state::pcie_profiles pcie_profiles{};
    std::vector<unsigned> workers{};  ///< lcores; empty: all of EAL's except the main one
    origin workers_where{};           ///< of `workers`; without it, the file
    tx sending{};
    state::idle idle{};
    icmp messages{};
    state::punt_rate punt_rate{};
    ecmp sharing{};
    bool default_resolves = false;    ///< default routes resolve gateways of recursive routes too
    bool interface_counters = false;  ///< interfaces that share a port have counters
    uint32_t latency_sample = 0;      ///< measures the latency of one packet of so many; 0: of none
    bool drops_special = false;       ///< drops packets to destinations not forwardable by RFC 6890
    neighbour_limits limits{};
    named<port> ports{};
    named<interface> interfaces{};
    named<bridge> bridges{};
    named<tunnel> tunnels{};
    named<mirror> mirrors{};
    named<shared<acl_list>> acls{};
    std::map<neighbour_name, neighbour> neighbours{};
    named<vrf> vrfs{};
    route_set routes{};  ///< routes of the main VRF

    /// The routes of a VRF; "": main.
    [[nodiscard]] const route_set& routes_of(const std::string& vrf) const {
        return vrf.empty() ? routes : vrfs.at(vrf).routes;
    }
    [[nodiscard]] route_set& routes_of(const std::string& vrf) {
        return vrf.empty() ? routes : vrfs.find(vrf)->routes;
    }
    [[nodiscard]] bool is_tunnel(const interface& i) const noexcept {
        return tunnels.find(i.port) != nullptr;
    }
    /// The port, or the tunnel, of an interface. A new routed interface of a bridge counts on the bridge's first port,
    /// or on the first port of all if the bridge has only tunnels.
    [[nodiscard]] const std::string& port_of(const interface& i) const noexcept {
        if (!i.port.empty()) return i.port;
        for (const bridge_member& m : bridges.at(i.bridge).members)
            if (tunnels.find(m.port) == nullptr) return m.port;
        return ports.begin()->first;
    }
    /// Layer 3 MTU of an interface; of a bridge, the minimum of its ports.
    [[nodiscard]] uint16_t mtu_of(const interface& i) const noexcept {
        const auto one = [this](const std::string& name) {
            const tunnel* const t = tunnels.find(name);
            return t != nullptr ? t->mtu : ports.at(name).mtu;
        };
        if (!i.port.empty()) return one(i.port);
        uint16_t least = 65535;
        for (const bridge_member& m : bridges.at(i.bridge).members)
            least = std::min(least, one(m.port));
        return least;
    }
    /// Whether egress IP ACLs are bound to ports of a bridge.
    [[nodiscard]] bool lists_behind(const std::string& bridge) const {
        const auto& members = bridges.at(bridge).members;
        return std::any_of(members.begin(), members.end(), [&](const bridge_member& m) {
            return !interfaces.at(m.port).acl_out.empty();
        });
    }
    /// Whether ACLs need frames of this bridge port parsed.
    [[nodiscard]] bool lists_look_into(const interface& member) const {
        return !member.acl_in.empty() || lists_behind(member.bridge);
    }
};

}  // namespace turnpike::state
