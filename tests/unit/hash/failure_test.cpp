// SPDX-License-Identifier: BSD-3-Clause
// Every change with every one of its allocations failing, from operator new and from the table's own
// hook: it reports ENOMEM and the table is as it was, or it worked all the same.
#include "family.hpp"
#include "lib/failing_new.hpp"

namespace turnpike::hash::test {
namespace {

using turnpike::test::allocations_until_failure;
using turnpike::test::never;
using turnpike::test::with_allocations;

constexpr char long_name[] = "a name too long for the small string";

template <class Key, class Value>
void create_fails_whole() {
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 100);
        const config c{.name = long_name, .allocator = turnpike::test::failing_memory()};
        const auto made = with_allocations(n, [&] { return table<Key, Value>::create(c); });
        if (made) {
            ASSERT_GT(n, 2);
            return;
        }
        ASSERT_EQ(made.error().code, ENOMEM);
    }
}
TEST(exact_failures, create_fails_whole) {
#define CALL(Key, Value) create_fails_whole<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

/// Additions through growths of both kinds, each with no memory first.
template <class Key, class Value>
void every_addition_fails_whole() {
    auto t = *table<Key, Value>::create({.name = long_name,
                                         .max_entries = 20'000,
                                         .allocator = turnpike::test::failing_memory(),
                                         .keys = secret::of(9)});
    uint64_t failed = 0;
    for (uint64_t n = 0; n < 20'000; ++n) {
        for (long good = 0;; ++good) {
            ASSERT_LT(good, 10);
            const auto before = t->stats();
            const auto added = with_allocations(
                good, [&] { return t->put(numbered<Key>(n), static_cast<Value>(n + 1)); });
            if (added) break;
            ++failed;
            ASSERT_EQ(added.error().code, ENOMEM);
            ASSERT_EQ(t->size(), before.entries);
            ASSERT_EQ(t->stats().displaced, before.displaced);
            ASSERT_FALSE(t->find(numbered<Key>(n)));
            ASSERT_TRUE(n == 0 || t->find(numbered<Key>(n - 1)) == static_cast<Value>(n));
        }
    }
    EXPECT_GT(failed, 0U);
    for (uint64_t n = 0; n < 20'000; ++n) ASSERT_EQ(t->find(numbered<Key>(n)), n + 1);
    // A full table returns an error; where there is no memory for its text, the code alone.
    const auto full = with_allocations(0, [&] { return t->put(numbered<Key>(20'000), 1); });
    EXPECT_EQ(full.error().code, ENOSPC);
    EXPECT_EQ(t->put(numbered<Key>(20'000), 1).error().object, long_name);
}
TEST(exact_failures, every_addition_fails_whole){
#define CALL(Key, Value) every_addition_fails_whole<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

// Without memory a table fills far beyond its growth threshold, and grows once memory is available.
TEST(exact_failures, it_fills_up_before_it_refuses) {
    auto t = *table<key8, uint32_t>::create({.max_entries = 100'000,
                                             .expected_entries = 20'000,
                                             .allocator = turnpike::test::failing_memory(),
                                             .keys = secret::of(9)});
    uint32_t n = 0;
    with_allocations(0, [&] {
        while (t->put(numbered<key8>(n), n)) ++n;
        return 0;
    });
    EXPECT_GT(t->stats().load(), 0.93);
    EXPECT_EQ(t->stats().growths, 0U);
    EXPECT_EQ(t->size(), n);
    EXPECT_TRUE(t->put(numbered<key8>(n), n));
    EXPECT_EQ(t->stats().growths, 1U);
    for (uint32_t i = 0; i <= n; ++i) ASSERT_EQ(t->find(numbered<key8>(i)), i);
}

}  // namespace
}  // namespace turnpike::hash::test
