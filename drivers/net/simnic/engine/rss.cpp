// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rss.hpp"

#include <cstddef>

#include "base/byte_order.hpp"

namespace turnpike::simnic {

void rss::set_key(const key& k) noexcept {
    key_ = k;
    for (size_t at = 0; at < input_bytes; ++at) {
        // The 39 key bits that the bits of this byte can select.
        const uint64_t window = uint64_t{load_be<uint32_t>(&k[at])} << 8 | k[at + 4];
        for (uint32_t byte = 0; byte < 256; ++byte) {
            uint32_t hash = 0;
            for (uint32_t bit = 0; bit < 8; ++bit)
                if ((byte >> (7 - bit) & 1) != 0)
                    hash ^= static_cast<uint32_t>(window >> (8 - bit));
            share_[at][byte] = hash;
        }
    }
}

bool rss::hash(const frame_class& c, const uint8_t* frame, uint32_t& into) const noexcept {
    const uint32_t l3 = c.ptype & 0x0f0, l4 = c.ptype & 0xf00;
    if (l3 == 0) return false;
    const bool v6 = l3 == ptype_l3_ipv6 || l3 == ptype_l3_ipv6_extensions;
    const uint32_t with_ports = l4 == ptype_l4_tcp   ? uint32_t{v6 ? rss_ipv6_tcp : rss_ipv4_tcp}
                                : l4 == ptype_l4_udp ? uint32_t{v6 ? rss_ipv6_udp : rss_ipv4_udp}
                                                     : uint32_t{0};
    constexpr uint32_t port_bytes = 4;
    const bool ports = (types & with_ports) != 0 && c.l4_at != 0 && c.l4_at + port_bytes <= c.end;
    if (!ports && (types & (v6 ? rss_ipv6 : rss_ipv4)) == 0) return false;
    // Source and destination address are adjacent.
    const uint32_t addresses = v6 ? 32 : 8;
    const size_t from =
        v6 ? offsetof(packet::ipv6_header, source) : offsetof(packet::ipv4_header, source);
    into = toeplitz({frame + c.l3_at + from, addresses});
    if (ports) into ^= toeplitz({frame + c.l4_at, port_bytes}, addresses);
    return true;
}

}  // namespace turnpike::simnic
