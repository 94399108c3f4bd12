// SPDX-License-Identifier: BSD-3-Clause
// access.hpp against a plain simulation that cuts an access byte by byte.
#include "pcie/access.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "lib/sanitized.hpp"

namespace turnpike::pcie {
namespace {

struct tlp {
    uint64_t address;
    uint64_t bytes;
};

/// A TLP ends where it holds `limit` bytes, or at a 4 KB boundary.
std::vector<tlp> cut_plainly(uint64_t address, uint64_t bytes, uint64_t limit) {
    std::vector<tlp> tlps;
    for (uint64_t at = address; at < address + bytes; ++at) {
        if (tlps.empty() || tlps.back().bytes == limit || at % 4096 == 0) tlps.push_back({at, 0});
        ++tlps.back().bytes;
    }
    return tlps;
}

/// The fewest completions of a request: all in one, or each as far as the last RCB within MPS.
std::vector<tlp> complete_plainly(const link& l, const tlp& request) {
    std::vector<tlp> completions;
    uint64_t at = request.address;
    const uint64_t end = request.address + request.bytes;
    while (at < end) {
        uint64_t next = end;
        if (end - at > l.mps)
            for (next = at + l.mps; next % l.rcb != 0;) --next;
        completions.push_back({at, next - at});
        at = next;
    }
    return completions;
}

void count_lines(const tlp& t, uint64_t& full, uint64_t& partial) {
    const uint64_t end = t.address + t.bytes;
    for (uint64_t line = t.address / 64 * 64; line < end; line += 64)
        ++(line >= t.address && line + 64 <= end ? full : partial);
}

std::vector<link> links() {
    std::vector<link> all;
    for (const uint16_t mps : {uint16_t{128}, uint16_t{256}, uint16_t{512}, uint16_t{4096}})
        for (const uint16_t mrrs : {uint16_t{128}, uint16_t{512}, uint16_t{4096}})
            for (const uint16_t rcb : {uint16_t{64}, uint16_t{128}})
                all.push_back({.mps = mps, .mrrs = mrrs, .rcb = rcb, .ecrc = mps == 512});
    return all;
}

void expect_write_as_cut(const link& l, uint64_t address, uint64_t bytes) {
    const transactions counted = write(l, address, bytes);
    uint64_t full = 0, partial = 0;
    const auto tlps = cut_plainly(address, bytes, l.mps);
    for (const auto& t : tlps) {
        ASSERT_LE(t.bytes, l.mps);
        ASSERT_EQ(t.address / 4096, (t.address + t.bytes - 1) / 4096);
        count_lines(t, full, partial);
    }
    ASSERT_EQ(counted.tlps.mwr, tlps.size()) << address << " + " << bytes << " MPS " << l.mps;
    ASSERT_EQ(counted.lines.itom, full) << address << " + " << bytes << " MPS " << l.mps;
    ASSERT_EQ(counted.lines.rfo, partial) << address << " + " << bytes << " MPS " << l.mps;
    ASSERT_EQ(counted.bytes.up, bytes + tlps.size() * request_overhead_bytes(l));
    ASSERT_EQ(counted.bytes.down, 0U);
    ASSERT_EQ(counted.dma.written, bytes);
}

void expect_read_as_cut(const link& l, uint64_t address, uint64_t bytes) {
    const transactions counted = read(l, address, bytes);
    uint64_t full = 0, partial = 0, completions = 0, completed_bytes = 0;
    const auto requests = cut_plainly(address, bytes, l.mrrs);
    for (const auto& request : requests) {
        count_lines(request, full, partial);
        for (const auto& completion : complete_plainly(l, request)) {
            ASSERT_LE(completion.bytes, l.mps);
            ++completions;
            completed_bytes += completion.bytes;
        }
    }
    ASSERT_EQ(completed_bytes, bytes);
    ASSERT_EQ(counted.tlps.mrd, requests.size()) << address << " + " << bytes << " MRRS " << l.mrrs;
    ASSERT_EQ(counted.tlps.cpld, completions)
        << address << " + " << bytes << " MPS " << l.mps << " RCB " << l.rcb;
    ASSERT_EQ(counted.lines.rd_cur, full + partial) << address << " + " << bytes;
    ASSERT_EQ(counted.bytes.up, requests.size() * request_overhead_bytes(l));
    ASSERT_EQ(counted.bytes.down, bytes + completions * completion_overhead_bytes(l));
    ASSERT_EQ(counted.dma.read, bytes);
}

TEST(access, every_size_from_notable_addresses) {
    for (const auto& l : links())
        for (const uint64_t address : {0, 1, 52, 63, 64, 100, 128, 4032, 4080, 4095})
            for (uint64_t bytes = 0; bytes <= 1600;
                 bytes += (bytes < 300 ? 1 : 13) * (test::sanitized ? 5 : 1)) {
                expect_write_as_cut(l, address, bytes);
                expect_read_as_cut(l, address, bytes);
                if (HasFatalFailure()) return;
            }
}

TEST(access, random_accesses) {
    std::mt19937_64 random(1);
    const auto all = links();
    for (int round = 0; round < (test::sanitized ? 500 : 5'000); ++round) {
        const auto& l = all[random() % all.size()];
        const uint64_t address = random() % (1ull << 40);
        const uint64_t bytes = random() % 20'000;
        expect_write_as_cut(l, address, bytes);
        expect_read_as_cut(l, address, bytes);
        if (HasFatalFailure()) return;
    }
}

TEST(access, monotonic_in_size) {
    for (const auto& l : links())
        for (const uint64_t address : {0, 20, 4000}) {
            transactions less_written, less_read;
            for (uint64_t bytes = 1; bytes < 9'000; ++bytes) {
                const auto written = write(l, address, bytes);
                const auto fetched = read(l, address, bytes);
                ASSERT_GT(written.bytes.up, less_written.bytes.up);
                ASSERT_GE(written.tlps.mwr, less_written.tlps.mwr);
                ASSERT_GT(fetched.bytes.down, less_read.bytes.down);
                ASSERT_GE(fetched.bytes.up, less_read.bytes.up);
                ASSERT_GE(fetched.lines.rd_cur, less_read.lines.rd_cur);
                less_written = written;
                less_read = fetched;
            }
        }
}

// The paper, section 3: an unaligned read may need one completion more.
TEST(access, unaligned_read_takes_one_completion_more) {
    EXPECT_EQ(read({}, 0, 512).tlps.cpld, 2U);
    EXPECT_EQ(read({}, 32, 512).tlps.cpld, 3U);
}

TEST(access, registers_and_interrupts) {
    const auto doorbell = register_write({}, 4);
    EXPECT_EQ(doorbell.bytes.down, 28U);
    EXPECT_EQ(doorbell.bytes.up, 0U);
    EXPECT_EQ(doorbell.lines.wil, 1U);
    const auto head = register_read({}, 4);
    EXPECT_EQ(head.bytes.down, 24U);
    EXPECT_EQ(head.bytes.up, 24U);
    EXPECT_EQ(head.lines.prd, 1U);
    const auto message = interrupt({});
    EXPECT_EQ(message.bytes.up, 28U);
    EXPECT_EQ(message.lines.rfo, 0U);
}

// A device emulator calls these for each access: they must be usable where nothing may throw, and
// in a constant expression, which cannot allocate memory that it keeps.
static_assert(noexcept(write({}, 0, 1)) && noexcept(read({}, 0, 1)) && noexcept(
    register_write({}, 4)) && noexcept(register_read({}, 4)) && noexcept(interrupt({})));
static_assert(write({}, 0, 1518).tlps.mwr == 6 && read({}, 0, 1518).tlps.mrd == 3);

}  // namespace
}  // namespace turnpike::pcie
