// SPDX-License-Identifier: BSD-3-Clause
// A bridge as plain data: which ports are in it and how, and what it knows of stations by an operator's word.
// Modes and their rules are those of IEEE 802.1Q-2018 as Open vSwitch names them (ovs-vswitchd.conf.db(5),
// vlan_mode), so that a configuration can be carried over.
#pragma once

#include <array>
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

/// How a member looks at VLANs. Untagged: frames without a tag, or with one that is only a priority.
enum class vlan_mode : uint8_t {
    unaware,          ///< not at all: tags are bytes like others
    access,           ///< untagged, in and out: its `vlan`; others are dropped
    trunk,            ///< tagged, of its `vlans`; untagged are dropped
    native_tagged,    ///< as trunk; untagged ones are of its `vlan`, and leave tagged
    native_untagged,  ///< as trunk; frames of its `vlan` go without a tag, both ways
    dot1q_tunnel,     ///< every frame, with the tags that it has, is of its `vlan`
    count_
};
inline constexpr std::string_view vlan_mode_names[] = {
    "unaware", "access", "trunk", "native-tagged", "native-untagged", "dot1q-tunnel"};

inline constexpr uint16_t last_vlan = 4094;
using vlan_set = std::bitset<4096>;

/// Packets a second that may come in by a member to be flooded; 0: any number.
struct storm_rates {
    uint32_t broadcast = 0, multicast = 0, unknown = 0;
    bool operator==(const storm_rates&) const = default;
};

struct bridge_member {
    std::string port{};
    vlan_mode mode = vlan_mode::unaware;
    uint16_t vlan = 0;          ///< of untagged frames; 0: trunk, which takes none
    vlan_set vlans{};           ///< trunk, native_tagged, native_untagged: of tagged frames
    bool service_tags = false;  ///< its tags are IEEE 802.1ad's, type 88a8
    std::map<uint16_t, uint16_t>
        translate{};  ///< identifiers of tags on the wire: those in the bridge
    bool learning = true;
    bool flood_unknown = true;  ///< frames to unknown stations leave by it
    bool neigh_suppress =
        false;              ///< of a tunnel: it gets no question that is answered here (RFC 9161)
    bool locked = false;    ///< stations that are not known behind it may not send
    uint8_t isolation = 0;  ///< members of one group do not reach each other; 0: of none
    uint32_t max_addresses = 0;  ///< learnt behind it; 0: as many as the bridge knows
    storm_rates storm{};
    bool operator==(const bridge_member&) const = default;
};

/// What is done with frames to reserved group addresses (IEEE 802.1Q-2018 table 8-1).
enum class reserved_frames : uint8_t { drop, flood, punt };
inline constexpr std::string_view reserved_frames_names[] = {"drop", "flood", "punt"};
struct reserved_groups {
    reserved_frames stp = reserved_frames::flood;   ///< 01-80-c2-00-00-00: we run no spanning tree
    reserved_frames lacp = reserved_frames::drop;   ///< ...-02, slow protocols
    reserved_frames lldp = reserved_frames::drop;   ///< ...-0e
    reserved_frames other = reserved_frames::drop;  ///< the other ones up to ...-0f
    bool operator==(const reserved_groups&) const = default;
};

/// A station that moves more often than that is held where it was, and what comes in its name from
/// elsewhere is dropped meanwhile: so a loop does not go on for ever.
struct move_damping {
    uint32_t moves = 5;  ///< 0: no limit
    uint32_t within_s = 1;
    uint32_t hold_s = 10;
    bool operator==(const move_damping&) const = default;
};

struct fixed_station {
    mac_address mac{};
    uint16_t vlan = 0;  ///< 0: the bridge does not look at VLANs
    auto operator<=>(const fixed_station&) const = default;
};

struct bridge {
    std::vector<bridge_member> members{};
    uint32_t ageing_s = 300;
    uint32_t max_addresses = 65536;    ///< learnt
    std::optional<mac_address> mac{};  ///< of its routing interfaces; none: its first member's
    reserved_groups reserved{};
    move_damping damping{};
    std::map<fixed_station, std::string> fixed{};  ///< port by station
    origin where{};
    bool operator==(const bridge&) const = default;

    [[nodiscard]] bool looks_at_vlans() const noexcept {
        return !members.empty() && members.front().mode != vlan_mode::unaware;
    }
    [[nodiscard]] const bridge_member* member(std::string_view port) const noexcept {
        for (const bridge_member& m : members)
            if (m.port == port) return &m;
        return nullptr;
    }
};

}  // namespace turnpike::state
