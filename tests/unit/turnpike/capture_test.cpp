// SPDX-License-Identifier: BSD-3-Clause
// Captures: rings against a queue, packets of a router at each point, and a written file block by block.
#include "datapath/capture.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "control/forwarding/captures.hpp"
#include "control/management/control_calls.hpp"
#include "control/management/requests.hpp"
#include "control/management/show.hpp"
#include "observe/pcapng.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::capture_point, datapath::capture_record, datapath::capture_ring;
using nlohmann::json;

TEST(capture_ring, holds_what_a_queue_holds) {
    std::mt19937 random(7);
    capture_ring ring(8192);  // a record of at most half of it fits an empty ring
    std::deque<std::vector<uint8_t>> oracle;
    size_t full = 0, wrapped = 0;
    for (int step = 0; step < 200'000; ++step) {
        if (random() % 2 == 0) {
            const uint32_t kept =
                static_cast<uint32_t>(random() % 9 == 0 ? random() % 3000 : random() % 120);
            capture_record* const r = ring.reserve(kept);
            if (r == nullptr) {
                ++full;
                EXPECT_FALSE(oracle.empty()) << "an empty ring takes " << kept;
                continue;
            }
            r->kept = kept;
            std::vector<uint8_t> bytes(kept);
            for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
            if (kept != 0) std::memcpy(r->bytes(), bytes.data(), kept);
            ring.commit();
            oracle.push_back(std::move(bytes));
        } else {
            const capture_record* const r = ring.front();
            ASSERT_EQ(r == nullptr, oracle.empty());
            if (r == nullptr) continue;
            ASSERT_EQ(r->kept, oracle.front().size());
            ASSERT_TRUE(std::equal(oracle.front().begin(), oracle.front().end(), r->bytes()));
            wrapped += r->ring_bytes;
            ring.pop();
            oracle.pop_front();
        }
    }
    EXPECT_GT(full, 100U);
    EXPECT_GT(wrapped, 100U * 8192);
}

TEST(capture_ring, between_two_threads) {
    capture_ring ring(1 << 14);
    constexpr uint32_t records = 200'000;
    std::thread producer([&] {
        for (uint32_t n = 0; n < records;) {
            capture_record* const r = ring.reserve(n % 211);
            if (r == nullptr) {
                std::this_thread::yield();
                continue;
            }
            r->kept = n % 211;
            r->frame_bytes = n;
            std::memset(r->bytes(), static_cast<int>(n & 0xff), r->kept);
            ring.commit();
            ++n;
        }
    });
    for (uint32_t n = 0; n < records;) {
        const capture_record* const r = ring.front();
        if (r == nullptr) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(r->frame_bytes, n);
        const auto* const bytes = r->bytes();
        for (uint32_t i = 0; i < r->kept; ++i) ASSERT_EQ(bytes[i], n & 0xff);
        ring.pop();
        ++n;
    }
    producer.join();
}

/// A pcapng file, read by its specification.
struct pcapng_block {
    uint32_t type = 0;
    std::string body{};
    [[nodiscard]] uint32_t word(size_t at) const {
        uint32_t out = 0;
        std::memcpy(&out, body.data() + at, sizeof out);
        return out;
    }
    /// {code: value} of the options from a position of the body on.
    [[nodiscard]] std::map<uint16_t, std::string> options(size_t at) const {
        std::map<uint16_t, std::string> out;
        while (at + 4 <= body.size()) {
            const auto code = static_cast<uint16_t>(word(at)),
                       n = static_cast<uint16_t>(word(at) >> 16);
            if (code == 0) break;
            out[code] = body.substr(at + 4, n);
            at += 4 + (n + 3U) / 4 * 4;
        }
        return out;
    }
    [[nodiscard]] uint64_t number(size_t options_at, uint16_t code) const {
        uint64_t out = 0;
        const std::string value = options(options_at)[code];
        std::memcpy(&out, value.data(), std::min(value.size(), sizeof out));
        return out;
    }
};
std::vector<pcapng_block> pcapng_blocks(const std::string& file) {
    std::vector<pcapng_block> out;
    for (size_t at = 0; at < file.size();) {
        uint32_t head[2], last = 0;
        if (file.size() - at < 12) ADD_FAILURE() << "a part of a block";
        if (file.size() - at < 12) break;
        std::memcpy(head, file.data() + at, sizeof head);
        EXPECT_EQ(head[1] % 4, 0U);
        if (head[1] < 12 || head[1] > file.size() - at) {
            ADD_FAILURE() << "length " << head[1];
            break;
        }
        std::memcpy(&last, file.data() + at + head[1] - 4, sizeof last);
        EXPECT_EQ(last, head[1]) << "the length is there twice";
        out.push_back({head[0], file.substr(at + 8, head[1] - 12)});
        at += head[1];
    }
    return out;
}
constexpr uint32_t shb = 0x0A0D0D0A, idb = 1, isb = 5, epb = 6;

