// SPDX-License-Identifier: BSD-3-Clause
// What the operator wants, as plain data keyed by name: what a source yields, what is validated whole,
// compared with what runs (changes.hpp), and kept as what runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"
#include "state/acl.hpp"
#include "state/named.hpp"
#include "state/origin.hpp"
#include "state/routes.hpp"
#include "state/shared.hpp"

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
    /// Lcores: queue i is polled by the one at i modulo their number; empty: by turns.
    std::vector<unsigned> rx_workers{};
    state::pcie bill{};
    origin where{};
    bool operator==(const port&) const = default;
    /// A device that is open as the one is open as the other.
    [[nodiscard]] bool opens_like(const port& other) const noexcept {
        return device == other.device && rx_queues == other.rx_queues &&
               descriptors == other.descriptors;
    }
};

/// "net_tap0" of "net_tap0,iface=x".
[[nodiscard]] inline std::string device_name(const std::string& device) {
    return device.substr(0, device.find(','));
}

enum class interface_kind : uint8_t { patched, routed };

/// What (port, VLAN) leads to. The interface of a port's untagged frames has the port's name.
struct interface {
    interface_kind kind = interface_kind::routed;
    std::string port{};
    uint16_t vlan = 0;                   ///< 0: untagged
    std::string peer{};                  ///< patched: the other end
    std::vector<ip_prefix> addresses{};  ///< routed: ours, with their networks' lengths
    std::string acl_in{}, acl_out{};     ///< names of lists; empty: none
    origin where{};
    bool operator==(const interface&) const = default;
};

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

/// Messages per second that we originate.
struct icmp {
    uint32_t rate = 1000;  ///< echo replies, and errors: each so many
    bool operator==(const icmp&) const = default;
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

struct desired {
    std::string file{};
    process fixed{};
    control_socket control{};
    state::pcie_profiles pcie_profiles{};
    std::vector<unsigned> workers{};  ///< lcores; empty: all of EAL's but the main one
    tx sending{};
    icmp messages{};
    neighbour_limits limits{};
    named<port> ports{};
    named<interface> interfaces{};
    named<shared<acl_list>> acls{};
    std::map<neighbour_name, neighbour> neighbours{};
    route_set routes{};
};

}  // namespace turnpike::state
