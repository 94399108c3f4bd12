// SPDX-License-Identifier: BSD-3-Clause
// VXLAN tunnels that end here (RFC 7348). A remote VTEP is an interface and a bridge member like a port,
// with the same learning, flooding, isolation and ACLs.
//
//   in    outer headers --(endpoint, VNI)--> index of its interface --> its bridge, by in[]
//   out   a member's index --> tunnel_end: its prebuilt headers --> the routes of its VRF
//
// A multicast group of VTEPs is one more remote endpoint, and one more local address.
//
// These tables are immutable, like the snapshot that points to them (doc/design/0019-vxlan.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "counters/counter.hpp"
#include "datapath/interface.hpp"
#include "net/ip.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"
#include "tunnel/endpoint_cache.hpp"

namespace turnpike::datapath {

/// A remote VTEP: the headers in front of frames to it.
struct alignas(64) tunnel_end {
    // Ethernet, IP, UDP and VXLAN headers.
    static constexpr size_t behind_ip = sizeof(packet::udp_header) + sizeof(packet::vxlan_header);
    static constexpr size_t ipv4_header_bytes =
        packet::ethernet_bytes + sizeof(packet::ipv4_header) + behind_ip;
    static constexpr size_t ipv6_header_bytes =
        packet::ethernet_bytes + sizeof(packet::ipv6_header) + behind_ip;

    uint16_t header_bytes = 0;  ///< ipv4_header_bytes or ipv6_header_bytes; 0: unused index
    uint16_t mtu = 0;           ///< of inner frames, in bytes of layer 3
    uint16_t tag_type = packet::ether_type_vlan;  ///< TPID of inner tags
    bool v6 = false;
    bool sums = false;              ///< sends UDP checksums; over IPv6 also requires them
    bool ignores_reserved = false;  ///< accepts VXLAN headers with reserved bits set
    /// sends with DF clear: routers may fragment, so packets need an identification
    bool fragments = false;
    /// Fast path for decapsulated frames: no ACL, inner tags are not examined, and no UDP checksum
    /// is required.
    bool simple = false;
    /// Bits of the outer traffic class copied from the inner header; the two ECN bits always are
    /// (RFC 6040).
    uint8_t inherited = 0xff;
    uint8_t traffic_class = 0;  ///< the other bits
    /// Ethernet (zero), IP, UDP, VXLAN; lengths, ECN, source port and checksums are 0.
    std::array<uint8_t, ipv6_header_bytes> header{};
    uint16_t header_sum = 0;  ///< IPv4: sum of the prebuilt header, for native_sum
    /// sum of the pseudo-header's addresses and protocol, for native_sum
    uint64_t address_sum = 0;
};

/// Lookup tables for VXLAN packets to us.
struct tunnel_tables {
    template <class Address>
    struct local_end {
        Address address;
        uint8_t vrf;
        uint16_t port;  ///< UDP destination port
        bool operator==(const local_end&) const = default;
    };
    /// Local VTEP addresses and joined groups. The index of an IPv4 one is part of endpoint4 keys.
    std::vector<local_end<uint32_t>> ends4{};
    std::vector<local_end<ipv6_address>> ends6{};
    std::unique_ptr<tunnel::endpoint_table<tunnel::endpoint4>> from4{};
    std::unique_ptr<tunnel::endpoint_table<tunnel::endpoint6>> from6{};
    std::vector<uint16_t> ports{};  ///< UDP ports of all local VTEPs; not empty
    /// Known (local end, VNI) pairs, by index into ends4 or ends6; sorted.
    std::vector<uint64_t> networks4{}, networks6{};
    std::vector<tunnel_end> by_ifindex{};  ///< [max_interfaces]
    uint64_t generation = 0;               ///< differs between any two versions of these tables

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
    /// Whether a packet to a local address or group is VXLAN for one of these ends.
    /// l3  its IP header
    [[nodiscard]] bool end(const packet::parsed& p, const uint8_t* l3, uint8_t vrf) const noexcept {
        if (p.upper_protocol != packet::protocol_udp || !p.is(packet::flag_ports) ||
            p.is(packet::flag_fragment) || !has_port(p.destination_port))
            return false;
        const uint16_t at =
            p.is_ipv4() ? end_of(uint32_t{packet::header_at<packet::ipv4_header>(l3).destination},
                                 vrf, p.destination_port)
                        : end_of(packet::header_at<packet::ipv6_header>(l3).destination, vrf,
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

/// Threads  written by one worker, read by anyone.
struct tunnel_counters {
    counters::counter rx_packets, rx_bytes, tx_packets, tx_bytes;  ///< of inner frames
};

/// Per-worker tunnel state.
/// Threads  the worker's; counters are read by any thread.
class tunnel_worker_state {
  public:
    explicit tunnel_worker_state(const tunnel::finder* find);

    /// Empty the caches if they are of other tables.
    void know(const tunnel_tables& t) noexcept {
        if (t.generation == generation_) [[likely]]
            return;
        generation_ = t.generation;
        from4.forget();
        from6.forget();
    }
    [[nodiscard]] tunnel_counters& of(uint16_t ifindex) noexcept { return counters_[ifindex]; }
    [[nodiscard]] const tunnel_counters& of(uint16_t ifindex) const noexcept {
        return counters_[ifindex];
    }

    tunnel::endpoint_cache<tunnel::endpoint4> from4;
    tunnel::endpoint_cache<tunnel::endpoint6> from6;

  private:
    std::unique_ptr<tunnel_counters[]> counters_;  ///< [max_interfaces]
    uint64_t generation_ = 0;
};

}  // namespace turnpike::datapath
