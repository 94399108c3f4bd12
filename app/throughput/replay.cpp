// SPDX-License-Identifier: BSD-3-Clause
#include "replay.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <cstring>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {

using namespace packet;

constexpr uint32_t min_bytes = 60, max_bytes_of_frame = 9014;

/// A hash of addresses and protocol; without IP, of the type and the source.
uint64_t key_of(std::span<const uint8_t> frame) noexcept {
    uint64_t key = 0xcbf2'9ce4'8422'2325u;  // FNV-1a
    const auto add = [&key](const uint8_t* from, size_t n) {
        for (size_t i = 0; i < n; ++i) key = (key ^ from[i]) * 0x100'0000'01b3u;
    };
    size_t at = 12;
    for (unsigned tags = 0; tags < max_vlan_tags && frame.size() >= at + 6; ++tags)
        if (is_vlan_type(load_be<uint16_t>(frame.data() + at))) at += sizeof(vlan_tag);
    if (frame.size() < at + 2) return key;
    const uint16_t type = load_be<uint16_t>(frame.data() + at);
    const uint8_t* ip = frame.data() + at + 2;
    if (type == ether_type_ipv4 && frame.size() >= at + 2 + sizeof(ipv4_header)) {
        add(ip + 9, 1);
        add(ip + 12, 8);
    } else if (type == ether_type_ipv6 && frame.size() >= at + 2 + sizeof(ipv6_header)) {
        add(ip + 6, 1);
        add(ip + 8, 32);
    } else {
        add(frame.data() + at, 2);
        add(frame.data() + 6, 6);
    }
    return key;
}

bool is_ip(const parsed& p) noexcept { return p.l3 == l3_kind::ipv4 || p.l3 == l3_kind::ipv6; }

/// False: not a frame, or its IP header is invalid.
bool parse_whole(std::span<const uint8_t> frame, parsed& out) noexcept {
    if (parse(frame, static_cast<uint32_t>(frame.size()), out) != parse_status::done ||
        out.l2_drop != drop_reason::none)
        return false;
    // Without IP, a router drops the frame, and a bridge forwards it.
    const bool ip = out.type == ether_type_ipv4 || out.type == ether_type_ipv6;
    return !ip || out.l3_drop == drop_reason::none;
}

/// Bytes of the upper-layer header, which the stamp must not overwrite.
uint32_t upper_bytes(const uint8_t* upper, uint32_t readable, const parsed& p) noexcept {
    if (p.is_later_fragment()) return 0;
    if (p.upper_protocol == protocol_tcp && readable >= sizeof(tcp_header))
        return std::max<uint32_t>(sizeof(tcp_header), (upper[12] >> 4) * 4u);
    return std::min<uint32_t>(readable, sizeof(udp_header));
}

/// Offset of the checksum field in the upper-layer header; 0: none that covers the stamp.
uint32_t checksum_field(const uint8_t* upper, const parsed& p) noexcept {
    if (p.is(flag_fragment) || p.is(flag_upper_cut)) return 0;
    switch (p.upper_protocol) {
        case protocol_tcp:
            return 16;
        case protocol_udp:  // RFC 768: zero is no checksum
            return load_be<uint16_t>(upper + 6) == 0 ? 0 : 6;
        case protocol_icmp:
            return p.is_ipv4() ? 2 : 0;
        case protocol_icmpv6:
            return p.is_ipv4() ? 0 : 2;
        default:
            return 0;
    }
}

/// The sum of the pseudo-header and of everything that the checksum covers. Its field and the stamp are zero.
uint32_t sum_without_stamp(const uint8_t* ip, std::span<const uint8_t> upper,
                           const parsed& p) noexcept {
    uint32_t sum = 0;
    if (p.upper_protocol != protocol_icmp) {
        sum = p.is_ipv4() ? sum_bytes({ip + 12, 8}) : sum_bytes({ip + 8, 32});
        sum += p.upper_protocol + static_cast<uint32_t>(upper.size());
    }
    return sum_bytes(upper, sum);
}

