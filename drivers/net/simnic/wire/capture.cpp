// SPDX-License-Identifier: BSD-3-Clause
#include "wire/capture.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <cstring>

#include "descriptor.hpp"
#include "engine/classify.hpp"
#include "packet/checksum.hpp"

namespace turnpike::simnic {
namespace {

using namespace packet;

/// Replace a 32-bit word of a frame and update the checksums that cover it.
void replace(uint8_t* word, uint32_t now, uint8_t* ip_checksum, uint8_t* l4_checksum) noexcept {
    for (uint32_t half = 0; half < 2; ++half) {
        uint8_t* at = word + 2 * half;
        const auto before = load_be<uint16_t>(at);
        const auto after = static_cast<uint16_t>(now >> (16 - 16 * half));
        store_be(at, after);
        for (uint8_t* sum : {ip_checksum, l4_checksum})
            if (sum != nullptr)
                store_be(sum, update_checksum(load_be<uint16_t>(sum), before, after));
    }
}

/// The checksum field of a TCP or UDP header; nullptr: no checksum to update.
uint8_t* l4_checksum_of(ipv4_header& ip, uint8_t* end) noexcept {
    const bool udp = ip.protocol == detail::protocol_udp_number;
    if ((!udp && ip.protocol != detail::protocol_tcp_number) ||
        (ip.fragment & ipv4_fragment_offset) != 0)
        return nullptr;
    uint8_t* field = reinterpret_cast<uint8_t*>(&ip) + ip.header_bytes() + (udp ? 6 : 16);
    if (field + 2 > end || (udp && load_be<uint16_t>(field) == 0)) return nullptr;
    return field;
}

}  // namespace

void rewrite(const rewrites& r, uint8_t* frame, uint32_t bytes) noexcept {
    if (!r.dst_mac.is_zero()) std::memcpy(frame, r.dst_mac.bytes, sizeof r.dst_mac.bytes);
    const frame_class c = classify(frame, bytes);
    const uint32_t l3 = c.ptype & 0x0f0;
    if (l3 != ptype_l3_ipv4 && l3 != ptype_l3_ipv4_options) return;
    uint8_t* at = frame + c.l3_at;
    auto& ip = *reinterpret_cast<ipv4_header*>(at);
    uint8_t* l4 = l4_checksum_of(ip, frame + c.end);
    if (r.src_ip) replace(at + offsetof(ipv4_header, source), *r.src_ip, at + 10, l4);
    if (r.dst_ip) replace(at + offsetof(ipv4_header, destination), *r.dst_ip, at + 10, l4);
    // RFC 768: zero would mean no checksum.
    if (l4 != nullptr && ip.protocol == detail::protocol_udp_number && load_be<uint16_t>(l4) == 0)
        store_be<uint16_t>(l4, 0xffff);
}

result<std::unique_ptr<wire>> capture::open(const std::string& file, const rewrites& r,
                                            const pace& p) {
    const std::string object = "wire=pcap:" + file;
    char why[PCAP_ERRBUF_SIZE] = "";
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> from(pcap_open_offline(file.c_str(), why),
                                                          pcap_close);
    if (!from) return fail(EINVAL, object, why);
    if (pcap_datalink(from.get()) != DLT_EN10MB)
        return fail(EINVAL, object, "has another link type than Ethernet");
    std::unique_ptr<capture> made(new capture(p));
    pcap_pkthdr* header = nullptr;
    const uint8_t* bytes = nullptr;
    int code = 0;
    while ((code = pcap_next_ex(from.get(), &header, &bytes)) == 1)
        if (auto good = made->append(object, bytes, header->caplen, header->len); !good)
            return tl::unexpected<error>(good.error());
    if (code != PCAP_ERROR_BREAK) return fail(EINVAL, object, pcap_geterr(from.get()));
    if (made->positions_.empty())
        return fail(EINVAL, object,
                    made->skipped_ == 0
                        ? "contains no frames"
                        : "contains no frames of " + std::to_string(sizeof(ethernet_header)) +
                              " to " + std::to_string(max_frame_bytes) + " bytes");
    for (const frame_position& frame : made->positions_)
        rewrite(r, &made->bytes_[frame.at], frame.length);
    return std::unique_ptr<wire>(std::move(made));
}

result<void> capture::append(const std::string& object, const uint8_t* frame, uint32_t captured,
                             uint32_t length) {
    // Truncated by an editor, or gathered by the sender's kernel (segmentation offload): no wire
    // carries it.
    if (length < sizeof(ethernet_header) || length > max_frame_bytes) {
        ++skipped_;
        return {};
    }
    if (captured < length)
        return fail(EINVAL, object,
                    "frame " + std::to_string(positions_.size() + skipped_ + 1) + " has " +
                        std::to_string(captured) + " of " + std::to_string(length) +
                        " bytes; capture whole frames");
    const uint32_t padded = std::max(length, min_frame_bytes);
    if (bytes_.size() + padded > max_bytes)
        return fail(EFBIG, object, "the limit is 1 GiB of frames");
    positions_.push_back({bytes_.size(), padded});
    bytes_.insert(bytes_.end(), frame, frame + length);
    bytes_.resize(positions_.back().at + padded, 0);
    return {};
}

uint32_t capture::peek(uint64_t now, std::span<outgoing> into) noexcept {
    pace ahead = pace_;
    uint32_t n = 0;
    for (; n < into.size() && ahead.due(now); ++n) {
        into[n] = frame(n);
        ahead.pass(into[n].length);
    }
    return n;
}

void capture::pop(uint32_t n) noexcept {
    for (uint32_t i = 0; i < n; ++i) pace_.pass(frame(i).length);
    next_ += n;
    loops_.add(next_ / positions_.size());
    next_ %= positions_.size();
    sent_.add(n);
}

uint64_t capture::skip_due(uint64_t now) noexcept {
    uint64_t skipped = 0;
    for (; pace_.due(now); ++skipped) pop(1);
    return skipped;
}

size_t capture::counts(std::span<wire_count> into) const noexcept {
    into[0] = {"pcap_sent", sent_.read()};
    into[1] = {"pcap_loops", loops_.read()};
    into[2] = {"pcap_received", received_.read()};
    into[3] = {"pcap_skipped", skipped_};
    return 4;
}

}  // namespace turnpike::simnic
