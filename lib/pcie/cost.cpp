// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/cost.hpp"

#include <algorithm>
#include <cmath>

namespace turnpike::pcie {
namespace {

constexpr uint32_t fcs_bytes = 4;
constexpr uint32_t preamble_and_gap_bytes = 20;
constexpr uint32_t register_bytes = 4;
constexpr uint32_t max_frame_bytes = 65535;

/// Cost per packet of accesses that serve `group` packets each on average. A fractional mean is a
/// mixture of the two adjacent integers, so that every priced access is a possible one.
template <class Access>
transactions_per_packet shared_by(double group, Access access) {
    transactions_per_packet each;
    const double lower = std::floor(group);
    const double upper_weight = group - lower;
    each.add(access(static_cast<uint64_t>(lower)), (1 - upper_weight) / group);
    if (upper_weight > 0) each.add(access(static_cast<uint64_t>(lower) + 1), upper_weight / group);
    return each;
}

/// Packets between two doorbells; 0 without doorbells.
double doorbell_interval_packets(const doorbell& d, double burst) {
    switch (d.policy) {
        case doorbell_policy::none:
            return 0;
        case doorbell_policy::every:
            return d.packets;
        case doorbell_policy::per_burst:
            return d.packets == 0 ? burst : burst / std::ceil(burst / d.packets);
        case doorbell_policy::burst_end:
            return burst * std::ceil(d.packets / burst);
    }
    return 0;
}

/// Descriptors posted per doorbell.
double posted_packets(const direction_profile& d, double burst) {
    const double interval = doorbell_interval_packets(d.doorbell, burst);
    return std::max<double>(d.refill_packets, interval > 0 ? interval : burst);
}

transactions_per_packet price_fetch(const fetch& f, const link& l, double posted) {
    if (f.bytes == 0) return {};
    const double group =
        f.policy == fetch_policy::full_batch ? f.batch : std::min<double>(f.batch, posted);
    return shared_by(group, [&](uint64_t n) {
        transactions t = read(l, 0, n * f.bytes);
        return t += read(l, 0, n * f.index_bytes);
    });
}

transactions_per_packet price_write_back(const write_back& w, const link& l) {
    const auto entries = [&](uint64_t n) {
        transactions t = write(l, 0, n * w.bytes);
        return t += write(l, 0, w.index_bytes);
    };
    transactions_per_packet each;
    switch (w.policy) {
        case write_back_policy::none:
            break;
        case write_back_policy::per_packet:
            each += entries(1);
            break;
        case write_back_policy::every:
            each.add(entries(1), 1.0 / w.packets);
            break;
        case write_back_policy::batch:
            each = shared_by(w.packets, entries);
            break;
        case write_back_policy::by_line: {
            const uint32_t entries_of_a_line = line_bytes / w.bytes;
            each.add(shared_by(entries_of_a_line, entries), w.full_line_share);
            each.add(shared_by(w.partial_entries, entries), 1 - w.full_line_share);
            break;
        }
    }
    return each;
}

/// Frame data that crosses in `move` (write or read), averaged over the mix.
template <class Move>
void price_frames(const direction_profile& d, const load& carried, transactions_per_packet& data,
                  direction_bill& bill, Move move) {
    double weights = 0;
    for (const auto& share : carried.frames) weights += share.weight;
    // The frame starts at a line, so its prefix ends in the line before.
    const uint64_t address = (page_bytes - d.prefix_bytes) % line_bytes;
    for (const auto& share : carried.frames) {
        const double part = share.weight / weights;
        const uint32_t bytes = share.frame_bytes - (d.carries_fcs ? 0 : fcs_bytes);
        data.add(move(address, bytes + d.prefix_bytes), part);
        bill.data_bytes += part * (share.frame_bytes - fcs_bytes);
        bill.wire_bytes += part * (share.frame_bytes + preamble_and_gap_bytes);
    }
}

/// The part common to receive and transmit.
void price_registers(const direction_profile& d, const link& l, double burst,
                     direction_bill& bill) {
    if (const double interval = doorbell_interval_packets(d.doorbell, burst); interval > 0)
        bill[purpose::doorbells].add(register_write(l, d.doorbell.bytes), 1 / interval);
    if (d.packets_per_register_read > 0)
        bill[purpose::register_reads].add(register_read(l, register_bytes),
                                          1.0 / d.packets_per_register_read);
    if (d.packets_per_interrupt > 0)
        bill[purpose::interrupts].add(interrupt(l), 1.0 / d.packets_per_interrupt);
}

direction_bill price_rx(const direction_profile& d, const link& l, const load& carried,
                        published_slip slip) {
    direction_bill bill;
    price_frames(d, carried, bill[purpose::rx_data], bill,
                 [&l](uint64_t address, uint64_t bytes) { return write(l, address, bytes); });
    auto& fetched = bill[purpose::rx_descriptor_fetch];
    fetched = price_fetch(d.fetch, l, posted_packets(d, carried.burst));
    if (slip == published_slip::reproduced) fetched.bytes.up = 0;
    bill[purpose::rx_write_back] = price_write_back(d.write_back, l);
    price_registers(d, l, carried.burst, bill);
    return bill;
}

direction_bill price_tx(const direction_profile& d, const link& l, const load& carried) {
    direction_bill bill;
    price_frames(d, carried, bill[purpose::tx_data], bill,
                 [&l](uint64_t address, uint64_t bytes) { return read(l, address, bytes); });
    bill[purpose::tx_descriptor_fetch] = price_fetch(d.fetch, l, posted_packets(d, carried.burst));
    bill[purpose::tx_write_back] = price_write_back(d.write_back, l);
    price_registers(d, l, carried.burst, bill);
    return bill;
}

result<void> validate(const load& carried, const std::string& name) {
    if (carried.frames.empty()) return fail(EINVAL, name + ".frames", "no frame size given");
    double weights = 0;
    for (const auto& share : carried.frames) {
        if (share.frame_bytes <= fcs_bytes || share.frame_bytes > max_frame_bytes)
            return fail(EINVAL, name + ".frames",
                        "a frame has 5 to 65535 bytes, FCS included, not " +
                            std::to_string(share.frame_bytes));
        if (!(share.weight >= 0) || std::isinf(share.weight))
            return fail(EINVAL, name + ".frames", "a weight must be a number of at least 0");
        weights += share.weight;
    }
    if (!(weights > 0)) return fail(EINVAL, name + ".frames", "no frame size has a weight above 0");
    if (!(carried.burst >= 1 && carried.burst <= 65536))
        return fail(EINVAL, name + ".burst", "a burst has 1 to 65536 packets");
    return {};
}

}  // namespace

transactions_per_packet direction_bill::total() const {
    transactions_per_packet sum;
    for (const auto& part : by_purpose) sum += part;
    return sum;
}

direction_bill bill::combined(double rx_packets, double tx_packets, double per) const {
    direction_bill sum;
    for (size_t i = 0; i < sum.by_purpose.size(); ++i) {
        sum.by_purpose[i].add(rx.by_purpose[i], rx_packets / per);
        sum.by_purpose[i].add(tx.by_purpose[i], tx_packets / per);
    }
    const double packets = rx_packets + tx_packets;
    if (packets > 0) {
        sum.data_bytes = (rx.data_bytes * rx_packets + tx.data_bytes * tx_packets) / packets;
        sum.wire_bytes = (rx.wire_bytes * rx_packets + tx.wire_bytes * tx_packets) / packets;
    }
    return sum;
}

result<bill> cost(const nic_profile& profile, const link& l, const load& both,
                  published_slip slip) {
    return cost(profile, l, both, both, slip);
}

result<bill> cost(const nic_profile& profile, const link& l, const load& rx, const load& tx,
                  published_slip slip) {
    if (const auto good = validate(l); !good) return tl::unexpected<error>(good.error());
    if (const auto good = validate(profile); !good) return tl::unexpected<error>(good.error());
    if (const auto good = validate(rx, "rx"); !good) return tl::unexpected<error>(good.error());
    if (const auto good = validate(tx, "tx"); !good) return tl::unexpected<error>(good.error());
    return bill{profile, l, price_rx(profile.rx, l, rx, slip), price_tx(profile.tx, l, tx)};
}

throughput achievable(const bill& b, traffic_direction d, double ethernet_gbps) {
    const direction_bill carried =
        b.combined(d == traffic_direction::tx ? 0 : 1, d == traffic_direction::rx ? 0 : 1);
    const transactions_per_packet total = carried.total();
    const double link_bytes_per_us = tlp_gbps(b.link) * 1000 / 8;
    const double up_mpps = link_bytes_per_us / total.bytes.up;
    const double down_mpps = link_bytes_per_us / total.bytes.down;

    throughput most{.mpps = up_mpps};
    if (down_mpps < most.mpps) {
        most.mpps = down_mpps;
        most.binds = resource::link_down;
    }
    // Ethernet is full duplex: the direction with more wire bytes is the limit.
    const double wire_bytes = d == traffic_direction::both
                                  ? std::max(b.rx.wire_bytes, b.tx.wire_bytes)
                                  : carried.wire_bytes;
    const double ethernet_mpps = ethernet_gbps * 1000 / 8 / wire_bytes;
    if (ethernet_gbps > 0 && ethernet_mpps < most.mpps) {
        most.mpps = ethernet_mpps;
        most.binds = resource::ethernet;
    }
    most.gbps = most.mpps * carried.data_bytes * 8 / 1000;
    most.up_utilisation = most.mpps / up_mpps;
    most.down_utilisation = most.mpps / down_mpps;
    return most;
}

double ethernet_payload_gbps(double ethernet_gbps, uint32_t frame_bytes) noexcept {
    return ethernet_gbps * (frame_bytes - fcs_bytes) / (frame_bytes + preamble_and_gap_bytes);
}

}  // namespace turnpike::pcie
