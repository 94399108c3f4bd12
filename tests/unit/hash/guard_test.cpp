// SPDX-License-Identifier: BSD-3-Clause
// Tables, keys and values that end where a page without access begins: no kernel touches it.
#include "family.hpp"
#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"

namespace turnpike::hash::test {
namespace {

using turnpike::test::guarded_memory;

template <class Key, class Value>
void ends_before_the_guard(const std::string& kernel) {
    guarded_memory pages;
    auto t = *table<Key, Value>::create(
        {.max_entries = 700, .kernel = kernel, .allocator = pages.hook()});
    for (uint64_t n = 0; n < 700; ++n)
        ASSERT_TRUE(t->put(numbered<Key>(n), static_cast<Value>(n + 1)));
    for (const size_t n : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 32U, 63U, 64U}) {
        guarded_memory buffers;
        auto* keys = static_cast<Key*>(buffers.allocate(std::max<size_t>(n, 1) * sizeof(Key), 8));
        auto* values = static_cast<Value*>(
            buffers.allocate(std::max<size_t>(n, 1) * sizeof(Value), sizeof(Value)));
        for (uint64_t from = 0; from < 800; from += n + 1) {
            for (size_t i = 0; i < n; ++i) keys[i] = numbered<Key>(from + i);
            const uint64_t hits = t->lookup({keys, n}, {values, n});
            for (size_t i = 0; i < n; ++i) {
                ASSERT_EQ(hits >> i & 1, from + i < 700);
                ASSERT_EQ(values[i], from + i < 700 ? from + i + 1 : 0);
            }
        }
    }
}

class exact_guard : public ::testing::TestWithParam<std::string> {};
TEST_P(exact_guard, all_shapes) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, lookup_kernels());
#define CALL(Key, Value) ends_before_the_guard<Key, Value>(GetParam())
    FOR_ALL_SHAPES(CALL)
#undef CALL
}
INSTANTIATE_TEST_SUITE_P(isa, exact_guard,
                         ::testing::ValuesIn(turnpike::test::kernel_names(lookup_kernels())),
                         turnpike::test::isa_name);

}  // namespace
}  // namespace turnpike::hash::test
