// SPDX-License-Identifier: BSD-3-Clause
// Policing of punted packets, in the worker and before the punt rings: a token bucket per ingress interface and class
// (punt_class.hpp). A flood on one interface, or of one class, thus fills no ring and costs control no time
// that other packets need. Only punted packets come here.
#pragma once

#include <array>
#include <cstdlib>
#include <memory>

#include "base/token_bucket.hpp"
#include "counters/counter.hpp"
#include "datapath/burst.hpp"
#include "datapath/interface.hpp"
#include "datapath/punt_class.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

/// By class, in TSC cycles.
using punt_rates = std::array<token_rate, punt_classes>;

/// Whether a packet to us is of a protocol whose loss ends sessions or adjacencies of routers (IANA's registries
/// of protocol numbers and of ports). A later fragment has no ports: it is not.
[[nodiscard]] constexpr bool is_routing_protocol(const packet::parsed& p) noexcept {
    constexpr uint8_t rsvp = 46, eigrp = 88, ospf = 89, pim = 103, vrrp = 112;
    constexpr uint16_t bgp = 179, rip = 520, ripng = 521, ldp = 646, bfd = 3784, bfd_echo = 3785,
                       bfd_multihop = 4784, babel = 6696;
    switch (p.upper_protocol) {
        case packet::protocol_igmp:
        case rsvp:
        case eigrp:
        case ospf:
        case pim:
        case vrrp:
            return true;
        case packet::protocol_tcp:
            if (p.is_later_fragment()) return false;
            return p.destination_port == bgp || p.source_port == bgp || p.destination_port == ldp ||
                   p.source_port == ldp;
        case packet::protocol_udp:
            if (p.is_later_fragment()) return false;
            switch (p.destination_port) {
                case rip:
                case ripng:
                case ldp:
                case bfd:
                case bfd_echo:
                case bfd_multihop:
                case babel:
                    return true;
                default:
                    return false;
            }
        default:
            return false;
    }
}

/// Groups of IS-IS and ES-IS: ISO 10589 section 8.4.8, and of its draft for IP routers.
[[nodiscard]] constexpr bool is_is_is(const mac_address& to) noexcept {
    for (const mac_address& group :
         {mac_address{{0x01, 0x80, 0xc2, 0, 0, 0x14}}, mac_address{{0x01, 0x80, 0xc2, 0, 0, 0x15}},
          mac_address{{0x09, 0, 0x2b, 0, 0, 0x04}}, mac_address{{0x09, 0, 0x2b, 0, 0, 0x05}}})
        if (to == group) return true;
    return false;
}

/// The class of a punted packet of a burst.
[[nodiscard]] punt_class punt_class_of(const burst& b, uint32_t i) noexcept;

/// Threads  one worker's; counters are read by any thread.
class punt_policer {
  public:
    struct row {
        token_bucket bucket;
        counters::counter punted, dropped;
    };

    punt_policer();
    [[nodiscard]] row& of(uint16_t ifindex, punt_class c) noexcept {
        return rows_.get()[ifindex * punt_classes + static_cast<size_t>(c)];
    }
    [[nodiscard]] const row& of(uint16_t ifindex, punt_class c) const noexcept {
        return rows_.get()[ifindex * punt_classes + static_cast<size_t>(c)];
    }

  private:
    struct release {
        void operator()(row* p) const noexcept { std::free(p); }
    };
    /// The kernel zeroes these pages on first use: unused interfaces take no memory.
    std::unique_ptr<row, release> rows_;
};

}  // namespace turnpike::datapath