/// Exchange source and destination. The sums of checksums stay.
void exchange_ends(uint8_t* at, const capture::frame& f) noexcept {
    std::swap_ranges(at, at + 6, at + 6);
    if (f.upper_at == 0) return;
    const uint32_t first = f.l3_at + (f.ipv6 ? 8u : 12u), length = f.ipv6 ? 16 : 4;
    std::swap_ranges(at + first, at + first + length, at + first + length);
    uint8_t* const ports = at + f.upper_at;
    if (f.has_ports) std::swap_ranges(ports, ports + 2, ports + 2);
}

/// An odd distance exchanges the bytes of each word (RFC 1071 section 2 (B)).
uint32_t sum_of_stamp(const uint8_t* at, bool odd, uint32_t sum) noexcept {
    uint8_t padded[stamp_bytes + 2] = {};
    std::memcpy(padded + (odd ? 1 : 0), at, stamp_bytes);
    return sum_bytes(padded, sum);
}

}  // namespace

result<std::shared_ptr<const capture>> capture::open(const std::string& file) {
    char why[PCAP_ERRBUF_SIZE] = "";
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> from(pcap_open_offline(file.c_str(), why),
                                                          pcap_close);
    if (!from) return fail(EINVAL, {}, why);
    if (pcap_datalink(from.get()) != DLT_EN10MB)
        return fail(EINVAL, {}, "has another link type than Ethernet");
    const auto made = std::make_shared<capture>();
    pcap_pkthdr* header = nullptr;
    const uint8_t* bytes = nullptr;
    int code = 0;
    while ((code = pcap_next_ex(from.get(), &header, &bytes)) == 1) {
        const uint64_t number = made->frames_.size() + made->skipped_ + 1;
        const bool sendable =
            header->len >= ethernet_bytes && header->len <= max_bytes_of_frame - stamp_bytes;
        if (sendable && header->caplen < header->len)
            return fail(EINVAL, {},
                        "frame " + std::to_string(number) + " has " +
                            std::to_string(header->caplen) + " of " + std::to_string(header->len) +
                            " bytes; capture whole frames");
        if (!sendable || !made->append({bytes, header->len})) ++made->skipped_;
        if (made->bytes_.size() > max_bytes) return fail(EFBIG, {}, "the limit is 1 GiB of frames");
    }
    if (code != PCAP_ERROR_BREAK) return fail(EINVAL, {}, pcap_geterr(from.get()));
    if (made->frames_.empty())
        return fail(EINVAL, {},
                    made->skipped_ == 0 ? "contains no frames"
                                        : "contains no frames that can be sent (of " +
                                              std::to_string(made->skipped_) + ")");
    made->finish();
    return std::shared_ptr<const capture>(made);
}

void capture::finish() {
    for (auto& ends : ends_) {
        std::sort(ends.begin(), ends.end());
        ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    }
}

ip_address capture::end_of(const frame& f, unsigned end) const noexcept {
    const uint8_t* ip = bytes_of(f) + f.l3_at;
    if (f.ipv6) {
        const auto& h = *reinterpret_cast<const ipv6_header*>(ip);
        return ip_address::from_v6(end == 0 ? h.source : h.destination);
    }
    const auto& h = *reinterpret_cast<const ipv4_header*>(ip);
    return ip_address::from_v4(end == 0 ? h.source : h.destination);
}

void capture::add(const frame& f) {
    lengthened_ += f.lengthened ? 1 : 0;
    if (f.upper_at != 0)
        for (const unsigned end : {0u, 1u}) ends_[end].push_back(end_of(f, end));
    flows_.insert(key_of({bytes_of(f), f.bytes}));
    frames_.push_back(f);
}

void capture::copy(const capture& from, const frame& f) {
    frame own = f;
    own.at = bytes_.size();
    bytes_.insert(bytes_.end(), from.bytes_of(f), from.bytes_of(f) + f.bytes);
    add(own);
}

