// SPDX-License-Identifier: BSD-3-Clause
// Match conditions of an L2 ACL rule, and their encoding for lib/acl: a frame's addresses, Ethertype and VLAN fit
// into the five words of an IPv4 key, and every bit of the addresses can be masked.
//
//   key4   source          destination     source_port  protocol, dscp  tcp_flags       vlan
//   frame  source's 2 - 5  destination's   type         source's 0, 1   destination's   VLAN
//
// The last four bytes of an address vary most, and are in the words that trees cut first
// (doc/design/0006-acl.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "acl/rule.hpp"
#include "net/mac.hpp"

namespace turnpike::state {

struct mac_match {
    mac_address value{}, mask{};
    bool operator==(const mac_match&) const = default;
};

struct l2_match {
    mac_match source{}, destination{};
    acl::port_range type{};        ///< after the tags; below 0x600 an IEEE 802.3 length
    acl::masked<uint16_t> vlan{};  ///< acl_key::tagged and the VLAN ID
    bool operator==(const l2_match&) const = default;
};

/// Conversion to and from a rule of lib/acl.
inline void put_l2(const l2_match& from, acl::rule& to) noexcept {
    const auto last = [](const mac_match& m) {
        acl::address_match out;
        std::copy_n(m.value.bytes + 2, 4, out.value.begin());
        std::copy_n(m.mask.bytes + 2, 4, out.mask.begin());
        return out;
    };
    to.source = last(from.source);
    to.destination = last(from.destination);
    to.protocol = {from.source.value.bytes[0], from.source.mask.bytes[0]};
    to.dscp = {from.source.value.bytes[1], from.source.mask.bytes[1]};
    to.tcp_flags = {load_be<uint16_t>(from.destination.value.bytes),
                    load_be<uint16_t>(from.destination.mask.bytes)};
    to.source_port = from.type;
    to.vlan = from.vlan;
}
inline l2_match l2_of(const acl::rule& from) noexcept {
    l2_match out{.type = from.source_port, .vlan = from.vlan};
    const auto last = [](const acl::address_match& m, mac_match& to) {
        std::copy_n(m.value.begin(), 4, to.value.bytes + 2);
        std::copy_n(m.mask.begin(), 4, to.mask.bytes + 2);
    };
    last(from.source, out.source);
    last(from.destination, out.destination);
    out.source.value.bytes[0] = from.protocol.value;
    out.source.value.bytes[1] = from.dscp.value;
    out.source.mask.bytes[0] = from.protocol.mask;
    out.source.mask.bytes[1] = from.dscp.mask;
    store_be(out.destination.value.bytes, from.tcp_flags.value);
    store_be(out.destination.mask.bytes, from.tcp_flags.mask);
    return out;
}

/// frame  starts with destination and source address
/// vlan   0: untagged; else acl_key::tagged and the VLAN ID
inline acl::key4 l2_key(const uint8_t* frame, uint16_t type, uint16_t vlan) noexcept {
    acl::key4 out{};
    const uint8_t *destination = frame, *source = frame + sizeof(mac_address);
    std::copy_n(source + 2, 4, out.source.begin());
    std::copy_n(destination + 2, 4, out.destination.begin());
    out.source_port = type;
    out.protocol = source[0];
    out.dscp = source[1];
    std::memcpy(&out.tcp_flags, destination, sizeof out.tcp_flags);
    out.vlan = vlan;
    return out;
}

}  // namespace turnpike::state