TEST(pcapng, blocks_are_as_the_specification_has_them) {
    namespace pcapng = observe::pcapng;
    for (size_t n = 0; n < 9; ++n) {
        std::string out;
        const std::string text(n, 'x');
        std::vector<uint8_t> bytes(n, 0xab);
        append(out, pcapng::section{text, "os", text});
        append(out, pcapng::interface_description{"west", text, "udp", 77, 25'000'000'000});
        append(out, pcapng::enhanced_packet{3, UINT64_C(0x1122334455667788), bytes, 1500,
                                            pcapng::direction::outbound, text});
        append(out, pcapng::statistics{3, 1, 2, 40, 30, 20, 10});
        const auto all = pcapng_blocks(out);
        ASSERT_EQ(all.size(), 4U);
        EXPECT_EQ(all[0].type, shb);
        EXPECT_EQ(all[0].word(0), 0x1A2B3C4DU);
        EXPECT_EQ(all[0].options(16)[3], "os");
        EXPECT_EQ(all[0].options(16).contains(4), n != 0);
        EXPECT_EQ(all[1].type, idb);
        EXPECT_EQ(all[1].word(0), 1U) << "Ethernet";
        EXPECT_EQ(all[1].word(4), 77U);
        EXPECT_EQ(all[1].options(8)[2], "west");
        EXPECT_EQ(all[1].options(8)[9], "\x09");
        EXPECT_EQ(all[1].options(8)[11], std::string("\0udp", 4));
        EXPECT_EQ(all[2].type, epb);
        EXPECT_EQ(all[2].word(4), 0x11223344U);
        EXPECT_EQ(all[2].word(8), 0x55667788U);
        EXPECT_EQ(all[2].word(12), n);
        EXPECT_EQ(all[2].word(16), 1500U);
        const size_t behind = 20 + (n + 3) / 4 * 4;
        EXPECT_EQ(all[2].number(behind, 2), 2U);
        EXPECT_EQ(all[2].options(behind)[1], text);
        EXPECT_EQ(all[3].type, isb);
        EXPECT_EQ(all[3].number(12, 4), 40U);
        EXPECT_EQ(all[3].number(12, 5), 20U);
    }
}

TEST(pcapng, whole_blocks_of_a_part) {
    namespace pcapng = observe::pcapng;
    std::string out;
    std::vector<size_t> ends{0};
    append(out, pcapng::section{});
    ends.push_back(out.size());
    for (size_t n = 0; n < 5; ++n) {
        append(out, pcapng::enhanced_packet{.bytes = std::vector<uint8_t>(n), .comment = "x"});
        ends.push_back(out.size());
    }
    for (size_t part = 0; part <= out.size(); ++part) {
        const auto whole = pcapng::whole_blocks_of(std::string_view(out).substr(0, part));
        const auto blocks = std::upper_bound(ends.begin(), ends.end(), part) - ends.begin() - 1;
        EXPECT_EQ(whole.bytes, ends[static_cast<size_t>(blocks)]);
        EXPECT_EQ(whole.packets, static_cast<size_t>(std::max<ptrdiff_t>(blocks - 1, 0)));
    }
}

const char* const capture_router =
    "ports:\n"
    "  - {name: p0, device: net_x0, addresses: [10.0.0.1/24]}\n"
    "  - {name: p1, device: net_x1, addresses: [10.1.0.1/24]}\n"
    "interfaces: [{port: p0, vlan: 7, addresses: [10.7.0.1/24]},\n"
    "             {port: p1, vlan: 20, addresses: [10.20.0.1/24]}]\n"
    "routes:\n  - {to: 10.9.0.0/16, via: 10.1.0.2}\n  - {to: 10.8.0.0/16, type: blackhole}\n"
    "neighbours: {static: [{address: 10.1.0.2, port: p1, mac: \"02:00:00:00:09:02\"},\n"
    "                      {address: 10.20.0.2, mac: \"02:00:00:00:20:02\"},\n"
    "                      {address: 10.0.0.5, port: p0, mac: \"02:00:00:00:00:05\"}]}\n";

/// sFlow notifies of packets that the device refuses, too, or counts them as lost notifications.
TEST(sflow_export, packets_that_the_device_refuses_are_drops) {
    running_lab l(std::string(capture_router) +
                  "sflow: {collectors: [\"127.0.0.1:9\"], agent: 10.0.0.1, sample: 0, "
                  "counters_s: 0, drops: 100}\n");
    control::requests asked(l.controller(), "none.yaml");
    const auto frame =
        ethernet(0x0800, ipv4({.source = 0x0a000005, .destination = 0x0a090001}, udp(counted(20))),
                 {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 5});
    uint64_t refused = 0;
    for (int n = 0; n < 20'000 && refused < 200; ++n) {
        ASSERT_TRUE(l.offer(0, frame));
        if (n % 32 == 31) l.settle();
        refused = l.dropped(datapath::drop_reason::tx_refused);
    }
    l.settle();
    refused = l.dropped(datapath::drop_reason::tx_refused);
    ASSERT_GE(refused, 200U);
    uint64_t notified = 0, lost = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (notified + lost < refused && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const json shown = json::parse(asked.answer(R"({"request": "show", "what": "sflow"})", {}));
        notified = shown["result"]["sflow"]["drop_notifications"];
        lost = shown["result"]["sflow"]["lost_drop_notifications"];
    }
    EXPECT_GE(notified, 100U);
    EXPECT_EQ(notified + lost, refused);
    for (uint16_t p = 0; p < 2; ++p) l.sent(p);
    l.check_balance();
}

/// A client with a file in memory.
class capture_lab : public testing::Test {
  protected:
    static byte_vector frame(uint32_t destination, size_t payload = 20, uint8_t ttl = 64) {
        return ethernet(0x0800,
                        ipv4({.ttl = ttl, .source = 0x0a000005, .destination = destination},
                             udp(counted(payload))),
                        {2, 0, 0, 0, 0, 0x0b}, {2, 0, 0, 0, 0, 5});
    }
    static byte_vector tagged(uint32_t destination, uint16_t vlan, uint8_t ttl = 64) {
        byte_vector f = frame(destination, 20, ttl);
        const uint8_t tag[] = {0x81, 0, static_cast<uint8_t>(vlan >> 8),
                               static_cast<uint8_t>(vlan)};
        f.insert(f.begin() + 12, std::begin(tag), std::end(tag));
        return f;
    }

    json asked(json request, int descriptor = -1) {
        request["request"] = "capture";
        l_.worker().pause();
        const json answer = json::parse(
            requests_.answer(request.dump(), {.connection = 1, .descriptor = descriptor}));
        l_.worker().resume();
        return answer;
    }
    void begin(const json& request) {
        file_.reset(::memfd_create("capture", 0));
        const json answer = asked(request, file_.get());
        ASSERT_TRUE(answer.contains("result")) << answer;
        number_ = answer["result"]["capture"];
    }
    void pass(const byte_vector& f, uint16_t port = 0) {
        ASSERT_TRUE(l_.offer(port, f));
        l_.settle();
    }
    /// Ends the capture; packets in the file.
    struct captured_packet {
        byte_vector bytes;
        uint32_t interface = 0, frame_bytes = 0, flags = 0;
        std::string comment;
    };
    std::vector<captured_packet> end() {
        asked({{"end", number_}});
        json status;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            status = asked({{"status", number_}})["result"];
        } while (!status["done"].get<bool>() && std::chrono::steady_clock::now() < until);
        EXPECT_TRUE(status["done"].get<bool>());
        std::string text(static_cast<size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
        EXPECT_EQ(::pread(file_.get(), text.data(), text.size(), 0),
                  static_cast<ssize_t>(text.size()));
        blocks_ = pcapng_blocks(text);
        std::vector<captured_packet> out;
        for (const pcapng_block& b : blocks_)
            if (b.type == epb) {
                const size_t n = b.word(12), behind = 20 + (n + 3) / 4 * 4;
                out.push_back({byte_vector(b.body.begin() + 20,
                                           b.body.begin() + 20 + static_cast<ptrdiff_t>(n)),
                               b.word(0), b.word(16), static_cast<uint32_t>(b.number(behind, 2)),
                               b.options(behind)[1]});
            }
        EXPECT_EQ(status["written"], out.size());
        for (uint16_t p = 0; p < 2; ++p) l_.sent(p);
        l_.check_balance();
        return out;
    }

    running_lab l_{capture_router};
    control::requests requests_{l_.controller(), "none.yaml"};
    owned_fd file_{};
    uint64_t number_ = 0;
    std::vector<pcapng_block> blocks_{};
};

TEST_F(capture_lab, in_and_out) {
    pass(frame(0x0a090001));
    begin({{"port", "any"}});
    pass(frame(0x0a090002));
    const auto got = end();
    pass(frame(0x0a090003));
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0].bytes, frame(0x0a090002));
    EXPECT_EQ(got[0].flags, 1U);
    EXPECT_EQ(got[1].flags, 2U);
    EXPECT_NE(got[0].interface, got[1].interface);
    EXPECT_EQ(got[1].bytes[22], 63) << "with the decremented TTL";
    EXPECT_EQ(got[1].bytes[5], 0x02) << "to the neighbour";
    l_.sent(1);
}

