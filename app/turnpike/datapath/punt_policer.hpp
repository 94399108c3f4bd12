// SPDX-License-Identifier: BSD-3-Clause
// Policing of punted packets, in the worker and before the punt rings: a token bucket per ingress interface, port and class
// (punt_class.hpp). A flood on one interface, or of one class, thus fills no ring and costs control no time
// that other packets need. The ports of a bridge have separate buckets at its routing interface. Only punted packets come
// here.
#pragma once

#include <algorithm>
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

/// Whether a packet is from a node on the link, as no router forwards packets to link-local groups and to the limited
/// broadcast address, or from IPv6 link-local addresses, and none forwards with TTL 255 (RFC 5082 section 2.2).
/// frame  with the IP header of `p`
[[nodiscard]] bool is_from_link(const packet::parsed& p, const uint8_t* frame) noexcept;

/// The class of an IP packet to us: `routing` or `sessions` if the loss of such packets ends sessions or adjacencies of
/// routers. Forged packets from beyond the link are not in `routing`, so that they displace none of the link's.
[[nodiscard]] punt_class class_of_local(const packet::parsed& p, const uint8_t* frame) noexcept;

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
        counters::counter punted, dropped;
    };

    punt_policer();
    /// in_port  by which the packet was received: a bridge's routing interface has several
    [[nodiscard]] token_bucket& bucket(uint16_t ifindex, uint16_t in_port, punt_class c) noexcept {
        const size_t at = size_t{ifindex} * max_in_ports + std::min<size_t>(in_port, max_ports);
        return buckets_.get()[at * punt_classes + static_cast<size_t>(c)];
    }
    [[nodiscard]] row& of(uint16_t ifindex, punt_class c) noexcept {
        return rows_.get()[ifindex * punt_classes + static_cast<size_t>(c)];
    }
    [[nodiscard]] const row& of(uint16_t ifindex, punt_class c) const noexcept {
        return rows_.get()[ifindex * punt_classes + static_cast<size_t>(c)];
    }

  private:
    static constexpr size_t max_in_ports = max_ports + 1;  ///< with tunnel_port
    struct release {
        void operator()(void* p) const noexcept { std::free(p); }
    };
    /// The kernel zeroes these pages on first use: unused interfaces take no memory.
    std::unique_ptr<row, release> rows_;
    std::unique_ptr<token_bucket, release> buckets_;
};

}  // namespace turnpike::datapath
