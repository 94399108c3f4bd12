// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons of the datapath. The list continues that of lib/packet, whose numbers it keeps. Every packet that is freed
// instead of sent is counted under exactly one of them. The report prints the names under `drops`; graph.hpp lists
// the stage or handler that owns each reason.
#pragma once

#include "packet/drop_reason.hpp"

// clang-format off
// name, meaning, remedy: how the operator ends the drops
#define TURNPIKE_DATAPATH_DROP_REASONS(X) \
    /* Ethernet */ \
    X(ether_not_contiguous, "Ethernet header spans several mbufs and cannot be linearized", \
      "Give the port larger buffers, or turn scattered receive off in the peer that sends such packets: the " \
      "driver delivers headers in pieces.") \
    X(frame_too_long, "longer than a buffer, and the ports are set up for frames of one", \
      "Lower the sender's MTU to the port's `mtu`, or raise `mtu` of the ports that such frames cross and restart, so " \
      "that all of them are set up for frames in several buffers.") \
    X(stripped_tag_no_headroom, "the driver stripped the VLAN tag, and there is no headroom to put it back", \
      "Have the driver, or the peer that made the buffer, leave the tag in the frame; turnpike's own packet pool has " \
      "headroom for it.") \
    X(no_interface, "no interface matches the frame's port and VLAN tag", \
      "Add the VLAN to the port (`turnpikectl interface add PORT VLAN ...`), make the port a bridge member, or " \
      "correct the tag at the switch; `turnpikectl show interfaces` lists the VLANs that exist.") \
    X(interface_down, "ingress interface is administratively down in the kernel", \
      "Set the interface up (`ip link set INTERFACE up`, or `no shutdown` in the daemon), or set " \
      "`control_plane: {follow_admin_status: false}` to forward regardless.") \
    X(too_many_passes, "passed through more than the maximum of tunnels and routed bridges", \
      "Remove the loop between tunnels and bridges, or nest fewer of them: at most six passes are possible.") \
    /* IPv4 */ \
    X(ipv4_source_routed, "source route option on an interface that rejects it (RFC 7126)", \
      "Set `accept_source_route: true` on the interface if a measurement needs source routes; else leave them " \
      "dropped (RFC 7126).") \
    /* Neighbour discovery */ \
    X(nd_sender_is_us, "neighbour solicitation from the interface's own address: an address conflict", \
      "Give one of the two hosts another address: the log has the other host's MAC address.") \
    X(nd_not_contiguous, "message spans several mbufs and cannot be linearized", \
      "Capture the packets: neighbour discovery is never that large.") \
    /* Routing */ \
    X(dst_mac_not_ours, "unicast destination MAC address is not ours", \
      "Compare the destination MAC address with `turnpikectl show interfaces`: the sender's ARP entry is stale, " \
      "the switch floods, or an address of a VRRP peer is missing in `extra_macs`.") \
    X(l2_multicast, "unicast IP packet in a broadcast or multicast frame", \
      "Correct the sender: a unicast IP packet must have the router's MAC address (RFC 1812 section 5.3.4).") \
    X(vlan_on_routed_port, "VLAN-tagged, and the port has no sub-interfaces", \
      "Add an interface for the VLAN (`turnpikectl interface add PORT VLAN ...`), or send untagged at the switch.") \
    X(urpf, "reverse path check (uRPF) failed", \
      "Add a route to the source by the ingress interface, set `urpf: loose` where paths are asymmetric, or find " \
      "the spoofing host.") \
    X(no_route, "no route to the destination", \
      "Add a route or a default route, or find out why the daemon's is missing: `turnpikectl show route ADDRESS`, " \
      "`show control-plane`.") \
    X(route_blackhole, "the route is a blackhole", \
      "Delete the blackhole route if the destination should be reachable: `turnpikectl show route ADDRESS` names " \
      "its origin.") \
    X(route_unreachable, "the route is unreachable", \
      "Delete the unreachable route if the destination should be reachable: `turnpikectl show route ADDRESS` " \
      "names its origin.") \
    X(bogon_destination, "destination address is not forwarded (RFC 6890)", \
      "Set `drop_bogons: false`, or add a route, if your network uses the block (RFC 6890).") \
    X(route_prohibited, "the route is prohibit", \
      "Delete the prohibit route if the destination should be reachable: `turnpikectl show route ADDRESS` names " \
      "its origin.") \
    X(route_not_followed, "the kernel's route is one that turnpike cannot forward by", \
      "`turnpikectl show control-plane not-followed` names the route and the reason: give the prefix a route without " \
      "encapsulation, TOS or source prefix, via a mirrored interface.") \
    X(directed_broadcast, "to the broadcast or network address of a connected network", \
      "Send to hosts instead: directed broadcasts are not forwarded (RFC 2644).") \
    X(ipv4_too_big, "exceeds the egress MTU, don't-fragment set", \
      "Raise the `mtu` of the egress port and its link, or let path MTU discovery work: do not filter ICMP type 3 " \
      "code 4 on the way back.") \
    X(ipv4_needs_fragmenting, "exceeds the egress MTU and needs more than 120 fragments", \
      "Raise the MTU of the egress port: it is too small for the packets.") \
    X(fragment_memory, "no free mbuf for a fragment", \
      "Enlarge the packet pool (`mempool.buffers`), or raise the egress MTU so that fewer packets are fragmented.") \
    X(ipv6_too_big, "exceeds the egress MTU", \
      "Raise the `mtu` of the egress port and its link, or let path MTU discovery work: do not filter ICMPv6 type " \
      "2 on the way back.") \
    X(headers_not_contiguous, "headers span several mbufs and cannot be linearized", \
      "Capture the packets: their headers exceed 256 bytes, or the driver delivers headers in pieces.") \
    X(link_local, "destination is an IPv6 link-local address", \
      "Correct the sender: link-local destinations are reachable on their link only.") \
    X(link_local_source, "source is an IPv6 link-local address", \
      "Give the source host a global address: packets from link-local addresses stay on their link.") \
    X(neighbour_failed, "next hop does not answer ARP or neighbour solicitations", \
      "Check that the next hop is up, in the same VLAN and has the address: `turnpikectl show neighbours`; `ping` " \
      "it from turnpike's side; capture ARP by `turnpikectl capture PORT --filter arp`.") \
    X(neighbour_queue_full, "the next hop's queue of pending packets is full", \
      "Nothing, for the first packets of a flow; otherwise raise `neighbours.queue_len`.") \
    X(neighbour_limit, "the neighbour table is full", \
      "Raise `neighbours.max_entries`, or find the scan that fills the table: `turnpikectl show neighbours`.") \
    X(pending_limit, "limit of pending packets of all neighbours; the oldest one is dropped", \
      "Find the scan that resolves many absent addresses at once by `turnpikectl trace 10 dropped`, and deny it " \
      "by an ACL.") \
    X(neighbour_rate, "ARP or neighbour discovery over the rate limit of its interface or host", \
      "Find the loop or the storming host by a capture of ARP; raise `neighbours.rate` for a very large segment.") \
    X(resolve_rate, "unknown neighbour, and solicitations are over their interface's rate", \
      "Find the scan of absent addresses by `turnpikectl trace 10 dropped`; raise `neighbours.solicit_rate` for a " \
      "very large segment.") \
    X(acl_deny, "denied by the ingress ACL", \
      "Ask `turnpikectl explain` for the rule and the rules that almost matched; `turnpikectl rule add LIST " \
      "permit ... at N` permits the packet.") \
    X(acl_deny_out, "denied by the egress ACL", \
      "Ask `turnpikectl explain` for the rule and the rules that almost matched; `turnpikectl rule add LIST " \
      "permit ... at N` permits the packet.") \
    X(acl_l2_deny, "denied by the ingress L2 ACL", \
      "Ask `turnpikectl explain` for the rule and the rules that almost matched; an L2 ACL with default deny " \
      "needs rules for ARP and neighbour discovery, too.") \
    X(acl_l2_deny_out, "denied by the egress L2 ACL", \
      "Ask `turnpikectl explain` for the rule and the rules that almost matched; an L2 ACL with default deny " \
      "needs rules for ARP and neighbour discovery, too.") \
    /* Bridging */ \
    X(bridge_vlan, "the bridge port is not a member of the frame's VLAN", \
      "Add the VLAN to the member's `trunks` or `vlan`, or correct the tag at the switch: `turnpikectl show bridges`.") \
    X(bridge_source_own, "source MAC address is the bridge's own routed interface", \
      "Look for a bridging loop: the bridge's own frames come back.") \
    X(bridge_locked, "source MAC address is not in the FDB of a locked port", \
      "Add the station: `turnpikectl fdb add BRIDGE MAC port PORT`; or unlock the port.") \
    X(bridge_moving, "source MAC address moves too often and is dampened on another port", \
      "Look for a bridging loop or a duplicate MAC address: `turnpikectl show fdb mac MAC`; raise `damping.moves` " \
      "where stations roam.") \
    X(bridge_same_port, "the destination MAC address is on the ingress port", \
      "Nothing, where the switch on that port floods; a lasting high rate means that the switch forgets the station.") \
    X(bridge_isolated, "between two ports of one isolation group", \
      "Put one of the two ports into another `isolation` group if they should reach each other.") \
    X(bridge_too_big, "longer than the MTU of the bridge's ports allows", \
      "Give the ports of the bridge the MTU of the sender's link, or the sender a smaller one; out of a tunnel, also see " \
      "the remote endpoint's MTU.") \
    X(bridge_reserved, "reserved group address that bridges do not forward (01-80-c2-00-00-0x)", \
      "Set `reserved: {stp: flood}` (lacp, lldp, other) at the bridge if link protocols should pass.") \
    X(bridge_storm_broadcast, "broadcast over the port's storm control rate", \
      "Look for a loop or a storming host by a capture; raise the member's `storm.broadcast` if the rate is normal.") \
    X(bridge_storm_multicast, "multicast over the port's storm control rate", \
      "Look for a loop or a storming host by a capture; raise the member's `storm.multicast` if the rate is normal.") \
    X(bridge_storm_unknown, "unknown unicast over the port's storm control rate", \
      "Look for a station that never sends, and so is never learnt; raise the member's `storm.unknown` if the " \
      "rate is normal.") \
    X(flood_no_member, "flooded, and the bridge domain has no other port with link up that takes it; a tunnel with " \
      "neigh_suppress takes no ARP or ND request that is answered", \
      "Check the links of the bridge's other members: `turnpikectl show ports`, and that they are in the frame's VLAN.") \
    X(flood_memory, "no free mbuf for a flooded copy", \
      "Enlarge the packet pool (`mempool.buffers`), or limit floods by the members' `storm`.") \
    X(mirror_memory, "no free mbuf for a mirrored copy; the frame itself is forwarded", \
      "Enlarge the packet pool (`mempool.buffers`), or mirror less: `vlan` or `sample` of the mirror.") \
    X(mirror_unreachable, "no path to a mirror's remote address, or its neighbour is not resolved yet; the frame itself is " \
      "forwarded", \
      "Ask `turnpikectl show route ADDRESS` for the path to the mirror's `remote`, and `show neighbours` for its next hop.") \
    X(vlan_no_headroom, "no headroom for a VLAN tag", \
      "Use turnpike's own packet pool for the port: its buffers have headroom for tags.") \
    /* Tunnels */ \
    X(vxlan_truncated, "truncated inside the UDP or VXLAN header, or UDP length exceeds the packet", \
      "Compare the packet with the sender's by a capture: a device on the path, or a wrong MTU, cuts packets.") \
    X(vxlan_checksum, "UDP checksum is wrong, or 0 where the tunnel requires one", \
      "Set the tunnel's `checksum: false` at both ends if the peer sends no UDP checksums over IPv6; else look " \
      "for a damaging device.") \
    X(vxlan_flags, "the I flag (valid VNI) is not set", \
      "Correct the peer, or the UDP port: the packet is not VXLAN (RFC 7348 section 5).") \
    X(vxlan_reserved, "reserved bits are set: an extension that the tunnel does not support", \
      "Set the tunnel's `ignore_reserved: true`, or turn the extension (group policy, GPE) off at the peer.") \
    X(vxlan_unknown_vni, "no tunnel with the packet's VNI", \
      "Add a tunnel with the VNI: `turnpikectl show tunnels` lists the existing ones.") \
    X(vxlan_unknown_vtep, "the VNI has no tunnel to the packet's source address", \
      "Add a tunnel to the packet's source address, or correct the peer's source address.") \
    X(vxlan_inner_runt, "inner frame is shorter than an Ethernet header", \
      "Capture the packets: the peer builds them wrong.") \
    X(ecn_decap, "outer ECN is CE and the inner packet is not ECN-capable (RFC 6040)", \
      "Correct the ECN marking of the sender: RFC 6040 section 4.2 requires the drop.") \
    X(tunnel_too_big, "exceeds the tunnel's MTU", \
      "Lower the MTU of the stations, or raise the tunnel's `mtu` together with the underlay's.") \
    X(tunnel_no_headroom, "no headroom for the tunnel headers", \
      "Use turnpike's own packet pool for the port: its buffers have headroom for tunnel headers.") \
    X(tunnel_to_self, "the tunnel's remote endpoint is a local address", \
      "Correct the tunnel's `remote`, or the route to it: it leads to a local address.") \
    X(clone_depth, "nested floods: a flood into a tunnel inside a flood", \
      "Remove the loop between tunnels and bridges: a flood into a tunnel arrives at another flood here.") \
    /* For us */ \
    X(local_protocol, "for us, and no local service for its protocol or port", \
      "Set `host_interface: true` if a daemon on this host should get the packet; else the sender uses a service " \
      "that turnpike does not have.") \
    X(local_fragment, "fragment for us: turnpike does not reassemble", \
      "Set `host_interface: true`, so that the kernel reassembles, or lower the packet size at the sender.") \
    X(duplicate_address, "to a local address that failed duplicate address detection", \
      "Remove the address from the other host, or from turnpike; the log names the other host's MAC address.") \
    X(icmp_rate, "echo request over the ICMP rate limit of its interface", \
      "Raise `icmp.rate` if so many echo requests are normal.") \
    X(host_if_rate, "for the kernel, over the rate limit of its interface and class", \
      "Raise `control_plane.rate`, or find the sender by `turnpikectl show punt`.") \
    X(host_if_refused, "for the kernel, and its interface there is down", \
      "Bring the interface up in the kernel: `ip link set INTERFACE up`.") \
    X(punt_rate, "for the control thread, over the rate of its class on its interface", \
      "Find the sender by `turnpikectl show punt` and a capture; raise `punt_rate` of the class if the rate is normal.") \
    X(punt_ring_full, "punt ring to the control thread is full", \
      "Find the sender by `turnpikectl show punt`, and lower `punt_rate` so that the control thread keeps up.") \
    X(inject_ring_full, "inject ring from the control thread to the worker is full", \
      "Check whether the workers are overloaded: `turnpikectl show cost`.") \
    X(originated_no_route, "originated by turnpike, and no route to its destination", \
      "Add a route to the destination that turnpike answers: `turnpikectl show route ADDRESS`.") \
    X(originated_too_big, "originated by turnpike, exceeds the egress MTU and must not be fragmented", \
      "Raise the MTU of the egress port.") \
    X(interface_gone, "interface was removed while the control thread had the packet", \
      "Nothing: the interface was deleted at that moment.") \
    X(control_memory, "control thread had no memory for the packet", \
      "Give the host more memory: an allocation of the control thread failed.") \
    /* Sending */ \
    X(port_down, "egress port has no link", \
      "Check the cable, the peer, the port's `shutdown` and `turnpikectl show ports`: the egress port has no link.") \
    X(stopping, "in the receive ring when turnpike stopped", \
      "Nothing: turnpike stopped at that moment.") \
    X(port_shutdown, "in the receive ring of a port that was taken out of service by `shutdown`", \
      "Nothing: the frames arrived before the port was put back into service.")

