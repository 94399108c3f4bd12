// SPDX-License-Identifier: BSD-3-Clause
// TAPs that another program deletes, renames or changes. Control finds them by index: for a name that no interface has, the kernel runs
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
#include <cstring>
#include <string>
#include <utility>

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

constexpr const char* with_a_tap =
    "control_plane: {netlink: true}\n"
    "ports:\n"
    "  - {name: west, device: d0, addresses: [10.0.1.254/24], host_interface: true}\n";

void pass_seconds(running_lab& l) {
    for (int n = 0; n < 3; ++n) {
        l.worker().pause();  // as it is between two of its rounds
        l.control(1000);
        l.worker().resume();
    }
}

TEST(lost_tap, is_found_by_its_index_and_made_again) {
    own_namespace apart;
    running_lab l(with_a_tap);
    names_of_none = 0;
    for (const char* const change :
         {"ip link del west", "ip link set west down && ip link set west name moved"}) {
        pass_seconds(l);
        const unsigned before = ifindex_of("west");
        ASSERT_NE(before, 0U);
        ASSERT_EQ(std::system(change), 0);
        pass_seconds(l);
        const unsigned after = ifindex_of("west");
        EXPECT_NE(after, 0U) << change;
        EXPECT_NE(after, before) << change;
    }
    EXPECT_EQ(names_of_none, 0U);
}

/// Its MTU, and whether its MAC address is the one of the lab's first port.
std::pair<int, bool> settings_of_west() {
    const owned_fd any(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq mtu{}, mac{};
    std::strcpy(mtu.ifr_name, "west");
    std::strcpy(mac.ifr_name, "west");
    EXPECT_EQ(::ioctl(any.get(), SIOCGIFMTU, &mtu), 0);
    EXPECT_EQ(::ioctl(any.get(), SIOCGIFHWADDR, &mac), 0);
    const uint8_t own[] = {2, 0, 0, 0, 0, 0x0b};
    return {mtu.ifr_mtu, std::memcmp(mac.ifr_hwaddr.sa_data, own, sizeof own) == 0};
}

TEST(changed_tap, has_its_mac_address_restored) {
    own_namespace apart;
    running_lab l(with_a_tap);
    pass_seconds(l);
    ASSERT_EQ(settings_of_west(), std::pair(1500, true));
    ASSERT_EQ(std::system("ip link set west address 02:00:00:00:77:77"), 0);
    ASSERT_EQ(settings_of_west(), std::pair(1500, false));
    pass_seconds(l);
    EXPECT_EQ(settings_of_west(), std::pair(1500, true));
    ASSERT_EQ(std::system("ip link set west address 02:00:00:00:77:78 mtu 1300"), 0);
    pass_seconds(l);
    EXPECT_EQ(settings_of_west(), std::pair(1300, true)) << "the kernel's MTU may be another";
    ASSERT_EQ(std::system("ip link set west address 02:00:00:00:77:79 down"), 0);
    pass_seconds(l);
    EXPECT_EQ(settings_of_west(), std::pair(1300, true));
    EXPECT_NE(std::system("ip link show west up | grep -q west"), 0) << "and its status";
}

}  // namespace
}  // namespace turnpike
