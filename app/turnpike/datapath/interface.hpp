// SPDX-License-Identifier: BSD-3-Clause
// The interface: what (port, VLAN) leads to. A port is only a device; what happens to a packet, and
// under which addresses and lists, is its interface's.
//
// One line: a burst's packets mostly share it, and it is all that the first stages read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datapath/acl_list.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::datapath {

enum class interface_kind : uint8_t {
    none,     ///< nobody's place
    patched,  ///< every frame, unchanged, to the interface `peer`
    routed,   ///< IPv4 and IPv6 by the routes of its VRF
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
    std::vector<ip_prefix> prefixes{};      ///< as configured; on-link networks are theirs
};

struct alignas(64) interface {
    interface_kind kind = interface_kind::none;
    uint8_t vrf = 0;
    uint16_t port = 0;  ///< place in view::port: where its packets leave
    uint16_t vlan = 0;  ///< 0: untagged
    uint16_t peer = 0;  ///< patched: the other end's place
    uint16_t mtu = 0;   ///< bytes of layer 3
    mac_address mac{};
    const interface_addresses* addresses = nullptr;  ///< routed
    const bound_acl* acl_in = nullptr;               ///< null: none is bound
    const bound_acl* acl_out = nullptr;
};
static_assert(sizeof(interface) == 64);

}  // namespace turnpike::datapath