// The remedies of lib/packet's reasons, in that list's order: lib/packet does not depend on turnpike's commands and settings.
#define TURNPIKE_PACKET_DROP_REMEDIES(X) \
    X(runt, \
      "Check the cable and the sender's NIC: a driver that truncates frames, or a mirror port with a snap length, " \
      "sends runts.") \
    X(ether_source_group, \
      "Find the sender by `turnpikectl capture PORT --reason ether_source_group`: its NIC or a frame generator " \
      "has a wrong source address.") \
    X(ether_type_unknown, \
      "Nothing, if the protocol belongs to the link (LLDP, LACP, STP). To forward it, make the port a member of a " \
      "bridge or a cross-connect.") \
    X(vlan_truncated, \
      "Capture the frames by `turnpikectl capture PORT --reason vlan_truncated`: the sender builds them wrong.") \
    X(vlan_id_reserved, "Change the VLAN ID at the sender: IEEE 802.1Q reserves 4095.") \
    X(vlan_depth, \
      "Bridge or cross-connect the port without an ACL instead of routing on it, or remove a tag at the sender.") \
    X(arp_truncated, \
      "Capture the frames by `turnpikectl capture PORT --reason arp_truncated`: the sender builds them wrong.") \
    X(arp_format, "Nothing, for ARP of another hardware or protocol type; else correct the sender.") \
    X(arp_operation, "Nothing: reverse and inverse ARP are not for a router.") \
    X(arp_sender_mac, "Find the sender by a capture: it announces an address that no host may have.") \
    X(arp_sender_ip, "Find the sender by a capture: it claims 0.0.0.0, a loopback or a multicast address.") \
    X(arp_sender_is_us, "Give one of the two hosts another address: the log has the other host's MAC address.") \
    X(ipv4_truncated, \
      "Compare the frame with the sender's by a capture: a device on the path, or a wrong MTU, cuts packets.") \
    X(ipv4_version, "Capture the frames: the Ethertype says IPv4, and the contents do not.") \
    X(ipv4_header_length, "Capture the frames: the sender or a device on the path damages headers.") \
    X(ipv4_total_length, "Capture the frames: the sender or a device on the path damages headers.") \
    X(ipv4_fragment_beyond_end, "Treat the source as hostile (ping of death), and deny it by an ACL.") \
    X(ipv4_checksum, \
      "Look for a damaging device or memory on the path before turnpike; a virtual peer may have to turn TX " \
      "checksum offload off.") \
    X(ipv4_ttl, "Look for a routing loop by `traceroute`; traceroute itself also causes this drop.") \
    X(ipv4_source, \
      "Correct the source host: 0.0.0.0/8, 127.0.0.0/8, multicast, broadcast and the router's own addresses are " \
      "no valid sources.") \
    X(ipv4_destination, "Correct the sender: loopback, multicast and 240.0.0.0/4 are not forwarded.") \
    X(ipv4_source_is_destination, "Treat the source as hostile (a LAND attack), and deny it by an ACL.") \
    X(ipv6_truncated, \
      "Compare the frame with the sender's by a capture: a device on the path, or a wrong MTU, cuts packets.") \
    X(ipv6_version, "Capture the frames: the Ethertype says IPv6, and the contents do not.") \
    X(ipv6_jumbogram, "Lower the packet size at the sender: jumbograms (RFC 2675) are not forwarded.") \
    X(ipv6_chain_truncated, "Capture the packets: the sender builds them wrong, or an attacker probes.") \
    X(ipv6_chain_long, \
      "Nothing, for most networks: real chains have one or two headers, and longer ones evade filters (RFC 8883).") \
    X(ipv6_hop_by_hop_late, "Capture the packets: the sender violates RFC 8200 section 4.1.") \
    X(ipv6_routing_type_0, "Nothing: RFC 5095 deprecates the type 0 routing header.") \
    X(ipv6_fragment_twice, "Treat the source as hostile: nested fragments evade filters.") \
    X(ipv6_hop_limit, "Look for a routing loop by `traceroute -6`; traceroute itself also causes this drop.") \
    X(ipv6_source, \
      "Correct the source host: ::, ::1, multicast, IPv4-mapped and the router's own addresses are no valid " \
      "sources.") \
    X(ipv6_destination, "Correct the sender: ::, ::1, IPv4-mapped and multicast destinations are not forwarded.") \
    X(ipv6_source_is_destination, "Treat the source as hostile (a LAND attack), and deny it by an ACL.") \
    X(icmp_truncated, "Capture the packets: the sender builds them wrong.") \
    X(icmp_checksum, "Look for a damaging device on the path; a virtual peer may have to turn TX checksum offload off.") \
    X(nd_type, \
      "Capture the packets by `turnpikectl capture PORT --reason nd_type`: the ICMPv6 type is none of neighbour " \
      "discovery's.") \
    X(nd_fragment, "Treat the source as hostile: no host fragments neighbour discovery (RFC 6980).") \
    X(nd_hop_limit, "Treat the source as hostile: the message came through a router (RFC 4861 section 7.1).") \
    X(nd_code, "Capture the packets: the sender builds them wrong (RFC 4861 section 7.1).") \
    X(nd_option_empty, "Capture the packets: the sender builds them wrong (RFC 4861 section 4.6).") \
    X(nd_option_truncated, "Capture the packets: the sender builds them wrong (RFC 4861 section 4.6).") \
    X(nd_option_source, "Capture the packets: the sender violates RFC 4861 section 7.1.1.") \
    X(nd_source, "Capture the packets, and find the sender by its MAC address: its source address is not valid.") \
    X(nd_destination, "Capture the packets: the sender violates RFC 4861 section 7.1.1.") \
    X(nd_target, "Capture the packets: the sender asks for an address that no neighbour can have.") \
    X(nd_solicited, "Capture the packets: the sender violates RFC 4861 section 7.1.2.") \
    X(nd_link_address, "Find the sender by a capture: it announces a MAC address that no host may have.") \
    X(tx_refused, \
      "The egress port is overloaded: `turnpikectl show pcie` and `watch ports` tell whether by its link. Add " \
      "links (ECMP, LACP), police senders, or give the port more `descriptors` against bursts.")