TEST_F(capture_lab, a_tag_that_the_device_took_out_is_in_the_frame) {
    begin({{"port", "p0"}, {"direction", "in"}});
    rte_mbuf* const m = l_.packet_of(frame(0x0a140002));
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 7;
    ASSERT_TRUE(l_.offer_packet(0, m));
    l_.settle();
    const auto got = end();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].bytes, tagged(0x0a140002, 7));
}

TEST_F(capture_lab, of_one_port_one_direction_and_a_filter) {
    begin({{"port", "p1"},
           {"direction", "out"},
           {"program",
            {{0x30, 0, 0, 23},
             {0x15, 0, 3, 17},
             {0x20, 0, 0, 30},
             {0x15, 0, 1, 0x0a090007},
             {6, 0, 0, 65535},
             {6, 0, 0, 0}}},
           {"filter", "udp and dst host 10.9.0.7"},
           {"snaplen", 40}});
    for (uint32_t n = 0; n < 10; ++n) pass(frame(0x0a090000 + n, 100));
    const auto got = end();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].bytes.size(), 40U);
    EXPECT_EQ(got[0].frame_bytes, frame(0, 100).size());
    const pcapng_block& last = blocks_.back();
    ASSERT_EQ(last.type, isb);
    EXPECT_EQ(last.number(12, 4), 10U) << "seen";
    EXPECT_EQ(last.number(12, 6), 1U) << "accepted";
    EXPECT_EQ(last.number(12, 8), 1U) << "written";
    EXPECT_EQ(last.number(12, 5), 0U) << "lost";
}

