// SPDX-License-Identifier: BSD-3-Clause
// TAPs that another program deletes or renames. Control finds them by index: for a name that no interface has, the kernel runs
// modprobe, and the thread waits for it (lib/base/ifindex.hpp). This program's own ioctl(), which stands before the C
// library's, counts such requests.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>

#include "base/ifindex.hpp"
#include "lib/own_namespace.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

std::atomic<unsigned> names_of_none{0};

}  // namespace
}  // namespace turnpike

extern "C" {

/// The C library declares it with variable arguments, of which there is one.
int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const auto code = static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
    if (code != 0 && errno == ENODEV && request != SIOCGIFNAME) ++turnpike::names_of_none;
    return code;
}

}  // extern "C"

namespace turnpike {
namespace {

using namespace test;

TEST(lost_tap, is_found_by_its_index_and_made_again) {
    own_namespace apart;
    running_lab l(
        "control_plane: {netlink: true}\n"
        "ports:\n"
        "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n");
    const auto pass = [&l] {
        for (int n = 0; n < 3; ++n) {
            l.worker().pause();  // as it is between two of its rounds
            l.control(1000);
            l.worker().resume();
        }
    };
    for (const char* const change :
         {"ip link del west", "ip link set west down && ip link set west name moved"}) {
        pass();
        const unsigned before = ifindex_of("west");
        ASSERT_NE(before, 0U);
        ASSERT_EQ(std::system(change), 0);
        pass();
        const unsigned after = ifindex_of("west");
        EXPECT_NE(after, 0U) << change;
        EXPECT_NE(after, before) << change;
    }
    EXPECT_EQ(names_of_none, 0U);
}

}  // namespace
}  // namespace turnpike
