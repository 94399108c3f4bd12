// SPDX-License-Identifier: BSD-3-Clause
#include "netlink/namespace.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <filesystem>

namespace turnpike::netlink {
namespace {

/// While this exists, no thread of the default attributes can be created: a stack of 2^50 bytes has no room.
class no_threads {
  public:
    no_threads() {
        EXPECT_EQ(pthread_getattr_default_np(&usual_), 0);
        pthread_attr_t huge;
        EXPECT_EQ(pthread_attr_init(&huge), 0);
        EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        pthread_attr_destroy(&huge);
    }
    ~no_threads() {
        EXPECT_EQ(pthread_setattr_default_np(&usual_), 0);
        pthread_attr_destroy(&usual_);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

  private:
    pthread_attr_t usual_{};
};

TEST(network_namespace, without_a_thread_to_enter_it_is_an_error) {
    std::error_code none;
    std::filesystem::create_directories("/run/netns", none);
    if (!std::filesystem::is_directory("/run/netns")) GTEST_SKIP() << "needs /run/netns";
    bool acted = false;
    const auto enter = [&] {
        return in_namespace("../../proc/self/ns/net", [&] {
            acted = true;
            return result<void>{};
        });
    };
    {
        const no_threads limit;
        const auto done = enter();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, EAGAIN);
    }
    EXPECT_FALSE(acted);
}

}  // namespace
}  // namespace turnpike::netlink