/// A packet that expires, one to the router, and the ICMP errors about both; no forwarded packet, and no drop.
TEST_F(capture_lab, packets_for_control_and_of_control) {
    begin({{"port", "any"}, {"control", true}});
    pass(frame(0x0a090002));
    pass(tagged(0x0a080004, 7));
    const byte_vector expires = frame(0x0a090003, 20, 1);
    pass(expires);
    pass(frame(0x0a000001));
    auto got = end();
    ASSERT_EQ(got.size(), 4U) << "two for control, and its two ICMP errors";
    std::map<uint32_t, std::vector<captured_packet>> by_flags;
    for (const captured_packet& p : got) by_flags[p.flags].push_back(p);
    ASSERT_EQ(by_flags[1].size(), 2U);
    ASSERT_EQ(by_flags[2].size(), 2U);
    EXPECT_EQ(by_flags[1][0].bytes, expires);
    EXPECT_EQ(
        by_flags[1][0].comment,
        "for control: icmp_error: dropped; its source gets an ICMP error; "
        "dropped: ipv4_ttl: " +
            std::string(datapath::drop_texts[static_cast<size_t>(drop_reason::ipv4_ttl)].meaning));
    EXPECT_EQ(by_flags[1][1].comment.substr(0, 20), "for control: local: ");
    for (const captured_packet& p : by_flags[2]) {
        EXPECT_EQ(p.bytes[23], 1) << "ICMP";
        EXPECT_TRUE(p.comment.empty()) << p.comment;
    }
    begin({{"port", "any"}, {"control", true}, {"direction", "out"}});
    pass(expires);
    got = end();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].flags, 2U);
    begin({{"port", "any"}, {"control", true}, {"direction", "in"}, {"drops", true}});
    pass(tagged(0x0a080005, 7));
    pass(expires);
    got = end();
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[0].comment.substr(0, 25), "dropped: route_blackhole:");
    EXPECT_EQ(got[1].comment.substr(0, 12), "for control:");
    EXPECT_EQ(got[2].comment.substr(0, 18), "dropped: ipv4_ttl:") << "by control, behind its error";
}

