// SPDX-License-Identifier: BSD-3-Clause
// A bridge as plain data: its ports, their VLAN modes, and static FDB entries.
// Modes and their rules are those of IEEE 802.1Q-2018 as Open vSwitch names them (ovs-vswitchd.conf.db(5),
// vlan_mode), so that a configuration can be carried over.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/mac.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

/// VLAN mode of a bridge port. Untagged includes priority-tagged frames.
enum class vlan_mode : uint8_t {
    unaware,          ///< VLAN-transparent
    access,           ///< untagged frames of `vlan`; drops tagged ones
    trunk,            ///< tagged frames of `vlans`; drops untagged ones
    native_tagged,    ///< as trunk; untagged frames are of `vlan`, and leave tagged
    native_untagged,  ///< as trunk; frames of `vlan` are untagged in both directions
    dot1q_tunnel,     ///< every frame, with its tags, is of `vlan`
    count_
};
inline constexpr std::string_view vlan_mode_names[] = {
    "unaware", "access", "trunk", "native-tagged", "native-untagged", "dot1q-tunnel"};

inline constexpr uint16_t last_vlan = 4094;
using vlan_set = std::bitset<4096>;

/// Storm control of a bridge port in packets per second; 0: no limit.
struct storm_rates {
    uint32_t broadcast = 0, multicast = 0, unknown = 0;
    bool operator==(const storm_rates&) const = default;
};

/// The highest isolation group of a member; the next one has all tunnels without a group (control/forwarding/bridge_snapshot.cpp).
inline constexpr uint8_t max_isolation = 254;

struct bridge_member {
    std::string port{};
    vlan_mode mode = vlan_mode::unaware;
    uint16_t vlan = 0;          ///< of untagged frames; 0: trunk, which drops them
    vlan_set vlans{};           ///< trunk, native_tagged, native_untagged: the trunks
    bool service_tags = false;  ///< tags are IEEE 802.1ad service tags, type 88a8
    std::map<uint16_t, uint16_t> translate{};  ///< VLAN IDs on the wire to VLAN IDs in the bridge
    bool learning = true;
    bool flood_unknown = true;    ///< floods unknown unicast to it
    bool neigh_suppress = false;  ///< of a tunnel: ARP and ND suppression (RFC 9161)
    bool locked = false;          ///< drops frames whose source is not in the FDB
    uint8_t isolation = 0;        ///< ports of one group do not reach each other; 0: none
    uint32_t max_addresses = 0;   ///< maximum learnt on it; 0: the bridge's
    storm_rates storm{};
    bool operator==(const bridge_member&) const = default;

    /// VLANs of tagged frames: the trunks, and the native VLAN.
    [[nodiscard]] vlan_set tagged_vlans() const noexcept {
        vlan_set all = vlans;
        if (vlan != 0 && vlans.any()) all.set(vlan);
        return all;
    }
};

/// Handling of frames to reserved group addresses (IEEE 802.1Q-2018 table 8-1).
enum class reserved_frames : uint8_t { drop, flood, punt };
inline constexpr std::string_view reserved_frames_names[] = {"drop", "flood", "punt"};
struct reserved_groups {
    reserved_frames stp =
        reserved_frames::flood;  ///< 01-80-c2-00-00-00: turnpike runs no spanning tree
    reserved_frames lacp = reserved_frames::drop;   ///< ...-02, slow protocols
    reserved_frames lldp = reserved_frames::drop;   ///< ...-0e
    reserved_frames other = reserved_frames::drop;  ///< the remaining addresses up to ...-0f
    bool operator==(const reserved_groups&) const = default;
};

/// Dampening of MAC address moves: a MAC address that moves more often stays on its port for a while, and
/// frames from it on other ports are dropped. This limits loops.
struct move_damping {
    static constexpr uint32_t max_moves = 65'534;
    uint32_t moves = 5;  ///< 0: no limit
    uint32_t within_s = 1;
    uint32_t hold_s = 10;
    bool operator==(const move_damping&) const = default;
};

struct static_fdb_entry {
    mac_address mac{};
    uint16_t vlan = 0;  ///< 0: the bridge is VLAN-transparent
    auto operator<=>(const static_fdb_entry&) const = default;
};

struct bridge {
    std::vector<bridge_member> members{};
    uint32_t ageing_s = 300;
    uint32_t max_addresses = 65536;    ///< maximum of learnt FDB entries
    std::optional<mac_address> mac{};  ///< of its routed interfaces; none: the first port's
    reserved_groups reserved{};
    move_damping damping{};
    std::map<static_fdb_entry, std::string>
        fixed{};  ///< static FDB entries: port by MAC address and VLAN
    origin where{};
    bool operator==(const bridge&) const = default;

    [[nodiscard]] bool vlan_aware() const noexcept {
        return !members.empty() && members.front().mode != vlan_mode::unaware;
    }
    [[nodiscard]] const bridge_member* member(std::string_view port) const noexcept {
        for (const bridge_member& m : members)
            if (m.port == port) return &m;
        return nullptr;
    }
};

}  // namespace turnpike::state