// clang-format on

namespace turnpike::datapath {

/// The first value, none, is not a drop.
enum class drop_reason : uint8_t {
    none,
#define TURNPIKE_PACKET_REASON(name, meaning) name,
#define TURNPIKE_DROP_REASON(name, meaning, remedy) name,
    TURNPIKE_PACKET_DROP_REASONS(TURNPIKE_PACKET_REASON)
        TURNPIKE_DATAPATH_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
#undef TURNPIKE_PACKET_REASON
            count_  ///< number of values
};

/// The datapath's value for a drop reason of lib/packet.
constexpr drop_reason drop_reason_of(packet::drop_reason reason) noexcept {
    return static_cast<drop_reason>(reason);
}
static_assert(drop_reason_of(packet::drop_reason::tx_refused) == drop_reason::tx_refused);

/// Name in the report, meaning, and the operator's remedy.
struct drop_text {
    std::string_view name, meaning, remedy;
};
inline constexpr drop_text drop_texts[] = {{"none", "not dropped", "Nothing."},
#define TURNPIKE_PACKET_REMEDY(name, remedy) \
    {#name, packet::drop_texts[static_cast<size_t>(packet::drop_reason::name)].meaning, remedy},
#define TURNPIKE_DROP_REASON(name, meaning, remedy) {#name, meaning, remedy},
                                           TURNPIKE_PACKET_DROP_REMEDIES(TURNPIKE_PACKET_REMEDY)
                                               TURNPIKE_DATAPATH_DROP_REASONS(TURNPIKE_DROP_REASON)
#undef TURNPIKE_DROP_REASON
#undef TURNPIKE_PACKET_REMEDY
};
inline constexpr size_t drop_reasons = static_cast<size_t>(drop_reason::count_);
static_assert(std::size(drop_texts) == drop_reasons, "a reason of lib/packet has no remedy here");
static_assert(drop_reasons <= packet::max_drop_reasons);
/// The remedies of lib/packet's reasons stand in its order.
static_assert([] {
    for (size_t i = 0; i < packet::drop_reasons; ++i)
        if (drop_texts[i].name != packet::drop_texts[i].name) return false;
    return true;
}());

constexpr std::string_view name(drop_reason reason) noexcept {
    return drop_texts[static_cast<size_t>(reason)].name;
}
constexpr const drop_text& text_of(drop_reason reason) noexcept {
    return drop_texts[static_cast<size_t>(reason)];
}
/// Null: no reason has this name.
constexpr const drop_text* find_drop(std::string_view wanted) noexcept {
    for (const drop_text& text : drop_texts)
        if (text.name == wanted) return &text;
    return nullptr;
}

}  // namespace turnpike::datapath
