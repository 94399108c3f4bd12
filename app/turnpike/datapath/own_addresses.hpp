// SPDX-License-Identifier: BSD-3-Clause
// The router's own addresses and its networks' broadcast addresses. The source of every routed packet is
// checked against them (RFC 1812 section 5.3.7, RFC 4291), so the check must be cheap: a small filter
// rules out almost all addresses, and only the rest are looked up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "net/ip.hpp"

namespace turnpike::datapath {

/// Threads  control fills it before it is published; workers read.
class own_addresses {
  public:
    void add(uint32_t v4) {
        v4_.insert(std::lower_bound(v4_.begin(), v4_.end(), v4), v4);
        filter_[ifindex_of(v4)] = 1;
    }
    void add(const ipv6_address& v6) {
        v6_.insert(std::lower_bound(v6_.begin(), v6_.end(), v6), v6);
        filter_[ifindex_of(v6)] = 1;
    }
    [[nodiscard]] bool has(uint32_t v4) const noexcept {
        return may_have(v4) != 0 && std::binary_search(v4_.begin(), v4_.end(), v4);
    }
    [[nodiscard]] bool has(const ipv6_address& v6) const noexcept {
        return filter_[ifindex_of(v6)] != 0 && std::binary_search(v6_.begin(), v6_.end(), v6);
    }
    /// 0: certainly not in the set.
    [[nodiscard]] uint8_t may_have(uint32_t v4) const noexcept { return filter_[ifindex_of(v4)]; }

  private:
    static constexpr unsigned log_slots = 11;  // 2 KB: a byte each, tested without a shift

    /// Fibonacci hashing: the high bits of a product with 2^32 / phi, 2^64 / phi.
    static uint32_t ifindex_of(uint32_t v4) noexcept {
        return v4 * 0x9e37'79b1U >> (32 - log_slots);
    }
    static uint64_t ifindex_of(const ipv6_address& v6) noexcept {
        uint64_t host;  // byte order does not matter
        std::memcpy(&host, v6.bytes + 8, sizeof host);
        return host * 0x9e37'79b9'7f4a'7c15ULL >> (64 - log_slots);
    }

    std::array<uint8_t, size_t{1} << log_slots> filter_{};
    std::vector<uint32_t> v4_{};
    std::vector<ipv6_address> v6_{};
};

}  // namespace turnpike::datapath
