// SPDX-License-Identifier: BSD-3-Clause
// Tunnels that end here: VXLAN (RFC 7348). A remote endpoint is an interface, and a bridge's member like a port:
// what comes from it is learnt, flooded, isolated and judged as elsewhere.
//
//   in    outer headers --(endpoint, VNI)--> place of its interface --> its bridge, by in[]
//   out   a member's place --> tunnel_end: its ready-made headers --> the routes of its VRF
//
// A group of endpoints is one more way out, and one more address that endpoints send to.
//
// The tables never change, like the view that they hang on (doc/design/0019-vxlan.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cost/counter.hpp"
#include "datapath/interface.hpp"
#include "net/ip.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"
#include "tunnel/endpoint_cache.hpp"

namespace turnpike::datapath {

/// One way out: what stands in front of its frames.
struct alignas(64) tunnel_end {
    // From Ethernet's first to VXLAN's last.
    static constexpr size_t behind_ip = sizeof(packet::udp_header) + sizeof(packet::vxlan_header);
    static constexpr size_t ipv4_header_bytes =
        packet::ethernet_bytes + sizeof(packet::ipv4_header) + behind_ip;
    static constexpr size_t ipv6_header_bytes =
        packet::ethernet_bytes + sizeof(packet::ipv6_header) + behind_ip;

    uint16_t header_bytes = 0;                    ///< one of these; 0: nobody's
    uint16_t mtu = 0;                             ///< bytes of layer 3 of a frame inside
    uint16_t tag_type = packet::ether_type_vlan;  ///< of the tags inside that are looked at
    bool v6 = false;
    bool sums = false;              ///< UDP checksums are sent; over IPv6 they are asked for, too
    bool ignores_reserved = false;  ///< reserved bits of VXLAN's header may be set
    bool fragments = false;         ///< routers may cut its packets: they need identifiers
    /// A frame that comes out is one for its bridge as it is: no list judges it, nobody looks at its tag, and it need
    /// have no checksum.
    bool simple = false;
    /// Bits of its traffic class that are the frame's own: the last two, the congestion mark, always are.
    uint8_t inherited = 0xff;
    uint8_t traffic_class = 0;  ///< the others
    /// Ethernet (zero), IP, UDP, VXLAN; lengths, marks, source port and checksums are 0.
    std::array<uint8_t, ipv6_header_bytes> header{};
    uint16_t header_sum = 0;   ///< IPv4: of its header as it stands there, for native_sum
    uint64_t address_sum = 0;  ///< of the pseudo-header's addresses and protocol, for native_sum
};

/// What lookups of endpoints hang on.
struct tunnel_tables {
    template <class Address>
    struct local_end {
        Address address;
        uint8_t vrf;
        uint16_t port;  ///< UDP's
        bool operator==(const local_end&) const = default;
    };
    /// Ours, and groups that we are in. Of IPv4 by its number in endpoint keys.
    std::vector<local_end<uint32_t>> ends4{};
    std::vector<local_end<ipv6_address>> ends6{};
    std::unique_ptr<tunnel::endpoint_table<tunnel::endpoint4>> from4{};
    std::unique_ptr<tunnel::endpoint_table<tunnel::endpoint6>> from6{};
    std::vector<uint16_t> ports{};  ///< at which of them any tunnel ends; not empty
    /// By endpoint: number of the end, or of it among the IPv6 ones, and VNI; sorted.
    std::vector<uint64_t> networks4{}, networks6{};
    std::vector<tunnel_end> by_place{};  ///< [max_interfaces]
    uint64_t generation = 0;             ///< another one's is another

    static constexpr uint16_t no_end = 0xffff;
    [[nodiscard]] uint16_t end_of(uint32_t address, uint8_t vrf, uint16_t port) const noexcept {
        return find(ends4, local_end<uint32_t>{address, vrf, port});
    }
    [[nodiscard]] uint16_t end_of(const ipv6_address& address, uint8_t vrf,
                                  uint16_t port) const noexcept {
        return find(ends6, local_end<ipv6_address>{address, vrf, port});
    }
    [[nodiscard]] bool has_port(uint16_t port) const noexcept {
        return std::find(ports.begin(), ports.end(), port) != ports.end();
    }
    /// Does a packet to one of ours, an address or a group, come out of a tunnel?
    /// l3  its header
    [[nodiscard]] bool end(const packet::parsed& p, const uint8_t* l3, uint8_t vrf) const noexcept {
        if (p.upper_protocol != packet::protocol_udp || !p.is(packet::flag_ports) ||
            p.is(packet::flag_fragment) || !has_port(p.destination_port))
            return false;
        const uint16_t at =
            p.is_ipv4() ? end_of(uint32_t{packet::view<packet::ipv4_header>(l3).destination}, vrf,
                                 p.destination_port)
                        : end_of(packet::view<packet::ipv6_header>(l3).destination, vrf,
                                 p.destination_port);
        return at != no_end;
    }
    static constexpr uint64_t network_of(uint16_t end, uint32_t vni) noexcept {
        return uint64_t{end} << 32 | vni;
    }

  private:
    template <class End>
    static uint16_t find(const std::vector<End>& in, const End& wanted) noexcept {
        for (size_t i = 0; i < in.size(); ++i)
            if (in[i] == wanted) return static_cast<uint16_t>(i);
        return no_end;
    }
};
inline constexpr size_t most_tunnel_ends = 255;  ///< of ours, of each family: endpoint4 has 8 bits

/// Threads  written by one worker, read by anyone.
struct tunnel_counters {
    cost::counter rx_packets, rx_bytes, tx_packets, tx_bytes;  ///< of frames inside
};

/// What a worker keeps for tunnels.
/// Threads  the worker's own; counters are read by anyone.
class tunnel_books {
  public:
    explicit tunnel_books(const tunnel::finder* find);

    /// The caches, for these tables.
    void know(const tunnel_tables& t) noexcept {
        if (t.generation == generation_) [[likely]]
            return;
        generation_ = t.generation;
        from4.forget();
        from6.forget();
    }
    [[nodiscard]] uint16_t next_identifier() noexcept { return ++identifier_; }

    /// [max_interfaces] by place: the packet of some burst that was the first one to that endpoint.
    [[nodiscard]] uint8_t* first_seen() noexcept { return first_seen_.get(); }
    [[nodiscard]] tunnel_counters& of(uint16_t place) noexcept { return counters_[place]; }
    [[nodiscard]] const tunnel_counters& of(uint16_t place) const noexcept {
        return counters_[place];
    }

    tunnel::endpoint_cache<tunnel::endpoint4> from4;
    tunnel::endpoint_cache<tunnel::endpoint6> from6;

  private:
    std::unique_ptr<tunnel_counters[]> counters_;  ///< [max_interfaces]
    std::unique_ptr<uint8_t[]> first_seen_;
    uint64_t generation_ = 0;
    uint16_t identifier_ = 0;
};

}  // namespace turnpike::datapath
