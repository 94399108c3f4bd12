// SPDX-License-Identifier: BSD-3-Clause
// What a service manager hears.
#include "observe/service.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace turnpike::observe {
namespace {

/// A manager that listens at an abstract address.
class service_manager : public testing::Test {
  protected:
    service_manager() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        const std::string name = "turnpike-service-" + std::to_string(::getpid());
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path + 1, name.data(), name.size());
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&at),
                         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
                  0);
        ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
    }
    ~service_manager() override {
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
            ::unsetenv(name);
    }
    std::string heard() {
        std::string all;
        char bytes[1024];
        ssize_t n;
        while ((n = ::recv(fd_.get(), bytes, sizeof bytes, 0)) > 0)
            all.append(bytes, static_cast<size_t>(n));
        return all;
    }
    owned_fd fd_;
};

TEST_F(service_manager, hears_what_happens) {
    service s;
    s.ready("forwarding\n\x1b");
    EXPECT_EQ(heard(), "READY=1\nSTATUS=forwarding\\x0a\\x1b\n") << "one line, whatever it holds";
    s.reloading();
    const std::string reload = heard();
    EXPECT_EQ(reload.substr(0, 27), "RELOADING=1\nMONOTONIC_USEC=");
    EXPECT_GT(std::stoull(reload.substr(27)), 0U);
    s.stopping();
    EXPECT_EQ(heard().substr(0, 11), "STOPPING=1\n");
    s.look([] { return true; });
    EXPECT_EQ(heard(), "") << "no watchdog was asked for";
}

TEST_F(service_manager, watches_who_is_alive) {
    ::setenv("WATCHDOG_USEC", "100000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    service s;
    s.look([] { return true; });
    s.look([] { return true; });
    EXPECT_EQ(heard(), "WATCHDOG=1\n") << "once in 50 ms";
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    s.look([] { return false; });
    EXPECT_EQ(heard(), "") << "who is not alive does not say so";
    ::setenv("WATCHDOG_PID", "1", 1);
    service another;
    another.look([] { return true; });
    EXPECT_EQ(heard(), "") << "another process is watched";
}

TEST(service, says_nothing_where_nobody_asked) {
    ::unsetenv("NOTIFY_SOCKET");
    service s;
    s.ready("forwarding");
    ::setenv("NOTIFY_SOCKET", "relative", 1);
    service odd;
    odd.ready("forwarding");
    ::setenv("NOTIFY_SOCKET", "/no/socket", 1);
    service gone;
    gone.ready("forwarding");
    ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace turnpike::observe
