// SPDX-License-Identifier: BSD-3-Clause
// Selects ARP and ND frames for suppression (RFC 9161 section 3). Everything that is not a request between two stations
// is flooded: ARP probes (RFC 5227), duplicate address detection (RFC 4862) and announcements. This is a prefilter:
// control validates each message again (control/slow_path/neigh_suppress.cpp).
#include "datapath/neigh_suppress.hpp"

#include <rte_mbuf.h>

#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/vlan_tag.hpp"
#include "packet/ipv6.hpp"

namespace turnpike::datapath {
namespace {

/// The bindings in an ARP or ND message: announced, and requested.
struct address_talk {
    address_key announced{}, requested{};
    uint32_t flags = 0;  ///< of a neighbour advertisement
    bool announces = false, requests = false;
};

address_talk read_arp(const uint8_t* frame, const uint8_t* l3, uint16_t domain) noexcept {
    const auto& arp = packet::header_at<packet::arp_message>(l3);
    const uint32_t sender = arp.sender_ip, target = arp.target_ip;
    address_talk is;
    if (sender == 0) return is;
    is.announces = arp.sender_mac == packet::header_at<packet::ethernet_header>(frame).source;
    is.announced = address_key_of(sender, domain);
    is.requests = arp.operation == packet::arp_request && sender != target;
    is.requested = address_key_of(target, domain);
    return is;
}

address_talk read_nd(const uint8_t* l3, uint16_t domain) noexcept {
    const auto& ip = packet::header_at<packet::ipv6_header>(l3);
    const auto& nd = packet::header_at<packet::nd_message>(l3 + sizeof ip);
    address_talk is;
    if (ip.next_header != packet::protocol_icmpv6 || ip.hop_limit != 255) return is;
    is.announces = nd.icmp.type == packet::icmp6_neighbour_advertisement;
    is.flags = nd.icmp.rest;
    is.requests = nd.icmp.type == packet::icmp6_neighbour_solicitation &&
                  ip.source != packet::ipv6_unspecified;
    is.announced = is.requested = address_key_of(nd.target, domain);
    return is;
}

class binding_listener {
  public:
    binding_listener(context& c, const burst& b) noexcept
        : c_(c), b_(b), t_(*c.snapshot->bridges) {}

    /// Answers  whether packet i is not flooded to members with neigh_suppress
    bool inspect(uint32_t i, bool flooded) noexcept {
        const address_talk talk = read(i);
        if (!talk.announces && !talk.requests) return false;
        const auto* frame = rte_pktmbuf_mtod(b_.packet[i], const uint8_t*);
        const bound_address who(packet::header_at<packet::ethernet_header>(frame).source,
                                talk.flags);
        const bool news = talk.announces && find(talk.announced).value() != who.value();
        const bool suppressed = talk.requests && flooded && (*frame & 1) != 0 &&
                                t_.exits[b_.in[i]].is == bridge_exit::member &&
                                is_known(talk.requested, i);
        if (!news && !answered_) return suppressed;
        const bool reported = report(i);
        return suppressed && (reported || !answered_);
    }

  private:
    [[nodiscard]] address_talk read(uint32_t i) const noexcept {
        const rte_mbuf* const m = b_.packet[i];
        const uint32_t l2 = packet::ethernet_bytes +
                            (b_.tag_in_frame >> i & 1) * uint32_t{sizeof(packet::vlan_tag)};
        const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
        if (m->data_len < l2 + sizeof(packet::arp_message)) return {};
        const auto type = load_be<uint16_t>(frame + l2 - 2);
        if (type == packet::ether_type_arp) return read_arp(frame, frame + l2, b_.domain[i]);
        if (type != packet::ether_type_ipv6 ||
            m->data_len < l2 + sizeof(packet::ipv6_header) + sizeof(packet::nd_message))
            return {};
        return read_nd(frame + l2, b_.domain[i]);
    }
    [[nodiscard]] bound_address find(const address_key& key) const noexcept {
        uint64_t value;
        static_cast<void>(t_.addresses->lookup({&key, 1}, {&value, 1}));
        return bound_address(value);
    }
    /// Whether the requested address has a binding and its MAC an FDB entry behind a member with neigh_suppress, for which
    /// control answers, or behind a port, which floods reach. Others must be flooded to: a tunnel without neigh_suppress,
    /// and a station with an address of the routing interface (VRRP's, of which another router may be the owner).
    bool is_known(const address_key& requested, uint32_t i) noexcept {
        answered_ = false;
        const bound_address has = find(requested);
        if (!has) return false;
        const fdb_key key = has.mac() | uint64_t{b_.domain[i]} << 48;
        uint32_t value;
        static_cast<void>(t_.fdb_entries->lookup({&key, 1}, {&value, 1}));
        const uint16_t ifindex = fdb_entry(value).ifindex();
        answered_ = t_.members[ifindex].neigh_suppress;
        return answered_ || t_.exits[ifindex].is == bridge_exit::member;
    }
    /// Send a copy to control. False: rate limit, or no buffer.
    bool report(uint32_t i) noexcept {
        constexpr uint32_t max_bytes = 512;  // enough for every message that is accepted
        if (c_.bursts_in_use == c_.made.size() || !c_.bridge_state->may_tell(b_.in[i], c_.now))
            return false;
        rte_mbuf* const m = b_.packet[i];
        rte_mbuf* const copy = rte_pktmbuf_copy(m, m->pool, 0, std::min(m->pkt_len, max_bytes));
        if (copy == nullptr) return false;
        if ((b_.tag_in_frame >> i & 1) != 0) vlan_pop(copy);
        c_.counters[b_.in_port].originated.add(1);
        burst& out = c_.made[c_.bursts_in_use];
        out.begin(1, b_.in_port);
        out.packet[0] = copy;
        out.in[0] = b_.in[i];
        out.domain[0] = b_.domain[i];
        out.nexthop[0] = fixed_nexthop::local;
        out.out[0] = {};
        out.parsed[0] = {};
        out.punt[0] = punt_reason::neigh_suppress;
        dispatch(c_.table, c_, out, enqueue(out, 1, stage::punt), [](size_t, packet_mask) {});
        return true;
    }

    context& c_;
    const burst& b_;
    const bridge_tables& t_;
    bool answered_ = false;  ///< control answers the current packet
};

}  // namespace

packet_mask suppress(context& c, const burst& b, packet_mask here, packet_mask flooded) noexcept {
    packet_mask suppressed = 0;
    for_each(here & ~b.from_irb, [&](uint32_t i) {
        binding_listener l(c, b);
        suppressed |= packet_mask{l.inspect(i, (flooded >> i & 1) != 0)} << i;
    });
    return suppressed;
}

}  // namespace turnpike::datapath