TEST_F(capture_lab, drops_of_workers_and_of_control) {
    begin({{"port", "any"}, {"drops", true}});
    pass(frame(0x0a080001));
    pass(tagged(0x0a080002, 7));  // the tag is removed on the way
    pass(tagged(0x0a080003, 9));  // no such interface
    pass(frame(0x0a080004, 20, 1));
    const auto got = end();
    std::map<std::string, captured_packet> by_reason;
    for (const captured_packet& p : got)
        by_reason[p.comment.substr(9, p.comment.find(':', 9) - 9)] = p;
    ASSERT_EQ(got.size(), 4U);
    EXPECT_TRUE(by_reason.contains("no_interface")) << got[2].comment;
    EXPECT_EQ(got[0].comment.rfind("dropped: route_blackhole: the route is a blackhole", 0), 0U)
        << got[0].comment;
    EXPECT_EQ(got[0].flags, 1U);
    EXPECT_EQ(got[1].bytes[12], 0x81) << "the tag is put back";
    EXPECT_EQ(got[1].bytes[15], 7);
    EXPECT_EQ(got[1].frame_bytes, tagged(0, 7).size());
    EXPECT_TRUE(
        std::equal(got[2].bytes.begin(), got[2].bytes.end(), tagged(0x0a080003, 9).begin()));
}

/// A packet that expires, dropped by control, which sends the ICMP error.
TEST_F(capture_lab, a_tag_is_put_back_into_what_control_drops) {
    begin({{"port", "p0"}, {"drops", true}, {"vlan", 7}});
    pass(tagged(0x0a090004, 7, 1));
    pass(frame(0x0a090004, 20, 1));
    const auto got = end();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].bytes, tagged(0x0a090004, 7, 1));
    EXPECT_EQ(got[0].comment.rfind("dropped: ipv4_ttl", 0), 0U) << got[0].comment;
}

TEST_F(capture_lab, drops_of_one_reason) {
    begin({{"port", "p0"}, {"reason", "no_route"}});
    pass(frame(0x0a080001));
    pass(frame(0x0b000001));
    const auto got = end();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].bytes[30], 0x0b);
}

TEST_F(capture_lab, packets_that_the_device_refuses_are_drops) {
    begin({{"port", "p1"}, {"drops", true}, {"snaplen", 64}});
    // The ring behind the device fills; the test does not empty it.
    uint64_t refused = 0;
    for (int n = 0; n < 20'000 && refused < 100; ++n) {
        ASSERT_TRUE(l_.offer(0, frame(0x0a090001)));
        if (n % 32 == 31) l_.settle();
        refused = l_.dropped(datapath::drop_reason::tx_refused);
    }
    ASSERT_GE(refused, 100U);
    l_.settle();
    refused = l_.dropped(datapath::drop_reason::tx_refused);
    const auto got = end();
    ASSERT_EQ(got.size(), refused);
    EXPECT_EQ(got[0].comment.rfind("dropped: tx_refused: ", 0), 0U) << got[0].comment;
    EXPECT_EQ(got[0].flags, 2U);
}

