// SPDX-License-Identifier: BSD-3-Clause
// Sockets on a veth pair, with plain memory in place of a mempool's.
#include "socket.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>

#include "unit/xsk/sandbox.hpp"

namespace turnpike::xsk {
namespace {

class sockets : public test::sandbox {
  protected:
    static constexpr size_t bytes = 1 << 20;

    void SetUp() override {
        sandbox::SetUp();
        if (IsSkipped()) return;
        memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory_, MAP_FAILED);
    }
    void TearDown() override {
        if (memory_ != nullptr) munmap(memory_, bytes);
        sandbox::TearDown();
    }
    socket_settings on(const char* interface) const {
        socket_settings s{.iface = interface,
                          .driver = "veth",
                          .ifindex = if_nametoindex(interface),
                          .rx_entries = 64,
                          .tx_entries = 128};
        s.frames.base = reinterpret_cast<uintptr_t>(memory_);
        s.frames.bytes = bytes;
        s.frames.chunk_bytes = 2176;
        return s;
    }

  private:
    void* memory_ = nullptr;
};

TEST_F(sockets, have_rings_of_their_sizes) {
    const auto made = socket::open(on("near"));
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_FALSE((*made)->zero_copy());
    EXPECT_EQ((*made)->rx().size, 64u);
    EXPECT_EQ((*made)->fill().size, 64u);
    EXPECT_EQ((*made)->tx().size, 128u);
    EXPECT_EQ((*made)->completion().size, 128u);
    EXPECT_TRUE(needs_wakeup((*made)->tx())) << "copy mode has to be called";
}

TEST_F(sockets, share_the_umem_of_the_same_memory) {
    auto first = socket::open(on("near"));
    ASSERT_TRUE(first.has_value()) << first.error().message();
    EXPECT_FALSE((*first)->shares());
    auto second = socket::open(on("far"));
    ASSERT_TRUE(second.has_value()) << second.error().message();
    EXPECT_TRUE((*second)->shares());
    // The first socket may be closed: the second keeps the UMEM registered.
    first->reset();
    auto third = socket::open(on("near"));
    ASSERT_TRUE(third.has_value()) << third.error().message();
    EXPECT_TRUE((*third)->shares());
    third->reset();
    // A socket with other features gets a separate UMEM.
    auto other = on("near");
    other.multi_buffer = true;
    auto fourth = socket::open(other);
    ASSERT_TRUE(fourth.has_value()) << fourth.error().message();
    EXPECT_FALSE((*fourth)->shares());
}

TEST_F(sockets, go_on_without_a_sharer_whose_interface_is_gone) {
    const auto first = socket::open(on("near"));
    ASSERT_TRUE(first.has_value()) << first.error().message();
    ASSERT_TRUE(test::run("ip link del near && ip link add near type veth peer name far"));
    const auto second = socket::open(on("near"));
    ASSERT_TRUE(second.has_value()) << second.error().message();
    EXPECT_FALSE((*second)->shares());
}

TEST_F(sockets, say_what_is_wrong) {
    auto no_queue = on("near");
    no_queue.queue = 7;
    auto made = socket::open(no_queue);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_NE(made.error().text.find("there is no queue 7"), std::string::npos);
    const auto first = socket::open(on("near"));
    made = socket::open(on("near"));
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, EBUSY) << made.error().message();
    EXPECT_NE(made.error().text.find("queue 0 has an AF_XDP socket already"), std::string::npos);
}

TEST_F(sockets, are_out_of_the_kernel_when_waited_for) {
    for (int n = 0; n < 3; ++n) {
        auto made = socket::open(on("near"));
        ASSERT_TRUE(made.has_value()) << made.error().message();
        made->reset();
        const auto begin = std::chrono::steady_clock::now();
        wait_for_release(if_nametoindex("near"), 0);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    }
}

}  // namespace
}  // namespace turnpike::xsk
