// SPDX-License-Identifier: BSD-3-Clause
#include "wire/generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "descriptor.hpp"
#include "packet/checksum.hpp"
#include "wire/stamp.hpp"

namespace turnpike::simnic {
namespace {

using namespace packet;

constexpr uint8_t udp = 17;
constexpr uint16_t discard_port = 9;  // RFC 2544 section C.2.6.4 uses 7 and 9
constexpr uint16_t payload_word = 0x5aa5;
constexpr uint64_t local_mac = 0x0200'0000'0000;  // locally administered
constexpr uint64_t local_source_mac = 0x0600'0000'0000;

uint64_t number_of(const mac_address& m) noexcept {
    return uint64_t{load_be<uint16_t>(m.bytes)} << 32 | load_be<uint32_t>(m.bytes + 2);
}

void store_mac(uint8_t* to, uint64_t number) noexcept {
    store_be(to, static_cast<uint16_t>(number >> 32));
    store_be(to + 2, static_cast<uint32_t>(number));
}

constexpr uint32_t halves(uint32_t word) noexcept { return (word >> 16) + (word & 0xffff); }

}  // namespace

generator::generator(const traffic& t, const pace& p, uint16_t source, const mac_address& mac)
    : traffic_(t),
      pace_(p),
      source_(source),
      src_ip_(t.src_ip.value_or(default_src_ip)),
      dst_ip_(t.dst_ip.value_or(default_dst_ip)),
      l3_at_(static_cast<uint32_t>(sizeof(ethernet_header)) + tag_bytes_of(t)),
      l4_at_(l3_at_ + static_cast<uint32_t>(t.ipv6 ? sizeof(ipv6_header) : sizeof(ipv4_header))),
      stamp_at_(l4_at_ + static_cast<uint32_t>(sizeof(udp_header))),
      stride_((largest_generated_bytes(t) + 63) / 64 * 64),
      frames_(std::make_unique<uint8_t[]>(size_t{frame_batch} * stride_)),
      random_(0x9e37'79b9'7f4a'7c15u + source) {
    make_template(mac);
    for (uint32_t i = 1; i < frame_batch; ++i)
        std::memcpy(&frames_[size_t{i} * stride_], frames_.get(), stride_);
}

/// Everything except lengths, incrementing addresses, sequence numbers and checksums.
void generator::make_template(const mac_address& mac) {
    uint8_t* f = frames_.get();
    for (uint32_t i = 0; i < stride_; i += 2) store_be(f + i, payload_word);
    const bool by_mac = traffic_.l2_flows != 0;
    const uint64_t fallback = by_mac ? local_mac : number_of(mac);
    store_mac(f, traffic_.dst_mac.is_zero() ? fallback : number_of(traffic_.dst_mac));
    store_mac(f + 6, local_source_mac + (uint64_t{source_} << 24));
    if (traffic_.vlan != 0) store_be(f + 12, uint32_t{ether_type_vlan} << 16 | traffic_.vlan);
    store_be<uint16_t>(f + l3_at_ - 2, traffic_.ipv6 ? ether_type_ipv6 : ether_type_ipv4);
    std::memset(f + l3_at_, 0, l4_at_ - l3_at_);
    if (traffic_.ipv6) {
        auto& ip = *reinterpret_cast<ipv6_header*>(f + l3_at_);
        ip.version_class_flow = 6u << 28;
        ip.next_header = udp;
        ip.hop_limit = generated_ttl;
        // 2001:2::/48 (RFC 5180): networks 1 and 2
        const uint8_t network[8] = {0x20, 0x01, 0, 0x02, 0, 0, 0, 1};
        std::memcpy(ip.source.bytes, network, sizeof network);
        std::memcpy(ip.destination.bytes, network, sizeof network);
        ip.destination.bytes[7] = 2;
        udp_sum_ = sum_bytes({ip.source.bytes, 32});
    } else {
        auto& ip = *reinterpret_cast<ipv4_header*>(f + l3_at_);
        ip.version_ihl = 0x45;
        ip.ttl = generated_ttl;
        ip.protocol = udp;
        ip_sum_ = sum_bytes({f + l3_at_, sizeof(ipv4_header)});
    }
    store_be(f + l4_at_, discard_port);
    store_be(f + l4_at_ + 2, discard_port);
    write_stamp_source(f + stamp_at_, source_);
    udp_sum_ += udp + 2 * discard_port + halves(stamp_magic) + source_;
}

/// Length of the next frame to build, without FCS.
uint32_t generator::next_bytes() const noexcept {
    const uint32_t more = tag_bytes_of(traffic_) - fcs_bytes;
    if (traffic_.size == traffic::sizes::imix)
        return std::max(imix_bytes(size_turn_), least_generated_bytes(traffic_.ipv6)) + more;
    return traffic_.smallest + size_turn_ + more;
}

/// Build one more frame after the pending ones. Its checksums are the template's sums plus the
/// words written here.
void generator::build() noexcept {
    uint8_t* f = &frames_[size_t{slot(built_)} * stride_];
    const uint32_t bytes = next_bytes(), ip_bytes = bytes - l3_at_, udp_bytes = bytes - l4_at_;
    const uint32_t step = traffic_.l2_flows != 0 ? 0 : flow_;
    uint32_t address_sum;
    if (traffic_.ipv6) {
        store_be(f + l3_at_ + 4, static_cast<uint16_t>(udp_bytes));
        store_be(f + l3_at_ + 20, step);
        store_be(f + l3_at_ + 36, step);
        address_sum = 2 * halves(step);
    } else {
        const uint32_t from = src_ip_ + step, to = dst_ip_ + step;
        address_sum = halves(from) + halves(to);
        store_be(f + l3_at_ + 2, static_cast<uint16_t>(ip_bytes));
        store_be(f + l3_at_ + 10, static_cast<uint16_t>(~fold(ip_sum_ + ip_bytes + address_sum)));
        store_be(f + l3_at_ + 12, from);
        store_be(f + l3_at_ + 16, to);
    }
    if (traffic_.l2_flows != 0) {
        // The low 24 bits of both addresses increment.
        const uint32_t to = traffic_.l2_peers != 0 ? flow_ % traffic_.l2_peers : flow_;
        store_be(f + 4, static_cast<uint16_t>(to));
        f[3] = static_cast<uint8_t>(to >> 16);
        store_be(f + 10, static_cast<uint16_t>(flow_));
        f[9] = static_cast<uint8_t>(flow_ >> 16);
    }
    const uint32_t check = stamp_check(source_, sequence_);
    write_stamp_sequence(f + stamp_at_, sequence_, check);
    // The stamp is followed by 32-bit words and at most one 16-bit word.
    const uint32_t rest = udp_bytes - static_cast<uint32_t>(sizeof(udp_header)) - stamp_bytes;
    const uint32_t sum = udp_sum_ + 2 * udp_bytes + address_sum + rest / 2 * payload_word +
                         (rest % 2 != 0 ? payload_word & 0xff00 : 0) +
                         halves(static_cast<uint32_t>(sequence_ >> 32)) +
                         halves(static_cast<uint32_t>(sequence_)) + halves(check);
    const auto made = static_cast<uint16_t>(~fold(sum));
    store_be(f + l4_at_ + 4, static_cast<uint16_t>(udp_bytes));
    store_be<uint16_t>(f + l4_at_ + 6, made == 0 ? 0xffff : made);
    length_[slot(built_++)] = bytes;
    advance();
}

/// Log-uniform: each power of two of flows is equally likely.
uint32_t generator::draw_flow() noexcept {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    const float share = static_cast<float>(random_ >> 40) * 0x1p-24f;  // below 1
    const auto drawn = static_cast<uint32_t>(
        std::exp2(share * std::log2(static_cast<float>(flows() + 1))));  // from 1 on
    return std::min(drawn, flows()) - 1;
}

void generator::advance() noexcept {
    ++sequence_;
    if (traffic_.zipf && sequence_ >= flows())
        flow_ = draw_flow();
    else if (++flow_ == flows())
        flow_ = 0;
    const uint32_t turns =
        traffic_.size == traffic::sizes::imix ? 12 : traffic_.largest - traffic_.smallest + 1;
    if (++size_turn_ == turns) size_turn_ = 0;
}

uint32_t generator::peek(uint64_t now, std::span<outgoing> into) noexcept {
    pace ahead = pace_;
    uint32_t n = 0;
    for (; n < into.size() && ahead.due(now); ++n) {
        if (n == built_) build();
        into[n] = {&frames_[size_t{slot(n)} * stride_], length_[slot(n)]};
        ahead.pass(into[n].length);
    }
    return n;
}

void generator::pop(uint32_t n) noexcept {
    for (uint32_t i = 0; i < n; ++i) pace_.pass(length_[slot(i)]);
    front_ = slot(n);
    built_ -= n;
    sent_.add(n);
}

uint64_t generator::skip_due(uint64_t now) noexcept {
    uint64_t skipped = 0;
    for (; pace_.due(now); ++skipped) {
        if (built_ == 0) {
            pace_.pass(next_bytes());
            advance();
            sent_.add(1);
        } else {
            pop(1);
        }
    }
    return skipped;
}

size_t generator::counts(std::span<wire_count> into) const noexcept {
    // The device's thread counts meanwhile: a frame is lost first, and back later.
    const uint64_t back = checker_.back.read(), lost = std::max(checker_.lost.read(), back);
    const wire_count all[] = {{"gen_sent", sent_.read()},
                              {"gen_received", checker_.received.read()},
                              {"gen_lost", lost - back},
                              {"gen_duplicated", checker_.duplicated.read()},
                              {"gen_reordered", checker_.reordered.read()},
                              {"gen_damaged", checker_.damaged.read()},
                              {"gen_foreign", checker_.foreign.read()},
                              {"gen_ttl_kept", checker_.ttl_kept.read()},
                              {"gen_ttl_decremented", checker_.ttl_less_1.read()}};
    size_t n = 0;
    for (const wire_count& c : all) into[n++] = c;
    return n;
}

}  // namespace turnpike::simnic
