// SPDX-License-Identifier: BSD-3-Clause
// Every shape of table against std::unordered_map, with every kernel; growth, limits, refused
// parameters.
#include <set>

#include "family.hpp"
#include "lib/isa_param.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::hash::test {
namespace {

template <class Key, class Value>
std::unique_ptr<table<Key, Value>> made(config c) {
    c.keys = secret::of(7);
    auto t = table<Key, Value>::create(c);
    EXPECT_TRUE(t) << t.error().message();
    return std::move(*t);
}

/// The table has the oracle's entries, by for_each and by find.
template <class Key, class Value>
void expect_same(const table<Key, Value>& t,
                 const std::unordered_map<Key, Value, key_hash>& oracle) {
    size_t n = 0;
    t.for_each([&](const Key& k, Value v) {
        const auto it = oracle.find(k);
        ASSERT_NE(it, oracle.end());
        ASSERT_EQ(it->second, v);
        ++n;
    });
    ASSERT_EQ(n, oracle.size());
    ASSERT_EQ(t.size(), oracle.size());
    for (const auto& [k, v] : oracle) ASSERT_EQ(t.find(k), v);
}

/// Buckets' filters and the count of displaced keys are nothing where there are no keys.
template <class Key, class Value>
void empty_leaves_nothing(table<Key, Value>& t) {
    std::vector<Key> all;
    t.for_each([&](const Key& k, Value) { all.push_back(k); });
    for (const Key& k : all) ASSERT_TRUE(t.erase(k));
    EXPECT_EQ(t.size(), 0U);
    EXPECT_EQ(t.stats().displaced, 0U);
}

class random_changes : public ::testing::TestWithParam<std::string> {};

template <class Key, class Value>
void against_the_oracle(const std::string& kernel, uint64_t operations) {
    auto t = made<Key, Value>({.max_entries = 60'000, .kernel = kernel});
    ASSERT_EQ(t->kernel(), kernel);
    std::unordered_map<Key, Value, key_hash> oracle;
    std::mt19937_64 random(3);
    uint64_t span = 64;  // of key numbers: it widens, so that the table grows while it is used
    std::array<Key, 64> keys;
    std::array<Value, 64> values;
    for (uint64_t done = 0; done < operations;) {
        if (random() % 64 == 0) span = std::min<uint64_t>(span + span / 8, 100'000);
        const bool mostly_add = done / (operations / 8 + 1) % 4 != 3;
        for (unsigned i = 0; i < 64; ++i, ++done) {
            const Key k = numbered<Key>(random() % span);
            if (random() % 8 < (mostly_add ? 5U : 2U)) {
                const auto v = static_cast<Value>(random());
                const auto added = t->put(k, v);
                const bool room = oracle.size() < 60'000 || oracle.contains(k);
                ASSERT_EQ(bool{added}, room);
                if (!room) {
                    ASSERT_EQ(added.error().code, ENOSPC);
                    continue;
                }
                ASSERT_EQ(*added, oracle.insert_or_assign(k, v).second);
            } else {
                ASSERT_EQ(t->erase(k), oracle.erase(k) != 0);
            }
        }
        const size_t n = 1 + random() % 64;
        for (size_t i = 0; i < n; ++i) keys[i] = numbered<Key>(random() % span);
        const uint64_t hits = t->lookup({keys.data(), n}, {values.data(), n});
        done += n;
        ASSERT_TRUE(n == 64 || hits >> n == 0);
        for (size_t i = 0; i < n; ++i) {
            const auto it = oracle.find(keys[i]);
            ASSERT_EQ(hits >> i & 1, it != oracle.end());
            ASSERT_EQ(values[i], it != oracle.end() ? it->second : 0);
        }
    }
    expect_same(*t, oracle);
    empty_leaves_nothing(*t);
}

TEST_P(random_changes, equal_the_oracle) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup_kernels());
    // 10 million over six shapes and four kernels; of each where time does not matter.
    const uint64_t operations = std::getenv("TURNPIKE_LONG") != nullptr ? 10'000'000
                                : turnpike::test::slow                  ? 40'000
                                                                        : 420'000;
#define CALL(Key, Value) against_the_oracle<Key, Value>(GetParam(), operations)
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

INSTANTIATE_TEST_SUITE_P(isa, random_changes,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup_kernels())),
                         turnpike::test::isa_name);

/// Full-size regions, the number of them odd: how full is the table when it has to grow?
template <class Key, class Value>
void full_before_growth() {
    const uint32_t expected = turnpike::test::slow ? 11'000 : 200'000;
    auto t = made<Key, Value>({.max_entries = 8 * expected, .expected_entries = expected});
    uint64_t n = 0;
    for (; t->stats().growths == 0; ++n) ASSERT_TRUE(t->put(numbered<Key>(n), 1));
    EXPECT_GE(t->stats().load_at_growth, 0.85);
    EXPECT_GE(n, expected);
    while (t->stats().growing) ASSERT_TRUE(t->put(numbered<Key>(n++), 1));
    EXPECT_LE(t->stats().load(), 0.47);
    EXPECT_EQ(t->stats().growths, 1U);
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; ++i) found += t->find(numbered<Key>(i)).has_value();
    EXPECT_EQ(found, n);
}
TEST(hash_table, is_full_before_it_grows) {
#define CALL(Key, Value) full_before_growth<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

/// All max_entries fit: without growth where the table was created for them, else in bounded
/// memory.
template <class Key, class Value>
void takes_max_entries(uint32_t max) {
    auto exact = made<Key, Value>({.max_entries = max, .expected_entries = max});
    auto grown = made<Key, Value>({.max_entries = max});
    for (uint64_t n = 0; n < max; ++n) {
        const Key k = numbered<Key>(n);
        ASSERT_TRUE(exact->put(k, static_cast<Value>(n))) << n;
        ASSERT_TRUE(grown->put(k, static_cast<Value>(n))) << n;
    }
    for (auto* t : {exact.get(), grown.get()}) {
        const auto more = t->put(numbered<Key>(max), 0);
        ASSERT_FALSE(more);
        EXPECT_EQ(more.error().code, ENOSPC);
        ASSERT_TRUE(t->put(numbered<Key>(max - 1), 5));  // a new value needs no place
        for (uint64_t n = 0; n < max; ++n) ASSERT_TRUE(t->find(numbered<Key>(n))) << n;
    }
    if (max >= 1000) {
        EXPECT_EQ(exact->stats().growths, 0U);
        EXPECT_LE(grown->stats().slots, 2 * exact->stats().slots);
    }
}
TEST(hash_table, takes_max_entries_and_no_more) {
    for (const uint32_t max : {1U, 2U, 3U, 7U, 20U, 100U, 1000U, 30'000U}) {
#define CALL(Key, Value) takes_max_entries<Key, Value>(max)
        FOR_ALL_SHAPES(CALL)
#undef CALL
    }
}

/// Lookups while regions are being moved: in either generation.
template <class Key, class Value>
void between_generations(const std::string& kernel) {
    auto t =
        made<Key, Value>({.max_entries = 200'000, .expected_entries = 40'000, .kernel = kernel});
    uint64_t n = 0;
    const auto add = [&] {
        ASSERT_TRUE(t->put(numbered<Key>(n), static_cast<Value>(n + 1)));
        ++n;
    };
    while (!t->stats().growing) add();
    std::vector<Key> keys;  // some that are there, and as many that are not
    for (uint64_t i = 0; i < 2 * n; i += 97) keys.push_back(numbered<Key>(i));
    std::vector<Value> values(keys.size());
    std::vector<uint64_t> hits(keys.size() / 64 + 1);
    for (unsigned adds = 0; t->stats().growing; ++adds) {
        add();
        if (adds % 100 != 0) continue;
        t->lookup_bulk(keys, values, hits);
        for (uint64_t i = 0; i < keys.size(); ++i) {
            ASSERT_EQ(values[i], i * 97 < n ? i * 97 + 1 : 0) << i;
            ASSERT_EQ(hits[i / 64] >> i % 64 & 1, i * 97 < n) << i;
        }
        if (adds % 500 != 0) continue;
        uint64_t shown = 0;
        t->for_each([&](const Key&, Value) { ++shown; });
        ASSERT_EQ(shown, n) << adds;
        // Erase keys in moved buckets and in buckets not moved yet.
        for (uint64_t i = 0; i < 500; i += 97) ASSERT_TRUE(t->erase(numbered<Key>(i)));
        t->lookup_bulk(keys, values, hits);
        ASSERT_EQ(hits[0] & 0x3f, 0U);
        for (uint64_t i = 0; i < 500; i += 97)
            ASSERT_TRUE(t->put(numbered<Key>(i), static_cast<Value>(i + 1)));
    }
    EXPECT_EQ(t->stats().growths, 1U);
    uint64_t all = 0;
    t->for_each([&](const Key&, Value) { ++all; });
    EXPECT_EQ(all, n);
}
TEST_P(random_changes, between_two_generations) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup_kernels());
#define CALL(Key, Value) between_generations<Key, Value>(GetParam())
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

/// A bucket's meta words, beside view::changes, say whenever a slot has changed hands: a reader that
/// compares them before and after is not taken in by a slot that is in use both times.
template <class Key, class Value>
void never_the_same_again() {
    auto t = made<Key, Value>({.max_entries = 3});
    const view& v = *t->readers_view();
    ASSERT_EQ(v.now.regions << v.now.region_bits, 4U);
    const auto state = [&] {
        std::array<uint64_t, 5> now{*v.changes};
        for (unsigned b = 0; b < 4;
             ++b)  // the inline bucket's meta is the half behind, of values or nothing
            std::memcpy(&now[b + 1], v.now.lines + 64 * b + 56, 8);
        if (v.now.entries == nullptr)
            for (unsigned b = 0; b < 4; ++b) now[b + 1] >>= 32;
        return now;
    };
    const Key a = numbered<Key>(1), b = numbered<Key>(2);
    std::set<std::array<uint64_t, 5>> seen;
    const unsigned turns = turnpike::test::slow ? 5'000 : 100'000;
    for (unsigned n = 0; n < turns; ++n) {
        ASSERT_TRUE(t->put(n % 2 == 0 ? a : b, 1));
        ASSERT_TRUE(seen.insert(state()).second) << n;
        ASSERT_TRUE(t->erase(n % 2 == 0 ? a : b));
    }
}
TEST(hash_table, a_slot_that_changed_hands_shows){
#define CALL(Key, Value) never_the_same_again<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

TEST(hash_table, says_what_is_wrong_with_its_sizes) {
    const auto refused = [](const config& c) { return table<key8, uint32_t>::create(c).error(); };
    EXPECT_EQ(refused({.max_entries = 0}).code, EINVAL);
    EXPECT_EQ(refused({.max_entries = 10, .expected_entries = 11}).code, EINVAL);
    EXPECT_EQ(refused({.max_entries = 1u << 31}).code, EINVAL);
    EXPECT_EQ(refused({.kernel = "mmx"}).code, EINVAL);
    const std::string vectors = turnpike::test::narrowest_vectors(lookup_kernels());
    EXPECT_EQ(refused({.max_simd_bitwidth = 64, .kernel = vectors}).code, ENOTSUP);
    EXPECT_EQ((*table<key8, uint32_t>::create({.max_simd_bitwidth = 64}))->kernel(), "scalar");
}

template <class Key, class Value>
void a_measured_kernel_is_one_that_the_width_permits() {
    const auto all = lookup_kernels();
    for (const uint16_t width : std::initializer_list<uint16_t>{64, 128, 256, 512}) {
        const auto usual = made<Key, Value>({.max_simd_bitwidth = width});
        for (unsigned again = 0; again < 2; ++again) {  // measured, then remembered
            auto t = made<Key, Value>({.max_simd_bitwidth = width, .measure_kernels = true});
            const auto row = std::find_if(all.begin(), all.end(),
                                          [&](const auto& r) { return r.name == t->kernel(); });
            ASSERT_NE(row, all.end());
            EXPECT_TRUE(isa::may_run(*row, width)) << t->kernel();
            if (width <= 256) {
                EXPECT_EQ(t->kernel(), usual->kernel()) << "one of 256 bits: nothing to compare";
            }
            ASSERT_TRUE(t->select_kernel(width, "scalar"));
            EXPECT_EQ(t->kernel(), "scalar");
        }
    }
    const auto by_name = made<Key, Value>({.kernel = "scalar", .measure_kernels = true});
    EXPECT_EQ(by_name->kernel(), "scalar");
}
TEST(hash_table, a_measured_kernel_is_one_that_the_width_permits){
#define CALL(Key, Value) a_measured_kernel_is_one_that_the_width_permits<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

TEST(hash_table, values_of_any_four_or_eight_bytes) {
    struct where {
        uint16_t port, queue;
        bool operator==(const where&) const = default;
    };
    auto t = made<key16, where>({.max_entries = 4});
    ASSERT_TRUE(*t->put({{1, 2}}, {3, 4}));
    EXPECT_FALSE(*t->put({{1, 2}}, {5, 6}));
    EXPECT_EQ(t->find({{1, 2}}), (where{5, 6}));
    EXPECT_FALSE(t->find({{2, 1}}));
    EXPECT_FALSE(t->erase({{2, 1}}));
    EXPECT_TRUE(t->erase({{1, 2}}));
    EXPECT_FALSE(t->erase({{1, 2}}));
}

}  // namespace
}  // namespace turnpike::hash::test
