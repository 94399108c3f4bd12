// SPDX-License-Identifier: BSD-3-Clause
// Keys, results and tables that end where a page without access begins: no kernel touches it.
#include <gtest/gtest.h>

#include "lib/guarded_memory.hpp"
#include "lib/isa_param.hpp"
#include "oracle.hpp"

namespace turnpike::acl::test {
namespace {

template <class Key>
void ends_before_the_guard(const std::string& kernel) {
    turnpike::test::guarded_memory tables;
    rules_maker make(31);
    auto table = *classifier<Key>::create({.kernel = kernel, .allocator = tables.hook()});
    for (const unsigned size : {0U, 1U, 3U, 15U, 250U, 900U}) {
        const auto rules = make.many<Key>(size);
        ASSERT_TRUE(table->build(rules));
        const sorted_rules oracle(rules);
        for (const size_t n : {1U, 7U, 8U, 16U, 63U, 64U, 65U}) {
            turnpike::test::guarded_memory pages;
            // Each key ends at a separate guard page.
            std::vector<const Key*> at;
            for (const Key& k : make.keys<Key>(rules, n))
                at.push_back(new (pages.allocate(sizeof k, 1)) Key(k));
            auto* results = static_cast<uint32_t*>(pages.allocate(4 * n, 4));
            table->classify(at, {results, n});
            for (size_t i = 0; i < n; ++i) ASSERT_TRUE(oracle.right(*at[i], 0, results[i]));
            classify_by_trees(*table, at, {results, n});
            for (size_t i = 0; i < n; ++i) ASSERT_TRUE(oracle.right(*at[i], 0, results[i]));
        }
    }
}

class acl_guard : public ::testing::TestWithParam<std::string> {};

TEST_P(acl_guard, ipv4) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    ends_before_the_guard<key4>(GetParam());
}
TEST_P(acl_guard, ipv6) {
    TURNPIKE_KERNEL_OR_SKIP(kernel, classify_kernels());
    ends_before_the_guard<key6>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(isa, acl_guard,
                         ::testing::ValuesIn(turnpike::test::kernel_names(classify_kernels())),
                         turnpike::test::isa_name);

}  // namespace
}  // namespace turnpike::acl::test
