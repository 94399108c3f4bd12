// SPDX-License-Identifier: BSD-3-Clause
// Notifications to the service manager.
#include "observe/service.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
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
    s.starting("EAL", std::chrono::seconds(300));
    EXPECT_EQ(heard(), "EXTEND_TIMEOUT_USEC=300000000\nSTATUS=starting: EAL\n");
    s.ready("forwarding\n\x1b");
    EXPECT_EQ(heard(), "READY=1\nSTATUS=forwarding\\x0a\\x1b\n") << "one line, whatever the text";
    s.reloading();
    const std::string reload = heard();
    EXPECT_EQ(reload.substr(0, 27), "RELOADING=1\nMONOTONIC_USEC=");
    EXPECT_GT(std::stoull(reload.substr(27)), 0U);
    s.stopping();
    EXPECT_EQ(heard().substr(0, 11), "STOPPING=1\n");
    s.poll([] { return true; });
    EXPECT_EQ(heard(), "") << "no watchdog was asked for";
}

TEST_F(service_manager, watches_who_is_alive) {
    ::setenv("WATCHDOG_USEC", "100000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    service s;
    s.poll([] { return true; });
    s.poll([] { return true; });
    EXPECT_EQ(heard(), "WATCHDOG=1\n") << "once in 50 ms";
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    s.poll([] { return false; });
    EXPECT_EQ(heard(), "") << "a dead loop sends no message";
    ::setenv("WATCHDOG_PID", "1", 1);
    service another;
    another.poll([] { return true; });
    EXPECT_EQ(heard(), "") << "another process is watched";
}

/// A manager that listens at a path while it lives.
class manager_at {
  public:
    explicit manager_at(std::string path) : path_(std::move(path)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        EXPECT_LT(path_.size(), sizeof at.sun_path);
        std::memcpy(at.sun_path, path_.data(), std::min(path_.size(), sizeof at.sun_path - 1));
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    }
    ~manager_at() { ::unlink(path_.c_str()); }
    manager_at(const manager_at&) = delete;
    manager_at& operator=(const manager_at&) = delete;
    std::string heard() {
        char bytes[64];
        const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
        return n < 0 ? "" : std::string(bytes, static_cast<size_t>(n));
    }

  private:
    std::string path_;
    owned_fd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
};

std::string socket_name() { return "turnpike-service-" + std::to_string(::getpid()); }

/// sd_notify(3): an address is an absolute path, or an abstract one behind an @.
TEST_F(service_manager, hears_nothing_where_no_manager_is_named) {
    ::unsetenv("NOTIFY_SOCKET");
    service quiet;
    ASSERT_EQ(::chdir(testing::TempDir().c_str()), 0);
    manager_at relative(socket_name());
    ::setenv("NOTIFY_SOCKET", socket_name().c_str(), 1);
    service odd;
    ::setenv("NOTIFY_SOCKET", ("@" + std::string(108, 'x')).c_str(), 1);
    service too_long;
    for (service* s : {&quiet, &odd, &too_long}) {
        s->ready("forwarding");
        s->poll([] { return true; });
        s->stopping();
    }
    EXPECT_EQ(heard(), "");
    EXPECT_EQ(relative.heard(), "");
}

TEST(service, is_heard_by_a_manager_that_is_back) {
    const std::string path = testing::TempDir() + socket_name();
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    service s;
    ::unsetenv("NOTIFY_SOCKET");
    s.ready("no manager listens yet");
    manager_at back(path);
    s.status("back");
    EXPECT_EQ(back.heard(), "STATUS=back\n");
}

}  // namespace
}  // namespace turnpike::observe
