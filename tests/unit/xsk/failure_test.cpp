// SPDX-License-Identifier: BSD-3-Clause
// What the kernel answers seldom, or not on a veth pair: given by this program's own bind(), sendto() and
// getsockopt(), which stand before the C library's; and memory that ends.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <rte_alarm.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <filesystem>
#include <thread>

#include "base/owned_fd.hpp"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"
#include "unit/xsk/port.hpp"

namespace turnpike::test {
namespace {

std::atomic<bool> queues_are_busy{false}, sends_fail{false}, zero_copy{false}, virtio{false};
std::atomic<uint32_t> bind_flags{0};
std::atomic<int> bind_error{0}, bind_ms{0};
std::atomic<unsigned> binds{0},
    unknown_names{0};  ///< of AF_XDP sockets; requests by a name that no interface has

int failed(int code) noexcept {
    errno = code;
    return -1;
}

}  // namespace
}  // namespace turnpike::test

extern "C" {

int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
    if (address->sa_family == AF_XDP) {
        turnpike::test::bind_flags = reinterpret_cast<const sockaddr_xdp*>(address)->sxdp_flags;
        ++turnpike::test::binds;
        std::this_thread::sleep_for(std::chrono::milliseconds(turnpike::test::bind_ms));
        if (turnpike::test::queues_are_busy) return turnpike::test::failed(EBUSY);
        if (const int code = turnpike::test::bind_error; code != 0)
            return turnpike::test::failed(code);
    }
    return static_cast<int>(syscall(SYS_bind, fd, address, bytes));
}

ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
               socklen_t to_bytes) {
    if (data == nullptr && turnpike::test::sends_fail) return turnpike::test::failed(EOPNOTSUPP);
    return syscall(SYS_sendto, fd, data, bytes, flags, to, to_bytes);
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* bytes) noexcept {
    const auto code = static_cast<int>(syscall(SYS_getsockopt, fd, level, name, value, bytes));
    if (level == SOL_XDP && name == XDP_OPTIONS && turnpike::test::zero_copy)
        static_cast<xdp_options*>(value)->flags |= XDP_OPTIONS_ZEROCOPY;
    return code;
}

/// The C library declares it with variable arguments, of which there is one.
int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const auto code = static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
    if (code != 0 && errno == ENODEV && request != SIOCGIFNAME) ++turnpike::test::unknown_names;
    if (request == SIOCETHTOOL && turnpike::test::virtio) {
        auto* const info =
            reinterpret_cast<ethtool_drvinfo*>(static_cast<ifreq*>(argument)->ifr_data);
        if (info->cmd == ETHTOOL_GDRVINFO) std::strcpy(info->driver, "virtio_net");
    }
    return code;
}

}  // extern "C"

