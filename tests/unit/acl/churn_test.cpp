// SPDX-License-Identifier: BSD-3-Clause
// Readers beside a writer, also under TSan: rules come and go, generations too, and every answer is
// one that was valid. Quiescence is counted here, without DPDK, so that TSan sees all of it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/epochs.hpp"
#include "lib/isa_param.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

constexpr unsigned reader_count = 2;
constexpr unsigned groups = 48;

/// For each group of keys: a wide rule that is always there, and narrow ones, of higher priority,
/// that come and go. User data: (group + 1) << 8 | number.
rule rule_of(uint8_t group, uint8_t number) {
    rule r;
    const std::array<uint8_t, 4> address{10, group, 0, number};
    r.source = prefix(address, number == 0 ? 16 : 32);
    if (number % 3 == 1) r.destination_port = {80, 90};
    if (number == 5) r.source = {}, r.vlan = {group, 0x0fff};  // a field that no other rule matches
    r.priority = 1u + number;
    r.user_data = (group + 1u) << 8 | number;
    return r;
}

class acl_churn : public ::testing::TestWithParam<std::string> {};

TEST_P(acl_churn, readers_see_what_was_there) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    turnpike::test::epochs<reader_count> domain;
    auto table = *classifier4::create({.kernel = GetParam(), .defer_free = domain.hook()});
    for (uint8_t g = 0; g < groups; ++g) ASSERT_TRUE(table->add(rule_of(g, 0)));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0}, rounds{0};
    const auto read = [&](unsigned id) {
        std::vector<key4> keys;
        for (uint8_t g = 0; g < groups; ++g)
            for (uint8_t number = 0; number < 6; ++number) {
                key4 k{};
                k.source = {10, g, 0, number};
                k.destination_port = 85;
                k.vlan = number == 5 ? g : 0xfff;
                keys.push_back(k);
            }
        const auto at = pointers(keys);
        std::vector<uint32_t> results(keys.size());
        while (!stop.load()) {
            table->classify(at, results);
            for (size_t i = 0; i < keys.size(); ++i) {
                const uint32_t number = results[i] & 0xff;  // its own rule, or the wide one
                wrong += results[i] >> 8 != i / 6 + 1 || (number != 0 && number != i % 6);
            }
            rounds.fetch_add(1);
            domain.quiescent(id);
        }
        domain.leave(id);
    };
    std::vector<std::thread> readers;
    for (unsigned id = 0; id < reader_count; ++id) readers.emplace_back(read, id);
    rules_maker make(4);
    std::map<uint32_t, rule_id> there;
    for (unsigned i = 0; i < 6000 || rounds.load() < 20; ++i) {
        const auto g = static_cast<uint8_t>(make(groups));
        const auto number = static_cast<uint8_t>(1 + make(5));
        const rule r = rule_of(g, number);
        if (const auto it = there.find(r.user_data); it != there.end()) {
            ASSERT_TRUE(table->remove(it->second));
            there.erase(it);
        } else if (const auto id = table->add(r)) {
            there[r.user_data] = *id;
        }
        if (i % 8 == 0) domain.reclaim();
        if (i % 16 == 0) table->optimize();
    }
    stop = true;
    for (auto& r : readers) r.join();
    table.reset();  // its memory is released through the hook too
    domain.reclaim();
    EXPECT_EQ(wrong.load(), 0U);
    EXPECT_EQ(domain.pending(), 0U);
}

INSTANTIATE_TEST_SUITE_P(isa, acl_churn,
                         ::testing::ValuesIn(turnpike::test::kernel_names(classify_kernels())),
                         turnpike::test::isa_name);

}  // namespace
}  // namespace turnpike::acl::test
