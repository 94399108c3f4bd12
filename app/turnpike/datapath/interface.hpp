// SPDX-License-Identifier: BSD-3-Clause
// The interface: what (port, VLAN) leads to. A port is only a device; what happens to a packet, and
// under which addresses and lists, is its interface's.
//
// One line: a burst's packets mostly share it, and it is all that the first stages read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "datapath/acl_list.hpp"
#include "datapath/next_hop.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::datapath {

inline constexpr uint16_t max_interfaces = 1024;  ///< place 0 is nobody's

enum class interface_kind : uint8_t {
    none,     ///< nobody's place
    patched,  ///< every frame, unchanged, to the interface `peer`
    routed,   ///< IPv4 and IPv6 by the routes of its VRF
    bridged,  ///< a bridge's member: every frame, by its MAC address (bridge.hpp)
};

/// What is ours on a routed interface. Control makes a new one for a change and never touches it
/// after that.
struct interface_addresses {
    struct v4_network {
        uint32_t address, network, broadcast;  ///< host order; a /31 or /32 has no broadcast: 0
    };
    std::vector<v4_network> v4{};
    std::vector<ipv6_address> v6{};         ///< link-local first
    std::vector<ipv6_address> v6_groups{};  ///< multicast groups that we listen to
    std::vector<uint32_t> v4_groups{};      ///< likewise, host order: tunnels'
    std::vector<ip_prefix> prefixes{};      ///< as configured; on-link networks are theirs
    std::vector<mac_address> macs{};        ///< that it answers to beside its own
    uint32_t link_hop = 0;                  ///< of destinations that are neighbours there
};

struct alignas(64) interface {
    interface_kind kind = interface_kind::none;
    uint8_t vrf = 0;
    bool judged_out =
        false;  ///< what leaves by it meets a list: its own, or one of its bridge's members
    /// What becomes of a frame's tag that leads here.
    enum : uint8_t {
        unknown,  ///< nothing: it is a byte like others
        known,    ///< looked at, and left where it is
        taken,    ///< taken off; where it leaves it may get one
    } tags = unknown;
    bool to_host = false;            ///< the kernel has it, too: what is for the box may be for it
    bool urpf : 1 = false;           ///< sources are looked up (RFC 3704)
    bool urpf_strict : 1 = false;    ///< and must be behind it
    bool more_macs : 1 = false;      ///< addresses->macs has some
    bool redirects : 1 = false;      ///< hosts are told of better ways on their own link
    bool source_routed : 1 = false;  ///< IPv4 that says by whom it is to go may go on
    bool router_alert : 1 = false;   ///< what asks routers to look at it is the kernel's
    /// Routed, not judged on the way in: what comes may be in tunnels that end here.
    bool ends_tunnels : 1 = false;
    uint16_t port =
        0;  ///< place in view::port: where its packets leave, or are counted; or tunnel_port
    uint16_t place = 0;   ///< its own
    uint16_t vlan = 0;    ///< of a port; 0: untagged
    uint16_t bridge = 0;  ///< routed: it is the routing interface of this bridge; 0: a port's
    uint16_t peer = 0;    ///< patched: the other end's place
    uint16_t mtu = 0;     ///< bytes of layer 3
    mac_address mac{};
    const interface_addresses* addresses = nullptr;  ///< routed
    const bound_acl* acl_in = nullptr;               ///< null: none is bound
    const bound_acl* acl_out = nullptr;
    const bound_acl* l2_in = nullptr;  ///< bridged
    const bound_acl* l2_out = nullptr;

    /// A frame to it is for this interface.
    [[nodiscard]] bool answers_to(const mac_address& to) const noexcept {
        if (to == mac) return true;
        return more_macs && std::find(addresses->macs.begin(), addresses->macs.end(), to) !=
                                addresses->macs.end();
    }
    [[nodiscard]] way_out out() const noexcept { return {.port = port, .interface = place}; }
};
static_assert(sizeof(interface) == 64);

}  // namespace turnpike::datapath