namespace turnpike::test {
namespace {

class xsk_failures : public xsk_port {
  protected:
    void TearDown() override {
        queues_are_busy = sends_fail = zero_copy = virtio = false;
        bind_error = bind_ms = 0;
        xsk_port::TearDown();
    }
};

TEST_F(xsk_failures, auto_is_copy_where_the_program_is_generic) {
    {
        port p("net_xsk0", "lo", pool);  // lo has no native XDP
        ASSERT_EQ(p.code, 0);
        p.start();
        EXPECT_NE(bind_flags & XDP_COPY, 0u) << "zero-copy would never send";
    }
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    EXPECT_EQ(bind_flags & XDP_COPY, 0u) << "its driver runs the program";
}

TEST_F(xsk_failures, calls_that_fail_are_counted_and_said_once) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    ::testing::internal::CaptureStderr();
    sends_fail = true;
    for (uint32_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(100, i))));
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    EXPECT_EQ(p.xstats().at("tx_failed_calls"), 5u);
    sends_fail = false;
    ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(100, 5))));
    for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(wire.receive(), make_frame(100, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    const std::string words = "queue 0: the kernel refuses to send: Operation not supported";
    const size_t at = message.find(words);
    ASSERT_NE(at, std::string::npos) << message;
    EXPECT_EQ(message.find(words, at + 1), std::string::npos) << message;
    EXPECT_EQ(p.xstats().at("tx_failed_calls"), 5u);
}

/// The port must not hand the kernel frames that it drops silently. veth does not report its
/// zero-copy limit: two parts.
TEST_F(xsk_failures, zero_copy_sends_no_more_parts_than_the_driver_takes) {
    const cable wire("near", 3500);
    zero_copy = true;
    port p("net_xsk0", wire, pool, {.mtu = 3500, .scatter = true});
    ASSERT_EQ(p.code, 0);
    p.start();
    const auto sent = [&](size_t bytes, size_t room) {
        const frame f = make_frame(bytes, static_cast<uint32_t>(bytes));
        return p.send(to_mbuf(pool, f, room)) && p.arrives(wire) == f;
    };
    EXPECT_TRUE(sent(1000, 500));
    EXPECT_EQ(p.xstats().at("tx_descriptors"), 2u);
    EXPECT_EQ(p.xstats().at("tx_copied"), 0u);
    EXPECT_TRUE(sent(1200, 100));
    EXPECT_EQ(p.xstats().at("tx_descriptors"), 3u) << "copied into one";
    EXPECT_TRUE(sent(3500, 1000));
    EXPECT_EQ(p.xstats().at("tx_descriptors"), 5u) << "copied into two";
    EXPECT_EQ(p.xstats().at("tx_copied"), 2u);
    ASSERT_TRUE(p.send(to_mbuf(pool, make_frame(5000, 1), 1000)));
    EXPECT_EQ(p.xstats().at("tx_refused"), 1u);
}

/// Its driver takes a part as two fragments of an skb if it lies on two pages; an skb has 17.
TEST_F(xsk_failures, virtio_net_sends_at_most_eight_parts) {
    const cable wire("near", 3500);
    virtio = true;
    port p("net_xsk0", wire, pool, {.mtu = 3500, .scatter = true});
    ASSERT_EQ(p.code, 0);
    p.start();
    for (const size_t parts : {8, 9}) {
        const frame f = make_frame(parts * 100, static_cast<uint32_t>(parts));
        EXPECT_TRUE(p.send(to_mbuf(pool, f, 100)));
        EXPECT_EQ(p.arrives(wire), f);
    }
    EXPECT_EQ(p.xstats().at("tx_copied"), 1u);
    EXPECT_EQ(p.xstats().at("tx_descriptors"), 9u) << "8, and a copy";
}

/// Beats on EAL's interrupt thread.
struct heartbeat {
    static constexpr uint64_t period_us = 20'000;
    std::atomic<uint32_t> beats{0};
    heartbeat() { rte_eal_alarm_set(period_us, beat, this); }
    ~heartbeat() { rte_eal_alarm_cancel(beat, this); }
    static void beat(void* self) {
        ++static_cast<heartbeat*>(self)->beats;
        rte_eal_alarm_set(period_us, beat, self);
    }
};

TEST_F(xsk_failures, a_queue_that_is_taken_keeps_no_other_alarm_waiting) {
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    queues_are_busy = true;
    ::testing::internal::CaptureStderr();
    wire.lay();
    {
        const heartbeat heart;
        std::this_thread::sleep_for(std::chrono::milliseconds(3000));
        EXPECT_GT(heart.beats, 50u) << "of 150";
    }
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("queue 0 has an AF_XDP socket already"), std::string::npos) << message;
    queues_are_busy = false;
    EXPECT_TRUE(within(2, [&] { return p.link_up(); }));
    ASSERT_TRUE(wire.send(make_frame(100, 1)));
    EXPECT_EQ(p.receive(), make_frame(100, 1));
}

/// The kernel runs modprobe for each, and waits for it.
TEST_F(xsk_failures, an_interface_that_is_away_is_not_asked_for_by_its_name) {
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // a look that began before
    unknown_names = 0;
    EXPECT_FALSE(within(0.5, [&] { return p.link_up(); }));
    EXPECT_EQ(unknown_names, 0u);
    wire.lay();
    EXPECT_TRUE(within(2, [&] { return p.link_up(); }));
}

TEST_F(xsk_failures, an_interface_that_cannot_be_used_is_tried_ever_less_often) {
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    bind_error = EOPNOTSUPP;
    binds = 0;
    ::testing::internal::CaptureStderr();
    wire.lay();
    EXPECT_FALSE(within(3, [&] { return p.link_up(); }));
    fflush(stderr);
    const std::string message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("interface near is back, but: "), std::string::npos) << message;
    EXPECT_GE(binds, 3u);
    EXPECT_LE(binds, 12u);
    wire.cut();
    bind_error = 0;
    wire.lay();
    EXPECT_TRUE(within(1, [&] { return p.link_up(); })) << "another interface is tried at once";
}

