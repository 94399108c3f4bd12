// SPDX-License-Identifier: BSD-3-Clause
#include "packet/checksum.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lib/isa_param.hpp"

namespace turnpike::packet {
namespace {

// RFC 1071 section 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2.
TEST(checksum, rfc_1071_example) {
    const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    EXPECT_EQ(fold(sum_bytes(bytes)), 0xddf2);
    EXPECT_EQ(checksum(bytes), 0x220d);
}

TEST(checksum, odd_length_is_padded_with_zero) {
    const uint8_t odd[] = {0x12, 0x34, 0x56};
    const uint8_t even[] = {0x12, 0x34, 0x56, 0x00};
    EXPECT_EQ(checksum(odd), checksum(even));
}

TEST(checksum, update_equals_recomputation) {
    std::mt19937 random(1);
    for (int round = 0; round < 10'000; ++round) {
        uint8_t bytes[20];
        for (auto& b : bytes) b = static_cast<uint8_t>(random());
        const uint16_t before = checksum(bytes);
        const size_t at = 2 * (random() % 10);
        const auto old_word = load_be<uint16_t>(bytes + at);
        const auto new_word = static_cast<uint16_t>(random());
        store_be(bytes + at, new_word);
        const uint16_t updated = update_checksum(before, old_word, new_word);
        // 0x0000 and 0xffff are the same number in one's complement.
        EXPECT_EQ(updated % 0xffff, checksum(bytes) % 0xffff);
    }
}

class ipv4_sum : public ::testing::TestWithParam<std::string> {};

TEST_P(ipv4_sum, equals_the_plain_sum_for_every_burst_size_and_header_length) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, ipv4_sum_kernels());
    std::mt19937 random(2);
    for (uint32_t n = 0; n <= 65; ++n) {
        // Headers stand byte to byte, the last one at the buffer's end: ASan sees an over-read.
        std::vector<uint8_t> bytes(n);
        size_t total = 0;
        for (auto& b : bytes)
            total += b = static_cast<uint8_t>(4 * (n % 3 ? 5 : 5 + random() % 11));
        std::vector<uint8_t> memory(total);
        for (auto& b : memory) b = static_cast<uint8_t>(random());
        std::vector<const uint8_t*> header(n);
        const uint8_t* at = memory.data();
        for (uint32_t i = 0; i < n; ++i) at = (header[i] = at) + bytes[i];
        std::vector<uint16_t> sum(n);
        kernel->function(header.data(), bytes.data(), sum.data(), n);
        for (uint32_t i = 0; i < n; ++i)
            ASSERT_EQ(sum[i], fold(sum_bytes({header[i], bytes[i]})))
                << "header " << i << " of " << n;
    }
}

TEST_P(ipv4_sum, a_right_checksum_sums_to_ffff) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, ipv4_sum_kernels());
    uint8_t header[20] = {0x45, 0, 0,    0x73, 0, 0, 0x40, 0,    0x40, 0x11,
                          0,    0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,    0xc7};
    store_be(header + 10, checksum(header));
    const uint8_t* headers[] = {header};
    const uint8_t bytes = 20;
    uint16_t sum = 0;
    kernel->function(headers, &bytes, &sum, 1);
    EXPECT_EQ(sum, 0xffff);
}

INSTANTIATE_TEST_SUITE_P(isa, ipv4_sum, ::testing::ValuesIn(test::kernel_names(ipv4_sum_kernels())),
                         test::isa_name);

}  // namespace
}  // namespace turnpike::packet
