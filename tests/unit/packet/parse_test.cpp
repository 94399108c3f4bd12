// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <random>

#include "frames.hpp"
#include "reference_parse.hpp"

namespace turnpike::packet {

void PrintTo(const parsed& p, std::ostream* out) {  // what EXPECT_EQ shows
    *out << "{l3_drop " << name(p.l3_drop) << ", l3 " << static_cast<int>(p.l3) << ", tags "
         << int{p.vlan_tags} << ", type " << p.type << ", flags " << p.flags << ", l2 "
         << int{p.l2_bytes} << ", l3_bytes " << p.l3_bytes << ", padding " << p.padding_bytes
         << ", upper " << int{p.upper_protocol} << " at " << p.upper_offset << ", ports "
         << p.source_port << " " << p.destination_port << ", fragment " << p.fragment_id << " at "
         << p.fragment_offset_bytes << "}";
}

namespace {

using test::byte_vector;
using test::operator+;

/// Parse with the first `lead_bytes` in a heap buffer of exactly that size, so that ASan sees any
/// read past it.
parse_status parse_lead(const byte_vector& frame, size_t lead_bytes, parsed& out) {
    const std::unique_ptr<uint8_t[]> lead(new uint8_t[lead_bytes]);
    std::copy_n(frame.begin(), lead_bytes, lead.get());
    return parse({lead.get(), lead_bytes}, static_cast<uint32_t>(frame.size()), out);
}

parsed parsed_lead(const byte_vector& frame) {
    parsed out;
    EXPECT_EQ(parse_lead(frame, frame.size(), out), parse_status::done);
    return out;
}

TEST(parse, each_fixture_gets_its_verdict) {
    for (const auto& f : test::frame_fixtures())
        EXPECT_EQ(name(parsed_lead(f.bytes).l3_drop), name(f.l3_drop)) << f.description;
}

TEST(parse, a_patch_refuses_runts_only) {
    for (const auto& f : test::frame_fixtures())
        EXPECT_EQ(parsed_lead(f.bytes).l2_drop,
                  f.bytes.size() < 14 ? drop_reason::runt : drop_reason::none)
            << f.description;
}

TEST(parse, each_fixture_equals_the_reference) {
    for (const auto& f : test::frame_fixtures())
        EXPECT_EQ(parsed_lead(f.bytes), test::reference_parse(f.bytes)) << f.description;
}

// Every possible first segment: it parses as the whole frame does, or reports that it needs more,
// and enough_bytes suffice.
TEST(parse, a_split_at_every_offset_changes_nothing) {
    for (const auto& f : test::frame_fixtures()) {
        const parsed whole = parsed_lead(f.bytes);
        const uint32_t enough = enough_bytes(static_cast<uint32_t>(f.bytes.size()));
        bool content = false;
        for (size_t lead = 0; lead <= enough; ++lead) {
            parsed out;
            const bool done = parse_lead(f.bytes, lead, out) == parse_status::done;
            EXPECT_TRUE(done || !content) << f.description << ": wants more at " << lead;
            content |= done;
            if (!done) continue;
            ASSERT_EQ(out, whole) << f.description << ", lead " << lead;
        }
        EXPECT_TRUE(content) << f.description;
    }
}

TEST(parse, a_frame_cut_at_every_byte_equals_the_reference) {
    for (const auto& f : test::frame_fixtures())
        for (size_t n = 0; n < std::min<size_t>(f.bytes.size(), 400); ++n) {
            const byte_vector cut(f.bytes.begin(), f.bytes.begin() + static_cast<ptrdiff_t>(n));
            ASSERT_EQ(parsed_lead(cut), test::reference_parse(cut)) << f.description << ", " << n;
        }
}

TEST(parse, mutated_frames_equal_the_reference) {
    auto fixtures = test::frame_fixtures();
    std::erase_if(fixtures, [](const auto& f) { return f.bytes.size() > 2000 || f.bytes.empty(); });
    std::mt19937 random(3);
    // Values that mean something in one header or another.
    const uint8_t telling[] = {0, 1, 4, 6, 8, 17, 43, 44, 45, 46, 51, 58, 59, 60, 0x60, 0x81, 0xff};
    for (int round = 0; round < 200'000; ++round) {
        byte_vector frame = fixtures[random() % fixtures.size()].bytes;
        for (unsigned i = random() % 4; i < 4; ++i) {
            const size_t at = random() % std::min<size_t>(frame.size(), 120);
            frame[at] = random() % 2 ? telling[random() % std::size(telling)]
                                     : static_cast<uint8_t>(random());
        }
        ASSERT_EQ(parsed_lead(frame), test::reference_parse(frame)) << "round " << round;
    }
}

TEST(parse, says_where_things_are) {
    const byte_vector frame = test::ethernet(
        0x88a8, test::tag(7, 0x8100,
                          test::tag(8, 0x0800,
                                    test::ipv4({.protocol = 6, .options = test::zeros(4)},
                                               test::tcp(0x12, test::counted(3))) +
                                        test::zeros(9))));
    const parsed p = parsed_lead(frame);
    EXPECT_EQ(p.l2_bytes, 22);
    EXPECT_EQ(p.outer_tci, 7);
    EXPECT_EQ(p.inner_tci, 8);
    EXPECT_EQ(p.l3_bytes, 24 + 20 + 3);
    EXPECT_EQ(p.padding_bytes, 9);
    EXPECT_EQ(p.upper_offset, 22 + 24);
    EXPECT_EQ(p.tcp_flags, 0x12);
    EXPECT_EQ(p.source_port, 3333);
    EXPECT_EQ(load_be<uint32_t>(&frame[p.source_offset()]), 0x0a000101u);
    EXPECT_EQ(load_be<uint32_t>(&frame[p.destination_offset()]), 0x0a000202u);
    const byte_vector six = test::ethernet(0x86dd, test::ipv6({}, test::udp({})));
    EXPECT_EQ(0, memcmp(&six[parsed_lead(six).source_offset()], test::v6_a.data(), 16));
    EXPECT_EQ(0, memcmp(&six[parsed_lead(six).destination_offset()], test::v6_b.data(), 16));
}

// The name in the report is the name in the code: GCC and clang both spell the enumerator.
template <drop_reason Reason>
std::string_view spelled() {
    std::string_view text = __PRETTY_FUNCTION__;
    text = text.substr(text.find("Reason = ") + 9);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}
template <size_t... I>
std::vector<std::string_view> all_spelled(std::index_sequence<I...>) {
    return {spelled<static_cast<drop_reason>(I)>()...};
}

TEST(drop_reason, names_are_the_enumerators) {
    const auto spelled_names = all_spelled(std::make_index_sequence<drop_reasons>());
    for (size_t i = 0; i < drop_reasons; ++i) EXPECT_EQ(drop_texts[i].name, spelled_names[i]);
}

}  // namespace
}  // namespace turnpike::packet