/// From VLAN to VLAN, by the fast path and with options by the slow one: the tag is the egress interface's by then.
TEST_F(capture_lab, drops_behind_the_rewrite_have_the_new_tag_alone) {
    begin({{"port", "any"}, {"drops", true}});
    byte_vector slow = tagged(0x0a140002, 7);
    const byte_vector with_options = ethernet(
        0x0800,
        ipv4({.source = 0x0a000005, .destination = 0x0a140002, .options = byte_vector(4, 1)},
             udp(counted(20))));
    slow.resize(18);
    slow.insert(slow.end(), with_options.begin() + 14, with_options.end());
    // The worker sees the link state before control does.
    auto& east = const_cast<datapath::port_state&>(*l_.controller().snapshot().port[1].state);
    east.link_up = false;
    for (int n = 0; n < 4; ++n) pass(tagged(0x0a140002, 7));
    for (int n = 0; n < 4; ++n) pass(slow);
    const auto got = end();
    ASSERT_EQ(got.size(), 8U);
    for (const captured_packet& p : got) {
        EXPECT_EQ(p.comment.rfind("dropped: port_down", 0), 0U) << p.comment;
        EXPECT_EQ(byte_vector(p.bytes.begin() + 12, p.bytes.begin() + 18),
                  (byte_vector{0x81, 0, 0, 20, 8, 0}));
    }
    EXPECT_EQ(got[7].bytes[18], 0x46);
}

TEST_F(capture_lab, a_trace_at_the_same_time_changes_nothing) {
    begin({{"port", "any"}, {"drops", true}, {"direction", "both"}});
    l_.worker().pause();
    const json traced = json::parse(requests_.answer(R"({"request": "trace", "packets": 2})", {}));
    l_.worker().resume();
    ASSERT_TRUE(traced.contains("result"));
    for (int n = 0; n < 4; ++n) pass(frame(n % 2 == 0 ? 0x0a090001 : 0x0a080001));
    EXPECT_EQ(end().size(), 8U);
}

TEST_F(capture_lab, a_count_ends_it) {
    begin({{"port", "p0"}, {"direction", "in"}, {"packets", 3}});
    for (int n = 0; n < 10; ++n) pass(frame(0x0a090001));
    EXPECT_EQ(end().size(), 3U);
}

TEST_F(capture_lab, the_client_is_gone) {
    begin({{"port", "any"}});
    pass(frame(0x0a090001));
    l_.worker().pause();
    requests_.gone({.connection = 1});
    l_.worker().resume();
    EXPECT_EQ(asked({{"status", number_}})["error"]["code"], "ENOENT");
    pass(frame(0x0a090001));
    l_.sent(1);
    l_.check_balance();
}

TEST_F(capture_lab, a_port_is_removed) {
    begin({{"port", "any"}, {"direction", "in"}});
    const byte_vector unknown = ethernet(0x88b5, counted(60), {2, 0, 0, 0, 0, 0x0b});
    pass(unknown);
    ASSERT_TRUE(l_.apply("ports:\n  - {name: p0, device: net_x0, addresses: [10.0.0.1/24]}\n"));
    pass(unknown);
    EXPECT_EQ(end().size(), 2U);
}

TEST_F(capture_lab, filters_are_programs) {
    file_.reset(::memfd_create("capture", 0));
    for (const auto& [more, where, what] :
         {std::tuple(R"({"filter": "tcp"})", "filter", "is a description; the filter is program"),
          {R"({"program": 7})", "program", "should be a list"},
          {R"({"program": []})", "program", "should have 1 to 4096 instructions"},
          {R"({"program": [[6, 0, 0, 1], [6, 0, 0]]})", "program[1]", "should be a BPF instr"},
          {R"({"program": [[6, 0, 0, 4294967296]]})", "program[0]", "should be a BPF instr"},
          {R"({"program": [[65542, 0, 0, 1]]})", "program[0]", "should be a BPF instruction"},
          {R"({"program": [[6, 0, -1, 1]]})", "program[0]", "should be a BPF instruction"},
          {R"({"program": [[14, 0, 0, 1]]})", "program[0]", "has an unknown code"}}) {
        json request = json::parse(more);
        request["port"] = "p0";
        const json refused = asked(request, file_.get())["error"];
        EXPECT_EQ(refused["where"], where) << more;
        EXPECT_TRUE(refused["what"].get<std::string>().starts_with(what)) << refused;
    }
    json request = {{"port", "p0"}, {"program", json::array()}};
    for (int n = 0; n < 4097; ++n) request["program"].push_back({6, 0, 0, 1});
    EXPECT_EQ(asked(request, file_.get())["error"]["where"], "program");
    request["program"].erase(0);
    request["filter"] = std::string(4097, 'x');
    EXPECT_EQ(asked(request, file_.get())["error"]["where"], "filter");
    request["filter"] = "none";
    begin(request);
    end();
}

