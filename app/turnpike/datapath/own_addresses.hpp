// SPDX-License-Identifier: BSD-3-Clause
// Is this source address one of ours, or a broadcast address of a network of ours? Asked of every
// routed packet (RFC 1812 section 5.3.7, RFC 4291), so it must cost next to nothing: a small filter
// of bits says no for almost all, and what it does not is looked up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/byte_order.hpp"
#include "net/ip.hpp"

namespace turnpike::datapath {

/// Threads  control fills it before it is published; workers read.
class own_addresses {
  public:
    void add(uint32_t v4) {
        v4_.insert(std::lower_bound(v4_.begin(), v4_.end(), v4), v4);
        set(bit_of(v4));
    }
    void add(const ipv6_address& v6) {
        v6_.insert(std::lower_bound(v6_.begin(), v6_.end(), v6), v6);
        set(bit_of(low_half(v6)));
    }
    [[nodiscard]] bool has(uint32_t v4) const noexcept {
        return test(bit_of(v4)) && std::binary_search(v4_.begin(), v4_.end(), v4);
    }
    [[nodiscard]] bool has(const ipv6_address& v6) const noexcept {
        return test(bit_of(low_half(v6))) && std::binary_search(v6_.begin(), v6_.end(), v6);
    }

  private:
    static constexpr unsigned log_bits = 11;  // 256 bytes

    /// Fibonacci hashing: the high bits of a product with 2^64 / phi.
    static unsigned bit_of(uint64_t key) noexcept {
        return static_cast<unsigned>(key * 0x9e37'79b9'7f4a'7c15ULL >> (64 - log_bits));
    }
    static uint64_t low_half(const ipv6_address& a) noexcept {
        return load_be<uint64_t>(a.bytes + 8);
    }
    void set(unsigned bit) noexcept { filter_[bit / 64] |= uint64_t{1} << bit % 64; }
    [[nodiscard]] bool test(unsigned bit) const noexcept {
        return (filter_[bit / 64] >> bit % 64 & 1) != 0;
    }

    std::array<uint64_t, (1u << log_bits) / 64> filter_{};
    std::vector<uint32_t> v4_{};
    std::vector<ipv6_address> v6_{};
};

}  // namespace turnpike::datapath
