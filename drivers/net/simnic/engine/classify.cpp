// SPDX-License-Identifier: BSD-3-Clause
#include "engine/classify.hpp"

#include <algorithm>
#include <cstddef>

#include "descriptor.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::simnic {
namespace {

using namespace packet;
using detail::protocol_tcp_number, detail::protocol_udp_number;

/// The pseudo-header's sum: RFC 9293 section 3.1, RFC 8200 section 8.1.
uint32_t pseudo_sum(const uint8_t* l3, bool v6, uint32_t protocol, uint32_t l4_bytes) noexcept {
    const uint32_t addresses = v6 ? sum_bytes({l3 + offsetof(ipv6_header, source), 32})
                                  : sum_bytes({l3 + offsetof(ipv4_header, source), 8});
    return addresses + protocol + (l4_bytes >> 16) + (l4_bytes & 0xffff);
}

}  // namespace

uint32_t verify_checksums(const frame_class& c, const uint8_t* frame) noexcept {
    uint32_t status = 0;
    const uint32_t l3 = c.ptype & 0x0f0;
    const bool v6 = l3 == ptype_l3_ipv6 || l3 == ptype_l3_ipv6_extensions;
    if (l3 == 0) return 0;
    const uint8_t* ip = frame + c.l3_at;
    // Sum the addresses once: both checksums include them.
    native_sum l4_sum;
    if (v6) {
        l4_sum.add(ip + offsetof(ipv6_header, source), 32);
    } else {
        l4_sum.add(ip + offsetof(ipv4_header, source), 8);
        native_sum ip_sum = l4_sum;
        ip_sum.add(ip, offsetof(ipv4_header, source));
        const uint32_t header = reinterpret_cast<const ipv4_header*>(ip)->header_bytes();
        ip_sum.add(ip + sizeof(ipv4_header), header - sizeof(ipv4_header));
        status |= ip_sum.folded() == 0xffff ? rx_ip_good : rx_ip_bad;
    }
    const uint32_t l4 = c.ptype & 0xf00;
    if (c.l4_at == 0 || (l4 != ptype_l4_tcp && l4 != ptype_l4_udp)) return status;
    const uint32_t l4_bytes = c.end - c.l4_at;
    const uint32_t field = l4 == ptype_l4_udp ? 6 : 16;
    if (l4_bytes < field + 2) return status;
    const uint8_t* l4_header = frame + c.l4_at;
    // RFC 768: zero means that the sender computed no checksum.
    if (l4 == ptype_l4_udp && !v6 && load_be<uint16_t>(l4_header + field) == 0) return status;
    l4_sum.add(big_endian(c.protocol));
    l4_sum.add(big_endian(l4_bytes));
    l4_sum.add(l4_header, l4_bytes);
    return status | (l4_sum.folded() == 0xffff ? rx_l4_good : rx_l4_bad);
}

void insert_checksums(uint64_t command, uint8_t* frame, uint32_t bytes) noexcept {
    const uint32_t l3_at = tx_l2_bytes(command);
    const uint32_t l4_at = l3_at + tx_l3_bytes(command);
    if ((command & (tx_ipv4_checksum | tx_l4_mask)) == 0 || l4_at > bytes || l4_at == l3_at) return;
    const bool v6 = frame[l3_at] >> 4 == 6;
    if (l4_at - l3_at < (v6 ? sizeof(ipv6_header) : sizeof(ipv4_header))) return;
    if ((command & tx_ipv4_checksum) != 0 && !v6) {
        store_be<uint16_t>(frame + l3_at + 10, 0);
        store_be(frame + l3_at + 10, checksum({frame + l3_at, l4_at - l3_at}));
    }
    const uint64_t l4 = command & tx_l4_mask;
    if (l4 != tx_l4_tcp && l4 != tx_l4_udp) return;
    const uint32_t field = l4 == tx_l4_udp ? 6 : 16;
    const uint8_t* ip = frame + l3_at;
    const uint32_t says =
        v6 ? static_cast<uint32_t>(sizeof(ipv6_header)) + load_be<uint16_t>(ip + 4)
           : load_be<uint16_t>(ip + 2);
    const uint32_t end = std::min(bytes, l3_at + says);
    if (end < l4_at + field + 2) return;
    const uint8_t protocol = l4 == tx_l4_udp ? protocol_udp_number : protocol_tcp_number;
    store_be<uint16_t>(frame + l4_at + field, 0);
    const uint32_t l4_bytes = end - l4_at;
    const auto made = static_cast<uint16_t>(
        ~fold(sum_bytes({frame + l4_at, l4_bytes}, pseudo_sum(ip, v6, protocol, l4_bytes))));
    store_be<uint16_t>(frame + l4_at + field, made == 0 && l4 == tx_l4_udp ? 0xffff : made);
}

}  // namespace turnpike::simnic
