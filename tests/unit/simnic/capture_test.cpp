// SPDX-License-Identifier: BSD-3-Clause
// Captures played and recorded.
#include "wire/capture.hpp"

#include <pcap/pcap.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/classify.hpp"
#include "unit/simnic/wires.hpp"
#include "wire/generator.hpp"
#include "wire/record.hpp"

namespace turnpike::simnic {
namespace {

using test::count, test::frame, test::inject, test::next_frame;

struct folder {
    std::filesystem::path path;
    folder() {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-capture-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] std::string operator/(const char* name) const { return path / name; }
};

std::vector<frame> generated_frames(uint32_t n, bool ipv6 = false) {
    traffic t;
    t.ipv6 = ipv6;
    t.smallest = 84;
    t.largest = 300;
    generator g(t, pace(), 1, {{2, 0, 0, 0, 0, 9}});
    std::vector<frame> all;
    for (uint32_t i = 0; i < n; ++i) all.push_back(next_frame(g));
    return all;
}

void record_all(const std::string& file, const std::vector<frame>& frames) {
    auto r = record::open(file);
    ASSERT_TRUE(r.has_value()) << r.error().message();
    EXPECT_TRUE(next_frame(**r).empty()) << "it sends nothing";
    for (const frame& f : frames) inject(**r, f);
    EXPECT_EQ(count(**r, "record_written"), frames.size());
    EXPECT_EQ(count(**r, "record_failed"), 0u);
}

std::unique_ptr<wire> open_or_die(const std::string& file, const rewrites& r = {},
                                  const pace& p = {}) {
    auto w = capture::open(file, r, p);
    EXPECT_TRUE(w.has_value()) << w.error().message();
    return w ? std::move(*w) : nullptr;
}

TEST(simnic_capture, plays_what_was_recorded_over_and_over) {
    const folder f;
    const auto frames = generated_frames(100);
    record_all(f / "a.pcap", frames);
    const auto w = open_or_die(f / "a.pcap");
    for (size_t i = 0; i < 250; ++i) ASSERT_EQ(next_frame(*w), frames[i % 100]) << i;
    EXPECT_EQ(count(*w, "pcap_sent"), 250u);
    EXPECT_EQ(count(*w, "pcap_loops"), 2u);
    inject(*w, frames[0]);
    EXPECT_EQ(count(*w, "pcap_received"), 1u);
    EXPECT_TRUE(w->waits());
    // Batches go round the end as well.
    outgoing batch[frame_batch];
    ASSERT_EQ(w->peek(0, batch), frame_batch);
    w->pop(frame_batch);
    ASSERT_EQ(w->peek(0, batch), frame_batch);
    for (size_t i = 0; i < frame_batch; ++i) {
        const frame& expected = frames[(282 + i) % 100];
        ASSERT_EQ(batch[i].length, expected.size());
        EXPECT_EQ(std::memcmp(batch[i].bytes, expected.data(), expected.size()), 0);
    }
}

TEST(simnic_capture, is_paced) {
    const folder f;
    record_all(f / "a.pcap", generated_frames(3));
    const auto w = open_or_die(f / "a.pcap", {}, pace(0, 100));
    EXPECT_FALSE(w->waits());
    EXPECT_FALSE(next_frame(*w, 0).empty());
    EXPECT_TRUE(next_frame(*w, 99).empty());
    EXPECT_FALSE(next_frame(*w, 100).empty());
    EXPECT_EQ(w->skip_due(1000), 9u);
    w->resume(5000);
    EXPECT_EQ(w->skip_due(5000), 1u) << "time before is not made up for";
}

TEST(simnic_capture, rewrites_addresses_and_keeps_checksums_right) {
    const folder f;
    auto frames = generated_frames(100);
    frames[7][50] ^= 1;                     // wrong stays wrong
    store_be<uint16_t>(&frames[8][40], 0);  // UDP without a checksum stays so
    for (frame& v6 : generated_frames(10, true)) frames.push_back(v6);
    frames.push_back(frame(60, 0xff));  // neither
    record_all(f / "a.pcap", frames);
    const rewrites r{.dst_mac = {{2, 1, 2, 3, 4, 5}}, .src_ip = 0x0a01'0203, .dst_ip = 0xffff'0000};
    const auto w = open_or_die(f / "a.pcap", r);
    for (size_t i = 0; i < frames.size(); ++i) {
        const frame got = next_frame(*w);
        ASSERT_EQ(got.size(), frames[i].size());
        EXPECT_EQ(std::memcmp(got.data(), r.dst_mac.bytes, 6), 0);
        if (i >= 100) {
            EXPECT_EQ(std::memcmp(&got[6], &frames[i][6], got.size() - 6), 0) << i;
            continue;
        }
        EXPECT_EQ(load_be<uint32_t>(&got[26]), *r.src_ip);
        EXPECT_EQ(load_be<uint32_t>(&got[30]), *r.dst_ip);
        EXPECT_EQ(std::memcmp(&got[42], &frames[i][42], got.size() - 42), 0) << i;
        const auto length = static_cast<uint32_t>(got.size());
        EXPECT_EQ(verify_checksums(classify(got.data(), length), got.data()),
                  rx_ip_good | (i == 7   ? rx_l4_bad
                                : i == 8 ? 0u
                                         : rx_l4_good))
            << i;
    }
}

TEST(simnic_capture, reads_pcapng) {
    // RFC draft-ietf-opsawg-pcapng: section header, interface, two enhanced packets of 61 and 60 bytes.
    const folder f;
    std::string bytes;
    const auto word = [&bytes](uint32_t w) { bytes.append(reinterpret_cast<char*>(&w), 4); };
    for (const uint32_t w : {0x0a0d0d0au, 28u, 0x1a2b3c4du, 1u, ~0u, ~0u, 28u}) word(w);
    for (const uint32_t w : {1u, 20u, uint32_t{DLT_EN10MB}, 65535u, 20u}) word(w);
    for (const uint32_t length : {61u, 60u}) {
        const uint32_t padded = (length + 3) / 4 * 4, block = 32 + padded;
        for (const uint32_t w : {6u, block, 0u, 0u, 0u, length, length}) word(w);
        bytes.append(length, static_cast<char>(length)).append(padded - length, '\0');
        word(block);
    }
    std::ofstream(f / "a.pcapng", std::ios::binary) << bytes;
    const auto w = open_or_die(f / "a.pcapng");
    EXPECT_EQ(next_frame(*w), frame(61, 61));
    EXPECT_EQ(next_frame(*w), frame(60, 60));
    EXPECT_EQ(next_frame(*w), frame(61, 61));
    // A file truncated within the second frame is refused, and not replayed in part.
    std::ofstream(f / "cut.pcapng", std::ios::binary) << bytes.substr(0, bytes.size() - 20);
    EXPECT_FALSE(capture::open(f / "cut.pcapng", {}, {}).has_value());
}

void expect_refused(const std::string& file, std::string_view says) {
    const auto w = capture::open(file, {}, {});
    ASSERT_FALSE(w.has_value());
    EXPECT_EQ(w.error().object, "wire=pcap:" + file);
    EXPECT_NE(w.error().text.find(says), std::string::npos) << w.error().message();
}

TEST(simnic_capture, leaves_out_what_no_wire_carries_and_counts_it) {
    const folder f;
    const auto whole = generated_frames(2);
    record_all(f / "a.pcap", {frame(8, 1), whole[0], frame(13, 1), frame(max_frame_bytes + 1, 1),
                              whole[1], frame(0, 1)});
    const auto w = open_or_die(f / "a.pcap");
    ASSERT_NE(w, nullptr);
    for (size_t i = 0; i < 6; ++i) ASSERT_EQ(next_frame(*w), whole[i % 2]) << i;
    EXPECT_EQ(count(*w, "pcap_skipped"), 4u);
    EXPECT_EQ(count(*w, "pcap_loops"), 3u);
}

TEST(simnic_capture, refuses_what_it_cannot_play) {
    const folder f;
    expect_refused(f / "none.pcap", "No such file");
    std::ofstream(f / "text.pcap") << "no capture at all, but longer than a header";
    expect_refused(f / "text.pcap", "unknown file format");
    record_all(f / "empty.pcap", {});
    expect_refused(f / "empty.pcap", "no frames");
    record_all(f / "short.pcap", {frame(13, 1)});
    expect_refused(f / "short.pcap", "no frames of 14 to 9728 bytes");
    // Captured in part, as tcpdump -s does; and of another link layer.
    const auto write = [&f](const char* name, int kind, uint32_t captured) {
        pcap_t* p = pcap_open_dead(kind, 65535);
        pcap_dumper_t* to = pcap_dump_open(p, (f / name).c_str());
        pcap_pkthdr header{};
        header.caplen = captured;
        header.len = 100;
        const frame bytes(100, 1);
        pcap_dump(reinterpret_cast<uint8_t*>(to), &header, bytes.data());
        pcap_dump_close(to);
        pcap_close(p);
    };
    write("part.pcap", DLT_EN10MB, 96);
    expect_refused(f / "part.pcap", "96 of 100 bytes");
    write("raw.pcap", DLT_RAW, 100);
    expect_refused(f / "raw.pcap", "Ethernet");
    const auto r = record::open(f / "nowhere/a.pcap");
    ASSERT_FALSE(r.has_value());
    EXPECT_NE(r.error().text.find("No such file"), std::string::npos) << r.error().message();
}

TEST(simnic_record, counts_what_a_full_disk_does_not_take) {
    auto r = record::open("/dev/full");
    ASSERT_TRUE(r.has_value()) << r.error().message();
    for (const frame& one : generated_frames(1000)) inject(**r, one);
    EXPECT_GT(count(**r, "record_failed"), 0u);
}

}  // namespace
}  // namespace turnpike::simnic
