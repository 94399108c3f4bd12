// SPDX-License-Identifier: BSD-3-Clause
// What the operator wants, as plain data keyed by name: what a source yields, what is validated whole,
// compared with what runs (changes.hpp), and kept as what runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"
#include "packet/flow_hash.hpp"
#include "state/acl.hpp"
#include "state/bridge.hpp"
#include "state/named.hpp"
#include "state/origin.hpp"
#include "state/routes.hpp"
#include "state/shared.hpp"
#include "state/tunnel.hpp"

namespace turnpike::state {

struct eal {
    std::vector<std::string> args{};  ///< as on a command line
    bool hugepages_optional = false;  ///< go on without hugepages where they are missing
    bool operator==(const eal&) const = default;
};

struct mempool {
    uint32_t buffers = 0;         ///< mbufs; 0: as many as ports and workers can hold at a time
    uint32_t buffer_size = 2176;  ///< bytes of an mbuf's data buffer, headroom (128) included
    std::string ops{};  ///< the mempool handler; empty: EAL's --mbuf-pool-ops-name, or ours
    origin where{};
    bool operator==(const mempool&) const = default;
};

/// The UNIX socket by which an operator asks (doc/control.md).
struct control_socket {
    std::string path{};   ///< empty: the default one, or none where that cannot be
    std::string group{};  ///< by name or number; empty: the process's
    std::string owner{};  ///< likewise
    bool operator==(const control_socket&) const = default;
};

/// The kernel's network stack beside the forwarder, by which routing daemons drive it (doc/control-plane.md).
struct control_plane {
    bool netlink = false;             ///< what it says is followed
    std::string network_namespace{};  ///< as `ip netns` names it; empty: the process's own
    uint32_t rate = 10000;            ///< packets a second that an interface gives to it
    origin where{};
    bool operator==(const control_plane&) const = default;
};

/// What a running process cannot change.
struct process {
    eal eal_options{};
    mempool pool{};
    bool operator==(const process&) const = default;
};

/// The operator's own NIC profiles: lib/pcie/profile_yaml.hpp.
struct pcie_profiles {
    std::string file{};  ///< empty: none
    std::string text{};  ///< what it says
    bool operator==(const pcie_profiles&) const = default;
};

/// What the PCIe bill of a port is to be made for, where turnpike cannot see it or should not.
struct pcie {
    std::string profile{};       ///< empty: by the driver's name
    std::string link{};          ///< "gen3x8"; empty: detected
    uint16_t mps = 0, mrrs = 0;  ///< bytes; 0: detected, or the link's default
    bool operator==(const pcie&) const = default;
};

inline constexpr size_t max_ports = 32;  ///< RTE_MAX_ETHPORTS
inline constexpr unsigned max_lcore = 1023;

/// A device and its queues; what is done with its packets is its interfaces'.
struct port {
    std::string device{};  ///< an EAL vdev string or a PCI address
    uint16_t mtu = 1500;   ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t descriptors = 1024;  ///< per queue, both ways
    bool device_sums_udp =
        false;  ///< UDP checksums of tunnels' packets are the device's, where it can
    /// Lcores: queue i is polled by the one at i modulo their number; empty: by turns.
    std::vector<unsigned> rx_workers{};
    state::pcie bill{};
    origin where{};
    bool operator==(const port&) const = default;
    /// A device that is open as the one is open as the other.
    [[nodiscard]] bool opens_like(const port& other) const noexcept {
        return device == other.device && rx_queues == other.rx_queues &&
               descriptors == other.descriptors && device_sums_udp == other.device_sums_udp;
    }
};

/// "net_tap0" of "net_tap0,iface=x".
[[nodiscard]] inline std::string device_name(const std::string& device) {
    return device.substr(0, device.find(','));
}

enum class interface_kind : uint8_t { patched, routed, bridged };
inline constexpr std::string_view interface_kind_names[] = {"patched", "routed", "bridged"};

/// A VRF: a separate route table for its interfaces.
struct vrf {
    uint32_t table = 0;   ///< table number in the kernel
    route_set routes{};   ///< compared by themselves
    route_set learned{};  ///< likewise: of the kernel's table of that number
    origin where{};
    bool operator==(const vrf& other) const noexcept { return table == other.table; }
};
inline constexpr uint32_t main_table = 254;  ///< as Linux numbers it

/// By which ways a packet's source must be reached (RFC 3704).
enum class reverse_path : uint8_t {
    off,
    loose,   ///< by any
    strict,  ///< by the interface that it came in by
};
inline constexpr std::string_view reverse_path_names[] = {"off", "loose", "strict"};

/// The interface that (port, VLAN) selects, or a bridge's routing interface. A port's untagged interface has
/// the port's name; others are named after their port or bridge and VLAN: west.100.
struct interface {
    interface_kind kind = interface_kind::routed;
    std::string port{};    ///< or tunnel; empty: a bridge's
    std::string bridge{};  ///< bridged: whose member it is; routed: whose routing interface
    uint16_t vlan = 0;     ///< 0: untagged
    std::string vrf{};     ///< routed: whose routes; empty: the main ones
    std::string peer{};    ///< patched: the other end
    std::vector<ip_prefix> addresses{};  ///< routed: ours, with their networks' lengths
    std::string acl_in{}, acl_out{};     ///< names of lists; empty: none
    std::string l2_in{}, l2_out{};       ///< bridged: of L2 lists
    bool kernel = false;                 ///< routed: the kernel has an interface of the same name
    reverse_path urpf = reverse_path::off;  ///< routed
    std::vector<mac_address> macs{};        ///< routed: it answers to, beside its own
    bool redirects = false;      ///< routed: hosts are told of better ways on their own link
    bool source_routed = false;  ///< routed: what says by whom it is to go may go on
    bool router_alert = false;  ///< routed, kernel: what asks routers to look at it is the kernel's
    origin where{};
    bool operator==(const interface&) const = default;
};

/// Where an interface may have a list.
struct list_place {
    std::string_view name;  ///< as operators write it
    std::string interface::*list;
    bool out, l2;
};
inline constexpr list_place list_places[] = {{"in", &interface::acl_in, false, false},
                                             {"out", &interface::acl_out, true, false},
                                             {"l2_in", &interface::l2_in, false, true},
                                             {"l2_out", &interface::l2_out, true, true}};

/// A neighbour that is never asked: it does not answer, or must not be impersonated.
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
    uint32_t drain_us = 50;  ///< a packet waits at most this long for others to be sent with it
    bool operator==(const tx&) const = default;
};

