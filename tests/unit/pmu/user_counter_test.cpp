// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/user_counter.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/owned_fd.hpp"

namespace turnpike::pmu {
namespace {

/// The kernel's page for an event on counter 2, of 48 bits, that had 1000 when it was scheduled
/// there.
perf_event_mmap_page page_of_counter_2() {
    perf_event_mmap_page p{};
    p.index = 3;
    p.pmc_width = 48;
    p.offset = 1000;
    return p;
}

TEST(user_counter, is_the_pages_offset_and_the_counter) {
    const perf_event_mmap_page p = page_of_counter_2();
    const auto count = read_page(p, [](uint32_t counter) -> uint64_t {
        EXPECT_EQ(counter, 2U);
        return 234;
    });
    EXPECT_EQ(count, 1234U);
}

/// The kernel lets counters begin below 0, so that they overflow in time; their upper bits are anything.
TEST(user_counter, may_stand_below_zero) {
    perf_event_mmap_page p = page_of_counter_2();
    const auto reads = [](uint64_t value) { return [=](uint32_t) { return value; }; };
    EXPECT_EQ(read_page(p, reads(0x0000'ffff'ffff'ff00)), 1000U - 256);
    EXPECT_EQ(read_page(p, reads(0xabcd'0000'0000'0005)), 1005U);
    p.pmc_width = 64;
    EXPECT_EQ(read_page(p, reads(UINT64_MAX)), 999U);
}

TEST(user_counter, that_is_on_no_counter_has_no_value) {
    perf_event_mmap_page p = page_of_counter_2();
    const auto never = [](uint32_t) -> uint64_t {
        ADD_FAILURE() << "read all the same";
        return 0;
    };
    p.index = 0;
    EXPECT_EQ(read_page(p, never), std::nullopt);
    p.index = 3;
    p.pmc_width = 0;
    EXPECT_EQ(read_page(p, never), std::nullopt);
}

TEST(user_counter, is_read_again_where_the_kernel_wrote) {
    perf_event_mmap_page p = page_of_counter_2();
    int times = 0;
    const auto count = read_page(p, [&](uint32_t) -> uint64_t {
        if (++times == 1) {  // it moves meanwhile
            p.lock += 2;
            p.offset = 5000;
        }
        return 1;
    });
    EXPECT_EQ(times, 2);
    EXPECT_EQ(count, 5001U);
}

TEST(user_counter, of_what_is_no_event_is_refused) {
    EXPECT_EQ(user_counter::map(-1).error().code, EBADF);
}

/// The kernel counts software's itself: there is nothing to read.
TEST(user_counter, of_a_software_event_says_that_programs_may_not) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
    attributes.exclude_kernel = 1;
    const owned_fd event(static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (event.get() < 0) GTEST_SKIP() << "the kernel permits no software event here";
    const auto mapped = user_counter::map(event.get());
    ASSERT_FALSE(mapped);
    EXPECT_EQ(mapped.error().code, ENOTSUP);
    EXPECT_NE(mapped.error().message().find("see /sys/bus/event_source/devices/cpu/rdpmc"),
              std::string::npos);
}

}  // namespace
}  // namespace turnpike::pmu