/// System calls with it may block: control is not asked before they have passed.
TEST_F(capture_lab, the_descriptor_is_not_for_the_control_thread) {
    control::control_calls calls;
    std::atomic<bool> done{false};
    std::string refusal;
    const json request = {{"port", "p0"}};
    calls.connect();
    std::thread management([&] {
        try {
            (void)control::capture_request(l_.controller(), calls, control::request_fields(request),
                                           -1, 1);
        } catch (const error& e) {
            refusal = e.text;
        }
        done = true;
    });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(done) << "waits for control";
    while (!done) calls.serve();
    management.join();
    EXPECT_TRUE(refusal.starts_with("a capture needs a descriptor")) << refusal;
}

TEST_F(capture_lab, a_file_is_replaced_when_the_capture_begins) {
    const std::string old(1 << 16, 'x');
    file_.reset(::memfd_create("capture", 0));
    const auto put_old = [&] {
        return ::pwrite(file_.get(), old.data(), old.size(), 0) == static_cast<ssize_t>(old.size());
    };
    ASSERT_TRUE(put_old());
    ASSERT_TRUE(asked({{"port", "nosuch"}}, file_.get()).contains("error"));
    EXPECT_EQ(::lseek(file_.get(), 0, SEEK_END), static_cast<off_t>(old.size()));
    ::lseek(file_.get(), 0, SEEK_SET);
    const json begun = asked({{"port", "p0"}}, file_.get());
    ASSERT_TRUE(begun.contains("result")) << begun;
    number_ = begun["result"]["capture"];
    end();
    EXPECT_LT(::lseek(file_.get(), 0, SEEK_END), 4096);
    // One that appends goes on behind the contents.
    ASSERT_EQ(::fcntl(file_.get(), F_SETFL, O_APPEND), 0);
    ASSERT_EQ(::ftruncate(file_.get(), 0), 0);
    ASSERT_TRUE(put_old());
    number_ = asked({{"port", "p0"}}, file_.get())["result"]["capture"];
    asked({{"end", number_}});
    while (!asked({{"status", number_}})["result"]["done"].get<bool>())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GT(::lseek(file_.get(), 0, SEEK_END), static_cast<off_t>(old.size()));
}

/// Each has its rings.
TEST_F(capture_lab, ended_ones_are_forgotten) {
    for (int n = 0; n < 12; ++n) {
        begin({{"port", "p0"}});
        end();
    }
    l_.worker().pause();
    const json shown =
        json::parse(requests_.answer(R"({"request": "show", "what": "captures"})", {}));
    l_.worker().resume();
    EXPECT_LE(shown["result"]["captures"].size(), 5U) << shown;
    EXPECT_TRUE(asked({{"status", number_}}).contains("result"));
    EXPECT_EQ(asked({{"status", 1}})["error"]["code"], "ENOENT");
}

TEST_F(capture_lab, too_many_are_refused) {
    std::vector<owned_fd> files;
    for (int n = 0; n < 5; ++n) {
        files.emplace_back(::memfd_create("capture", 0));
        const json answer = asked({{"port", "p0"}}, files.back().get());
        EXPECT_EQ(answer.contains("result"), n < 4) << answer;
        if (n == 4) {
            EXPECT_EQ(answer["error"]["code"], "EBUSY") << answer;
        }
    }
    l_.worker().pause();
    requests_.gone({.connection = 1});
    l_.worker().resume();
}

}  // namespace
}  // namespace turnpike
