// SPDX-License-Identifier: BSD-3-Clause
#include "wire/checker.hpp"

#include <algorithm>

#include "descriptor.hpp"
#include "engine/classify.hpp"
#include "wire/stamp.hpp"

namespace turnpike::simnic {

void checker::frame(const uint8_t* bytes, uint32_t length) noexcept {
    const frame_class c = classify(bytes, length);
    const uint32_t stamp_at = c.l4_at + 8u;
    if ((c.ptype & 0xf00) != ptype_l4_udp || c.l4_at == 0 || stamp_at + stamp_bytes > c.end ||
        load_be<uint32_t>(bytes + stamp_at) != stamp_magic) {
        foreign.add(1);
        return;
    }
    const auto source = load_be<uint16_t>(bytes + stamp_at + 4);
    const auto n = load_be<uint64_t>(bytes + stamp_at + 6);
    const bool v6 = (c.ptype & 0x0f0) >= ptype_l3_ipv6;
    const uint8_t ttl = bytes[c.l3_at + (v6 ? 7u : 8u)];
    if (source >= sources || load_be<uint32_t>(bytes + stamp_at + 14) != stamp_check(source, n) ||
        (verify_checksums(c, bytes) & (rx_ip_bad | rx_l4_bad)) != 0 ||
        (ttl != generated_ttl && ttl != generated_ttl - 1)) {
        damaged.add(1);
        return;
    }
    (ttl == generated_ttl ? ttl_kept : ttl_less_1).add(1);
    received.add(1);
    sequence(streams_[source], n);
}

void checker::sequence(stream& s, uint64_t n) noexcept {
    const auto bit = [](uint64_t k) { return uint64_t{1} << (k % 64); };
    const auto word = [&s](uint64_t k) -> uint64_t& { return s.seen[k / 64 % s.seen.size()]; };
    if (n >= s.next) {
        lost.add(n - s.next);
        // The window advances: sequence numbers that leave it unseen were never received.
        const uint64_t from = std::max(s.next, n >= window ? n - window + 1 : 0);
        for (uint64_t k = from; k <= n; ++k) word(k) &= ~bit(k);
        s.next = n + 1;
        word(n) |= bit(n);
        return;
    }
    if (n + window < s.next) {
        reordered.add(1);  // outside the window: cannot tell a duplicate
        return;
    }
    if ((word(n) & bit(n)) != 0) {
        duplicated.add(1);
        return;
    }
    word(n) |= bit(n);
    reordered.add(1);
    back.add(1);
}

}  // namespace turnpike::simnic