/// What a worker does that finds nothing to do.
struct idle {
    uint32_t sleep_us = 0;  ///< it sleeps so long at most before it looks again; 0: never
    bool operator==(const idle&) const = default;
};

/// Messages per second that we originate.
struct icmp {
    uint32_t rate = 1000;  ///< echo replies, and errors: each so many
    bool operator==(const icmp&) const = default;
};

/// How neighbours that share a route's traffic tell flows apart (equal-cost multipath).
struct ecmp {
    packet::flow_fields hash = packet::flow_fields::flow;
    std::optional<uint64_t> seed{};  ///< none: of the first port's MAC address
    /// UDP's, at which `inner` looks for VXLAN; at least one, at most packet::most_vxlan_ports.
    std::vector<uint16_t> vxlan_ports{packet::vxlan_port};
    bool operator==(const ecmp&) const = default;
};

/// Neighbour discovery, as RFC 4861 section 10 names and counts it, for ARP alike.
struct neighbour_limits {
    uint32_t limit = 16384;         ///< neighbours known or asked for, both families together
    uint32_t held = 64;             ///< packets that wait for one neighbour
    uint32_t rate = 1000;           ///< unsolicited messages a second that an interface takes
    uint32_t reachable_ms = 30000;  ///< REACHABLE_TIME
    uint32_t retransmit_ms = 1000;  ///< RETRANS_TIMER
    uint32_t attempts = 3;          ///< MAX_UNICAST_SOLICIT, MAX_MULTICAST_SOLICIT
    uint32_t failed_ms = 3000;      ///< how long a neighbour that did not answer is not asked again
    uint32_t forget_ms = 600000;    ///< how long a stale neighbour that nobody uses is kept
    bool operator==(const neighbour_limits&) const = default;
};