/// A reopen waits as long as another program has RTNL.
TEST_F(xsk_failures, counters_do_not_wait_for_a_reopen) {
    using clock = std::chrono::steady_clock;
    cable wire("near");
    port p("net_xsk0", wire, pool);
    p.start();
    ASSERT_TRUE(wire.send(make_frame(100, 1)));
    EXPECT_EQ(p.receive(), make_frame(100, 1));
    rte_eth_stats stats{};
    ASSERT_EQ(rte_eth_stats_get(p.id, &stats), 0);
    const uint64_t received = stats.ipackets;
    EXPECT_GT(received, 0u);
    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    bind_ms = 1000;
    binds = 0;
    wire.lay();
    clock::duration longest{};
    EXPECT_FALSE(within(1.5, [&] {
        const auto before = clock::now();
        EXPECT_EQ(rte_eth_stats_get(p.id, &stats), 0);
        longest = std::max(longest, clock::now() - before);
        return stats.ipackets < received;
    }));
    EXPECT_GT(binds, 0u);
    EXPECT_LT(longest, std::chrono::milliseconds(400));
    bind_ms = 0;
    EXPECT_TRUE(within(3, [&] { return p.link_up(); }));
}

size_t open_files() {
    size_t n = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
        ++n;
    return n;
}

TEST_F(xsk_failures, a_start_without_memory_leaves_no_socket_open) {
    const cable wire("near", 1500, 2);
    port p("net_xsk0", wire, pool, {.queues = 2});
    ASSERT_EQ(p.code, 0);
    const size_t before = open_files();
    for (long n = 0;; ++n) {
        ASSERT_LT(n, 10'000);
        allocations_until_failure = n;
        const int code = rte_eth_dev_start(p.id);
        allocations_until_failure = never;
        if (code == 0) break;
        ASSERT_EQ(code, -ENOMEM) << "allocation " << n;
        ASSERT_EQ(open_files(), before) << "allocation " << n;
        ASSERT_EQ(rte_mempool_in_use_count(pool), 0u) << "allocation " << n;
    }
    EXPECT_GT(open_files(), before);
}

/// A BPF link on the interface, taken off as `bpftool link detach` does.
bool detach_xdp_program(int ifindex) {
    for (uint32_t id = 0; bpf_link_get_next_id(id, &id) == 0;) {
        const int fd = bpf_link_get_fd_by_id(id);
        bpf_link_info info{};
        uint32_t bytes = sizeof info;
        const bool there =
            bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 && info.type == BPF_LINK_TYPE_XDP &&
            info.xdp.ifindex == static_cast<uint32_t>(ifindex) && bpf_link_detach(fd) == 0;
        ::close(fd);
        if (there) return true;
    }
    return false;
}

/// `return XDP_PASS`, for frames in one buffer, attached by netlink.
void attach_other_program(int ifindex) {
    const bpf_insn pass[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 2},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    const owned_fd other(
        bpf_prog_load(BPF_PROG_TYPE_XDP, "other", "BSD", pass, std::size(pass), nullptr));
    ASSERT_EQ(bpf_xdp_attach(ifindex, other.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
}

TEST_F(xsk_failures, a_start_that_cannot_attach_its_program_is_no_hindrance_to_the_next) {
    const cable wire("near");
    port p("net_xsk0", wire, pool);
    const auto near = static_cast<int>(if_nametoindex("near"));
    ASSERT_TRUE(detach_xdp_program(near));
    attach_other_program(near);
    EXPECT_EQ(rte_eth_dev_start(p.id), -EBUSY);
    EXPECT_EQ(rte_eth_dev_start(p.id), -EBUSY) << "and not for want of a program";
    ASSERT_EQ(bpf_xdp_detach(near, XDP_FLAGS_DRV_MODE, nullptr), 0);
    p.start();
    ASSERT_TRUE(wire.send(make_frame(100, 1)));
    EXPECT_EQ(p.receive(), make_frame(100, 1));
}

/// A pinned XSKMAP of another program, and that program's sockets in it.
class external_map {
  public:
    external_map() {
        EXPECT_NE(mkdtemp(folder_.data()), nullptr);
        EXPECT_EQ(mount("bpf", folder_.c_str(), "bpf", 0, nullptr), 0);
        pin();
    }
    ~external_map() {
        umount(folder_.c_str());
        rmdir(folder_.c_str());
    }
    external_map(const external_map&) = delete;
    external_map& operator=(const external_map&) = delete;

    /// Pin a new map in place of the previous one.
    void pin() {
        unlink(path().c_str());
        map_.reset(bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", 4, 4, 4, nullptr));
        EXPECT_EQ(bpf_obj_pin(map_.get(), path().c_str()), 0);
    }
    void unpin() const { unlink(path().c_str()); }
    std::string path() const { return folder_ + "/sockets"; }
    std::string argument() const { return ",xskmap=" + path(); }
    bool put(uint32_t queue, int fd, uint64_t flags = BPF_NOEXIST) const {
        return bpf_map_update_elem(map_.get(), &queue, &fd, flags) == 0;
    }
    /// User space cannot read an entry; but it cannot add one that exists.
    bool has(uint32_t queue) const {
        const owned_fd probe(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
        return !put(queue, probe.get());
    }

  private:
    std::string folder_ = "/tmp/turnpike-bpf-XXXXXX";
    owned_fd map_{};
};

TEST_F(xsk_failures, sockets_of_others_stay_in_a_pinned_map) {
    const cable wire("near");
    const external_map map;
    rte_mempool* few = make_pool("few", 200);
    owned_fd other(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(map.put(0, other.get()));
    {
        port p("net_xsk0", wire, few, {.arguments = map.argument()});
        EXPECT_EQ(rte_eth_dev_start(p.id), -ENOMEM);
        EXPECT_TRUE(map.has(0)) << "the port had put none";
    }
    rte_mempool_free(few);
    port p("net_xsk0", wire, pool, {.arguments = map.argument()});
    EXPECT_EQ(rte_eth_dev_start(p.id), -EEXIST);
    EXPECT_TRUE(map.has(0));
    other.reset();
    p.start();
    EXPECT_TRUE(map.has(0));
    EXPECT_EQ(rte_eth_dev_stop(p.id), 0);
    EXPECT_FALSE(map.has(0));
}

/// The program that owns the map restarts and pins a new one, or ends.
TEST_F(xsk_failures, a_pinned_map_is_opened_again) {
    cable wire("near");
    external_map map;
    port p("net_xsk0", wire, pool, {.arguments = map.argument()});
    ASSERT_EQ(p.code, 0);
    map.pin();
    p.start();
    EXPECT_TRUE(map.has(0)) << "at a start";

    wire.cut();
    ASSERT_TRUE(within(2, [&] { return !p.link_up(); }));
    map.pin();
    wire.lay();
    ASSERT_TRUE(within(2, [&] { return p.link_up(); }));
    EXPECT_TRUE(map.has(0)) << "when the interface returns";

    EXPECT_EQ(rte_eth_dev_stop(p.id), 0);
    EXPECT_FALSE(map.has(0));
    map.unpin();
    p.start();
    EXPECT_TRUE(map.has(0)) << "the program may have removed the file only";
}

/// A program for frames in one buffer at one end of a veth pair limits the MTU of the other.
TEST_F(xsk_failures, the_mac_address_is_restored_if_the_mtu_cannot_be) {
    const cable wire("near", 5000);
    EXPECT_TRUE(run("ip link set near address 02:00:00:00:08:08"));
    {
        port p("net_xsk0", wire, pool);
        p.start();
        ASSERT_EQ(rte_eth_dev_set_mtu(p.id, 1400), 0);
        rte_ether_addr mac{{2, 0, 0, 0, 9, 9}};
        ASSERT_EQ(rte_eth_dev_default_mac_addr_set(p.id, &mac), 0);
        attach_other_program(static_cast<int>(if_nametoindex(wire.far().c_str())));
    }
    EXPECT_TRUE(run("ip link show dev near | grep -q 'mtu 1400'"));
    EXPECT_TRUE(run("ip link show dev near | grep -q 02:00:00:00:08:08"));
}

}  // namespace
}  // namespace turnpike::test
