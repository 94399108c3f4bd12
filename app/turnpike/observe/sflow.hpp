// SPDX-License-Identifier: BSD-3-Clause
// sFlow version 5 datagrams (sFlow.org, "sFlow Version 5", July 2004; "sFlow Dropped Packet Notification Structures", 2020):
// XDR, all integers in network order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "datapath/drop_reason.hpp"
#include "net/ip.hpp"
#include "observe/port_totals.hpp"

namespace turnpike::observe::sflow {

/// The header of a packet.
struct sampled_header {
    std::span<const uint8_t> bytes{};
    uint32_t frame_bytes = 0;  ///< without the FCS, which the datagram counts
};

// Values of `interface` beside ifIndex.
inline constexpr uint32_t unknown_interface = 0;
inline constexpr uint32_t no_interface = 0x3fffffff;  ///< the packet begins or ends in the router
/// The number of egress interfaces.
constexpr uint32_t multiple_interfaces(uint32_t n) noexcept { return 0x80000000 | n; }
/// In place of the egress interface of a dropped packet.
[[nodiscard]] uint32_t discarded(datapath::drop_reason why) noexcept;

/// flow_sample, format 1.
struct flow_sample {
    uint32_t sequence = 0;  ///< of the source
    uint32_t source = 0;    ///< ifIndex
    uint32_t rate = 0;
    uint32_t pool = 0;  ///< packets that could have been sampled
    uint32_t lost = 0;  ///< samples lost in the agent
    uint32_t input = unknown_interface, output = unknown_interface;
    sampled_header header{};
};

/// discarded_packet, format 5.
struct discarded_packet {
    uint32_t sequence = 0, source = 0;
    uint32_t lost = 0;  ///< discarded packets without a notification
    datapath::drop_reason why = datapath::drop_reason::none;
    sampled_header header{};
};

/// counters_sample, format 2: generic interface counters (RFC 2863) and the port's name.
struct interface_counters {
    uint64_t life = 0;  ///< of the counters; not sent
    uint32_t sequence = 0, source = 0;
    std::string_view name{};
    uint64_t bits_per_second = 0;
    bool admin_up = false, link_up = false;
    bool promiscuous = false;
    uint64_t rx_bytes = 0, rx_packets = 0, rx_discards = 0;
    uint64_t tx_bytes = 0, tx_packets = 0, tx_discards = 0;

    /// Octets include the FCS (RFC 3635 section 3.2.3). Drops of what a received packet was copied to, or of packets that
    /// the router originated, are no discards of received packets.
    /// missed  packets that the device dropped
    void set(const port_totals& counted, uint64_t missed) noexcept;
};

/// Number of a drop reason in sFlow's list.
[[nodiscard]] uint32_t code_of(datapath::drop_reason why) noexcept;

/// One datagram, filled sample by sample.
class datagram {
  public:
    static constexpr size_t max_bytes = 1400;  ///< fits an Ethernet frame, over IPv6, too

    explicit datagram(const ip_address& agent) : agent_(agent) { clear(); }
    /// Adds a sample. False: it does not fit, and the datagram is as before; an empty one takes every sample.
    [[nodiscard]] bool add(const flow_sample& s);
    [[nodiscard]] bool add(const discarded_packet& s);
    [[nodiscard]] bool add(const interface_counters& s);
    [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }
    /// The datagram to send. Valid until clear().
    [[nodiscard]] std::span<const uint8_t> finish(uint32_t sequence, uint32_t uptime_ms);
    void clear();
    void set_agent(const ip_address& agent);

  private:
    template <class Body>
    bool add_sample(uint32_t format, const Body& body);
    void add_head();
    void put(uint32_t v);
    void put64(uint64_t v);
    void put_bytes(std::span<const uint8_t> bytes);  ///< opaque: its length, the bytes, padding
    void put_header(const sampled_header& h);
    template <class Body>
    void put_sized(const Body& body);

    ip_address agent_;
    std::vector<uint8_t> bytes_{};
    size_t sequence_at_ = 0, samples_at_ = 0;
    uint32_t samples_ = 0;
};

}  // namespace turnpike::observe::sflow
