// SPDX-License-Identifier: BSD-3-Clause
// Receive side scaling: selects a frame's RX queue. Source: Microsoft, "RSS hashing functions" and
// "Verifying the RSS hash calculation" (Windows driver documentation): the Toeplitz hash of source
// address, destination address, source port, destination port, in network byte order, with a
// 40-byte key.
//
//   hash = XOR over the set bits i of the input, from the left, of the key's bits i to i + 31
//
// Each byte's contribution is a table lookup: 36 bytes of the longest input (IPv6 and ports), 256
// values each.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/classify.hpp"

namespace turnpike::simnic {

/// Hash input by packet type; ipv4 or ipv6 alone hashes only the addresses.
enum rss_types : uint32_t {
    rss_ipv4 = 1u << 0,
    rss_ipv4_tcp = 1u << 1,
    rss_ipv4_udp = 1u << 2,
    rss_ipv6 = 1u << 3,
    rss_ipv6_tcp = 1u << 4,
    rss_ipv6_udp = 1u << 5,
};

/// Threads  the engine's lock.
class rss {
  public:
    static constexpr size_t key_bytes = 40, table_entries = 128;
    using key = std::array<uint8_t, key_bytes>;

    rss() noexcept { set_key(default_key); }

    void set_key(const key& k) noexcept;
    [[nodiscard]] const key& current_key() const noexcept { return key_; }

    /// The hash of any input of at most 36 bytes.
    [[nodiscard]] uint32_t toeplitz(std::span<const uint8_t> input,
                                    uint32_t at = 0) const noexcept {
        uint32_t hash = 0;
        for (const uint8_t byte : input) hash ^= share_[at++][byte];
        return hash;
    }
    /// Returns false if the frame has no hash; it goes to queue 0 then.
    [[nodiscard]] bool hash(const frame_class& c, const uint8_t* frame,
                            uint32_t& into) const noexcept;
    [[nodiscard]] uint16_t queue_of(uint32_t hash) const noexcept {
        return table[hash % table_entries];
    }

    uint32_t types = 0;  ///< bitmap of rss_types; 0: off
    std::array<uint16_t, table_entries> table{};

    /// The first 320 bits of pi's fraction. Flows whose source and destination addresses increment
    /// in step, as wire=gen generates them, spread evenly; with Microsoft's key 100 of them reach 2
    /// of 4 queues.
    static constexpr key default_key{0x24, 0x3f, 0x6a, 0x88, 0x85, 0xa3, 0x08, 0xd3, 0x13, 0x19,
                                     0x8a, 0x2e, 0x03, 0x70, 0x73, 0x44, 0xa4, 0x09, 0x38, 0x22,
                                     0x29, 0x9f, 0x31, 0xd0, 0x08, 0x2e, 0xfa, 0x98, 0xec, 0x4e,
                                     0x6c, 0x89, 0x45, 0x28, 0x21, 0xe6, 0x38, 0xd0, 0x13, 0x77};

  private:
    static constexpr size_t input_bytes = key_bytes - 4;

    key key_{};
    std::array<std::array<uint32_t, 256>, input_bytes> share_{};
};

}  // namespace turnpike::simnic
