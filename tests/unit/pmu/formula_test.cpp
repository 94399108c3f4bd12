// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/formula.hpp"

#include <gtest/gtest.h>

#include <map>

#include "pmu/fit.hpp"
#include "pmu/slots.hpp"

namespace turnpike::pmu {
namespace {

result<double> value_of(std::string_view text) {
    const auto f = formula::parse(text);
    if (!f) return tl::unexpected<error>(f.error());
    return f->value([](const std::string& name) -> result<double> {
        const std::map<std::string, double> known{{"a", 6}, {"b", 4}, {"nothing", 0}};
        const auto at = known.find(name);
        if (at == known.end()) return fail(ENOENT, name, "is not counted here");
        return at->second;
    });
}

TEST(formula, has_the_usual_precedence) {
    EXPECT_DOUBLE_EQ(*value_of("a + b * 2 - 1"), 13);
    EXPECT_DOUBLE_EQ(*value_of("(a + b) * 2 / 4"), 5);
    EXPECT_DOUBLE_EQ(*value_of("a - b - 1"), 1);
    EXPECT_DOUBLE_EQ(*value_of("a / b / 2"), 0.75);
    EXPECT_DOUBLE_EQ(*value_of("max(a, b) - min(a, b * 2)"), 0);
    EXPECT_DOUBLE_EQ(*value_of("if_over(a, b, 1, 2) + if_over(b, a, 10, 20)"), 21);
    EXPECT_DOUBLE_EQ(*value_of("a * 1e3 + .5"), 6000.5);
    EXPECT_EQ(formula::parse("a / (a + b)")->names(), (std::vector<std::string>{"a", "b"}));
}

TEST(formula, says_why_it_has_no_value) {
    EXPECT_EQ(value_of("a / nothing").error().code, ERANGE);
    EXPECT_EQ(value_of("a + c").error().object, "c");
}

TEST(formula, refuses_what_it_does_not_know) {
    for (const char* bad : {"", "a +", "a b", "(a", "a)", "sin(a)", "max(a)", "max(a, b, a)",
                            "a ^ b", "-a", "a + -1", "1e", "if_over(a, b, 1)", ","}) {
        const auto refused = formula::parse(bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_NE(refused.error().text.find("is expected at '"), std::string::npos)
            << refused.error().text;
    }
    EXPECT_FALSE(formula::parse(std::string(10000, '(')));
}

using groups = std::vector<std::vector<size_t>>;

TEST(fit, fills_the_counters_and_no_more) {
    const std::vector<fit_event> six(6);
    EXPECT_EQ(fit(six, 4, false), (groups{{0, 1, 2, 3}, {4, 5}}));
    EXPECT_EQ(fit(six, 8, false), (groups{{0, 1, 2, 3, 4, 5}}));
    EXPECT_TRUE(fit({}, 4, false).empty());
}

TEST(fit, minds_which_counter_can_count_what) {
    // As an IIO stack has them: two events on counters 0 and 1, two on 2 and 3, two anywhere.
    const std::vector<fit_event> iio{
        {.counters = 3}, {.counters = 3}, {.counters = 3}, {.counters = 12}, {}, {.counters = 12}};
    EXPECT_EQ(fit(iio, 4, false), (groups{{0, 1, 3, 4}, {2, 5}}));
    // Moving the first makes room for one that can only be there.
    const std::vector<fit_event> tight{{.counters = 3}, {.counters = 1}};
    EXPECT_EQ(fit(tight, 2, false), (groups{{0, 1}}));
    const std::vector<fit_event> never{{.counters = 0}, {}};
    EXPECT_EQ(fit(never, 4, false), (groups{{0}, {1}}));
}

TEST(fit, keeps_fixed_counters_leaders_and_filters) {
    const std::vector<fit_event> events{{.fixed = true}, {},
                                        {.fixed = true}, {.fixed = true, .leader = 2},
                                        {.fixed = true}, {.fixed = true, .leader = 2}};
    EXPECT_EQ(fit(events, 1, false), (groups{{0, 4}, {2, 3, 5}, {1}}));
    const std::vector<fit_event> boxes{{.filter = 1}, {.filter = 2}, {.filter = 1}};
    EXPECT_EQ(fit(boxes, 4, true), (groups{{0, 2}, {1}}));
    EXPECT_EQ(fit(boxes, 4, false), (groups{{0, 1, 2}}));
}

TEST(slots, are_told_as_deep_as_it_means_something) {
    std::vector<slot_share> all{
        {.name = "retiring", .share = 0.40, .over = 0.7, .says = "of slots do useful work"},
        {.name = "backend", .share = 0.45, .over = 0.2, .says = "of slots wait"},
        {.name = "memory",
         .parent = "backend",
         .level = 2,
         .share = 0.3,
         .over = 0.2,
         .says = "of slots wait for memory"},
        {.name = "units",
         .parent = "backend",
         .level = 2,
         .share = 0.15,
         .over = 0.1,
         .says = "of slots wait for units"},
        {.name = "l3",
         .parent = "memory",
         .level = 3,
         .share = 0.04,
         .over = 0.05,
         .says = "of cycles wait for L3"}};
    EXPECT_EQ(sentence(telling(all)), "30 % of slots wait for memory");
    all[4].share = 0.38;
    EXPECT_EQ(sentence(telling(all)), "38 % of cycles wait for L3");
    all[0].share = 0.5;  // its parts are not known: no deeper
    EXPECT_EQ(sentence(telling(all)), "50 % of slots do useful work");
    EXPECT_EQ(telling({}), nullptr);
    EXPECT_EQ(sentence(nullptr), "");
}

}  // namespace
}  // namespace turnpike::pmu