std::shared_ptr<const capture> capture::exchanged(size_t max_frames, bool groups) const {
    const auto made = std::make_shared<capture>();
    const size_t n = std::min(max_frames, frames_.size());
    for (const frame& f : std::span(frames_).first(n)) {
        constexpr uint8_t group_bit = 1;  // of a MAC address' first byte
        if (!groups && (*bytes_of(f) & group_bit) != 0) {
            ++made->skipped_;
            continue;
        }
        frame own = f;
        own.at = made->bytes_.size();
        made->bytes_.insert(made->bytes_.end(), bytes_of(f), bytes_of(f) + f.bytes);
        exchange_ends(&made->bytes_[own.at], own);
        made->add(own);
    }
    made->finish();
    return made;
}

result<std::array<std::shared_ptr<const capture>, 2>> capture::split(
    std::span<const ip_prefix> prefixes) const {
    const auto source_mac = [this](const frame& f) {
        return load_be<uint64_t>(bytes_of(f) + 6) >> 16;
    };
    const auto is_within = [&](const frame& f) {
        return std::ranges::any_of(
            prefixes, [a = end_of(f, 0)](const ip_prefix& p) { return p.contains(a); });
    };
    std::unordered_set<uint64_t> other_macs;
    for (const frame& f : frames_)
        if (f.upper_at != 0 && !is_within(f)) other_macs.insert(source_mac(f));
    const std::array made{std::make_shared<capture>(), std::make_shared<capture>()};
    for (const frame& f : frames_) {
        const bool first = f.upper_at != 0 ? is_within(f) : !other_macs.contains(source_mac(f));
        made[first ? 0 : 1]->copy(*this, f);
    }
    for (const unsigned side : {0u, 1u}) {
        if (made[side]->frames_.empty())
            return fail(EINVAL, {},
                        side == 0 ? "no frame's source lies in one of the prefixes"
                                  : "every frame's source lies in one of the prefixes");
        made[side]->finish();
    }
    made[0]->skipped_ = skipped_;
    return std::array<std::shared_ptr<const capture>, 2>{made[0], made[1]};
}

bool capture::append(std::span<const uint8_t> captured) {
    parsed p;
    if (!parse_whole(captured, p)) return false;
    const uint64_t key = key_of(captured);
    frame f{.at = bytes_.size(),
            .flow = static_cast<uint32_t>(key ^ key >> 32),
            .l3_at = p.l2_bytes,
            .ipv6 = p.l3 == l3_kind::ipv6};
    // An IP packet is copied up to its end: padding is added anew.
    const auto captured_bytes =
        is_ip(p) ? p.l2_bytes + p.l3_bytes : static_cast<uint32_t>(captured.size());
    uint32_t headers = std::max(captured_bytes, min_bytes + 4u * p.vlan_tags);
    if (is_ip(p)) {
        const uint8_t* upper = captured.data() + p.upper_offset;
        const uint32_t readable = captured_bytes - p.upper_offset;
        headers = p.upper_offset + upper_bytes(upper, readable, p);
        f.upper_at = p.upper_offset;
        if (const uint32_t field = checksum_field(upper, p); field != 0)
            f.checksum_at = static_cast<uint16_t>(p.upper_offset + field);
    }
    const uint32_t end = std::max(captured_bytes, headers + stamp_bytes);
    f.stamp_at = static_cast<uint16_t>(end - stamp_bytes);
    f.bytes = std::max(end, min_bytes);
    bytes_.insert(bytes_.end(), captured.begin(), captured.begin() + captured_bytes);
    bytes_.resize(f.at + f.bytes, 0);
    uint8_t* at = &bytes_[f.at];
    std::memset(at + f.stamp_at, 0, stamp_bytes);
    if (is_ip(p)) {
        f.lengthened = end > captured_bytes;
        uint8_t* ip = at + p.l2_bytes;
        const uint32_t upper_total = end - p.upper_offset;
        if (p.is_ipv4()) {
            auto& h = header_at<ipv4_header>(ip);
            h.total_bytes = static_cast<uint16_t>(end - p.l2_bytes);
            h.checksum = 0;
            h.checksum = checksum({ip, h.header_bytes()});
        } else {
            auto& h = header_at<ipv6_header>(ip);
            h.payload_bytes = static_cast<uint16_t>(end - p.l2_bytes - sizeof h);
        }
        const bool whole_udp =
            p.upper_protocol == protocol_udp && !p.is(flag_fragment) && !p.is(flag_upper_cut);
        f.has_ports = (p.upper_protocol == protocol_udp || p.upper_protocol == protocol_tcp) &&
                      !p.is_later_fragment();
        if (whole_udp) store_be(at + p.upper_offset + 4, static_cast<uint16_t>(upper_total));
        if (f.checksum_at != 0) {
            store_be<uint16_t>(at + f.checksum_at, 0);
            f.partial_sum = fold(sum_without_stamp(ip, {at + p.upper_offset, upper_total}, p));
        }
    }
    add(f);
    return true;
}

