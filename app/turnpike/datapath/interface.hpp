// SPDX-License-Identifier: BSD-3-Clause
// The interface: the layer 2 or layer 3 endpoint that (port, VLAN) selects. A port is only a device;
// mode, addresses, VRF and ACLs belong to the interface.
//
// One cache line: the packets of a burst mostly share the interface, and the first stages read
// nothing else. Control fills it before it publishes the snapshot; it never changes after that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "datapath/acl_list.hpp"
#include "datapath/next_hop.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::datapath {

inline constexpr uint16_t max_interfaces = 1024;  ///< index 0 is unused
inline constexpr uint16_t max_ports = 32;         ///< RTE_MAX_ETHPORTS
inline constexpr uint16_t tunnel_port =
    max_ports;  ///< index of no device: port of tunnel interfaces

enum class interface_kind : uint8_t {
    none,     ///< unused index
    patched,  ///< cross-connect: every frame leaves unchanged by the interface `peer`
    routed,   ///< IPv4 and IPv6 by the routes of its VRF
    bridged,  ///< member of a bridge: forwards by MAC address (bridge.hpp)
};

/// Addresses of a routed interface. Immutable: control replaces the whole object when one changes.
struct interface_addresses {
    struct v4_network {
        uint32_t address, network, broadcast;  ///< host order; a /31 or /32 has no broadcast: 0
    };
    std::vector<v4_network> v4{};
    std::vector<ipv6_address> v6{};         ///< link-local first
    std::vector<ipv6_address> no_dad{};     ///< of v6: flagged IFA_F_NODAD in the kernel
    std::vector<ipv6_address> v6_groups{};  ///< multicast groups that the interface has joined
    std::vector<uint32_t> v4_groups{};      ///< joined groups, host order: VTEPs' multicast groups
    std::vector<ip_prefix> prefixes{};      ///< as configured; each one is an on-link network
    /// extra MAC addresses of the interface, beside interface::mac
    std::vector<mac_address> extra_macs{};
    /// Frames that are passed to the kernel as link_protocol: IP packets to these groups, other frames to these MAC
    /// addresses, and those of these EtherTypes.
    struct {
        std::vector<ip_address> groups{};
        std::vector<mac_address> macs{};
        std::vector<uint16_t> types{};
    } passes{};
    uint32_t link_nexthop = 0;  ///< next hop (kind glean) of destinations in its on-link networks
};

struct alignas(64) interface {
    interface_kind kind = interface_kind::none;
    uint8_t vrf = 0;
    /// How the outer VLAN tag of a frame to this interface is treated.
    enum : uint8_t {
        unknown,  ///< not examined
        known,    ///< read, and left in the frame
        taken,    ///< removed on ingress; egress adds the egress interface's tag
    } tags = unknown;
    /// the kernel has this interface as a TAP: punted packets may be for the kernel
    bool to_host = false;
    bool urpf : 1 = false;            ///< reverse path check of source addresses (RFC 3704)
    bool urpf_strict : 1 = false;     ///< urpf: the path back must leave by this interface
    bool has_extra_macs : 1 = false;  ///< addresses->extra_macs is not empty
    /// sends ICMP redirects for packets that leave by it, their ingress
    bool send_redirects : 1 = false;
    bool accept_source_route : 1 = false;  ///< forwards IPv4 with a source route option
    bool router_alert : 1 = false;         ///< packets with Router Alert go to the kernel
    bool admin_down : 1 = false;           ///< of kind none, because it is set down in the kernel
    /// index into snapshot::port: packets leave by it and count there; or tunnel_port
    uint16_t port = 0;
    uint16_t ifindex = 0;  ///< own index into snapshot::interfaces
    uint16_t vlan = 0;     ///< VLAN ID on its port; 0: untagged
    uint16_t bridge = 0;   ///< routed: bridge whose routing interface (IRB) it is; 0: none
    union {
        uint16_t peer = 0;  ///< patched: the other interface of the cross-connect
        /// routed: interfaces with the same value can share a pass of the fast path; own index where there is none
        uint16_t fast_group;
    };
    uint16_t mtu = 0;  ///< in bytes of layer 3
    mac_address mac{};
    const interface_addresses* addresses = nullptr;  ///< routed
    const bound_acl* acl_in = nullptr;               ///< ingress ACL; null: none
    const bound_acl* acl_out = nullptr;
    const bound_acl* l2_in = nullptr;  ///< bridged: ingress L2 ACL
    const bound_acl* l2_out = nullptr;

    /// Whether a unicast frame to this address is for this interface.
    [[nodiscard]] bool answers_to(const mac_address& to) const noexcept {
        if (to == mac) return true;
        return has_extra_macs &&
               std::find(addresses->extra_macs.begin(), addresses->extra_macs.end(), to) !=
                   addresses->extra_macs.end();
    }
    [[nodiscard]] egress out() const noexcept { return {.port = port, .interface = ifindex}; }
};
static_assert(sizeof(interface) == 64);

}  // namespace turnpike::datapath