/// Of one with a VLAN, or a bridge's: "west.100", "lan"; the same for both.
[[nodiscard]] inline std::string interface_name(const std::string& of, uint16_t vlan) {
    return vlan == 0 ? of : of + '.' + std::to_string(vlan);
}

struct desired {
    std::string file{};
    process fixed{};
    control_socket control{};
    state::control_plane control_plane{};
    state::pcie_profiles pcie_profiles{};
    std::vector<unsigned> workers{};  ///< lcores; empty: all of EAL's but the main one
    tx sending{};
    state::idle idle{};
    icmp messages{};
    ecmp sharing{};
    bool default_resolves =
        false;                   ///< default routes say where gateways of recursive routes are, too
    bool drops_special = false;  ///< what is to addresses that RFC 6890 calls not forwardable
    neighbour_limits limits{};
    named<port> ports{};
    named<interface> interfaces{};
    named<bridge> bridges{};
    named<tunnel> tunnels{};
    named<shared<acl_list>> acls{};
    std::map<neighbour_name, neighbour> neighbours{};
    named<vrf> vrfs{};
    route_set routes{};  ///< of no VRF: the main ones
    /// Of the kernel's main table, as far as they are by our interfaces. No operator's: in no file, and kept by
    /// whatever the operator changes (controller::learn).
    route_set learned{};
    /// The kernel's permanent ones likewise, but those that the operator has, too.
    std::map<neighbour_name, mac_address> learned_neighbours{};

    /// The operator's routes of a VRF, by its name; "": the main ones.
    [[nodiscard]] const route_set& routes_of(const std::string& vrf) const {
        return vrf.empty() ? routes : vrfs.at(vrf).routes;
    }
    /// And what is learned of the kernel.
    [[nodiscard]] const route_set& learned_of(const std::string& vrf) const {
        return vrf.empty() ? learned : vrfs.at(vrf).learned;
    }
    [[nodiscard]] size_t learned_routes() const noexcept {
        size_t n = learned.size();
        for (const auto& [name, v] : vrfs) n += v.learned.size();
        return n;
    }
    [[nodiscard]] route_set& routes_of(const std::string& vrf) {
        return vrf.empty() ? routes : vrfs.find(vrf)->routes;
    }
    [[nodiscard]] bool is_tunnel(const interface& i) const noexcept {
        return tunnels.find(i.port) != nullptr;
    }
    /// The port, or the tunnel, of an interface. What a bridge's is counted by is its first member that is a port;
    /// of one that has none, the first port of all.
    [[nodiscard]] const std::string& port_of(const interface& i) const noexcept {
        if (!i.port.empty()) return i.port;
        for (const bridge_member& m : bridges.at(i.bridge).members)
            if (tunnels.find(m.port) == nullptr) return m.port;
        return ports.begin()->first;
    }
    /// Bytes of layer 3 that an interface takes: of a bridge's, what all of its members take.
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
    /// Lists judge IP packets that leave by a bridge's members.
    [[nodiscard]] bool lists_behind(const std::string& bridge) const {
        const auto& members = bridges.at(bridge).members;
        return std::any_of(members.begin(), members.end(), [&](const bridge_member& m) {
            return !interfaces.at(m.port).acl_out.empty();
        });
    }
    /// Or that come in by this one.
    [[nodiscard]] bool lists_look_into(const interface& member) const {
        return !member.acl_in.empty() || lists_behind(member.bridge);
    }
};

}  // namespace turnpike::state