bool capture::has(unsigned end, const ip_address& a) const noexcept {
    return std::binary_search(ends_[end].begin(), ends_[end].end(), a);
}

arrival capture::read(std::span<const uint8_t> received, stamp& out) const noexcept {
    parsed p;
    if (parse_whole(received, p)) {
        const size_t end = is_ip(p) ? p.l2_bytes + p.l3_bytes : received.size();
        if (end >= p.l2_bytes + stamp_bytes &&
            read_stamp(received.data() + end - stamp_bytes, out) && out.stream < 2)
            return arrival::ours;
    }
    return flows_.contains(key_of(received)) ? arrival::damaged : arrival::foreign;
}

void replay::build(uint8_t* at, uint64_t sequence, uint16_t trial, uint64_t tsc) const noexcept {
    const capture::frame& f = capture_->frame_of(sequence);
    std::memcpy(at, capture_->bytes_of(f), f.bytes);
    if (macs_) {
        std::memcpy(at, macs_->destination.bytes, sizeof(mac_address));
        std::memcpy(at + 6, macs_->source.bytes, sizeof(mac_address));
    }
    write_stamp(at + f.stamp_at, {trial, id_, sequence, tsc});
    if (f.checksum_at == 0) return;
    const bool odd = (f.stamp_at - f.upper_at) % 2 != 0;
    const auto sum =
        static_cast<uint16_t>(~fold(sum_of_stamp(at + f.stamp_at, odd, f.partial_sum)));
    store_be<uint16_t>(at + f.checksum_at, sum == 0 ? 0xffff : sum);
}

bool replay::is_intact(std::span<const uint8_t> received, uint64_t sequence) const noexcept {
    const capture::frame& f = capture_->frame_of(sequence);
    const uint8_t* sent = capture_->bytes_of(f);
    parsed p;
    if (!parse_whole(received, p)) return false;
    const uint8_t *l3 = received.data() + p.l2_bytes, *sent_l3 = sent + f.l3_at;
    const uint32_t whole = f.stamp_at + stamp_bytes - f.l3_at;  // from layer 3 to the stamp's end
    if ((f.upper_at != 0) != is_ip(p) || received.size() < p.l2_bytes + whole) return false;
    const auto same = [&](uint32_t from, uint32_t to) {
        return to <= from || std::memcmp(l3 + from, sent_l3 + from, to - from) == 0;
    };
    const uint32_t stamp_from = f.stamp_at - f.l3_at;
    if (f.upper_at == 0) return same(0, stamp_from);
    // Routers change TTL, hop limit, traffic class, and with them the header's checksum.
    const bool header = f.ipv6 ? same(4, 7) : same(2, 4) && same(9, 10);
    const uint32_t sum_at = f.checksum_at == 0 ? stamp_from : f.checksum_at - f.l3_at;
    return p.l3 == (f.ipv6 ? l3_kind::ipv6 : l3_kind::ipv4) && header &&
           same(f.ipv6 ? 8 : 12, sum_at) && same(sum_at + 2, stamp_from);
}

}  // namespace turnpike::throughput
