// SPDX-License-Identifier: BSD-3-Clause
// Ports that are closed and opened anew under their names. net_null makes up another MAC address each time that
// it is probed, so all that follows from one is made again, too.
#include <ethdev_driver.h>
#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <sys/mman.h>

#include <thread>

#include "control/forwarding/captures.hpp"
#include "lib/eal.hpp"
#include "lib/failing_new.hpp"
#include "packet/ipv6.hpp"
#include "reload_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

/// Two ports between rings, and one that is no more than there.
class null_lab : public lab {
  public:
    null_lab() : lab(router("{to: 10.9.0.0/16, via: 10.0.2.2}")) {}
    ~null_lab() {
        EXPECT_TRUE(apply(router()));  // and its buffers come back
        settle();
    }

    std::shared_ptr<state::configuration> with(const std::string& arguments, uint16_t rx_queues = 1,
                                               const std::string& name = "north") {
        auto wanted = read(router("{to: 10.9.0.0/16, via: 10.0.2.2}"));
        wanted->ports.add(name,
                          {.device = "net_null_n,no-rx=1" + arguments, .rx_queues = rx_queues});
        wanted->interfaces.add(name, {.port = name, .addresses = {*parse_prefix("10.0.3.254/24")}});
        return wanted;
    }
    result<state::changes> become(std::shared_ptr<const state::configuration> wanted,
                                  const control::to_retry& again = {}) {
        worker().pause();
        auto done = controller().apply(std::move(wanted), again);
        worker().resume();
        controller().poll_links(1);
        settle();
        for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);
        return done;
    }
    const control::open_port& port(const std::string& name) const {
        for (const auto& p : control_->ports().open())
            if (p->name == name) return *p;
        REQUIRE(false);
        std::abort();
    }
    /// The port is open as configured, and all its state belongs to this device.
    void expect_open(const std::string& name, const std::string& arguments, uint16_t rx_queues) {
        const control::open_port& p = port(name);
        EXPECT_FALSE(p.lost);
        EXPECT_EQ(p.config.device, "net_null_n,no-rx=1" + arguments);
        EXPECT_TRUE(p.state.link_up.load());
        const auto& shown = snapshot().port[p.port_index];
        EXPECT_EQ(shown.ethdev_id, p.device.id());
        EXPECT_EQ(shown.mac, p.device.mac());
        const auto& on = snapshot().interfaces[shown.untagged];
        EXPECT_EQ(on.port, p.port_index);
        EXPECT_EQ(on.mac, p.device.mac());
        ASSERT_NE(on.addresses, nullptr);
        EXPECT_EQ(on.addresses->v6.front(), packet::link_local(p.device.mac()));
        size_t polled = 0;
        for (const auto& q : snapshot().queues)
            polled += static_cast<size_t>(std::count_if(
                q.rx.begin(), q.rx.end(), [&](const auto& rx) { return rx.port == p.port_index; }));
        EXPECT_EQ(polled, rx_queues);
        EXPECT_EQ(controller().routing().routes().lookup(*parse_address("10.0.3.254")),
                  datapath::fixed_nexthop::local);
        const auto glean = controller().routing().routes().lookup(*parse_address("10.0.3.9"));
        EXPECT_EQ(snapshot().nexthops[glean].out.port, p.port_index);
        EXPECT_EQ(egress_port("10.9.0.1"), 1) << "and others forward";
    }
};

TEST(reopen, with_other_queues_and_arguments) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    l.expect_open("north", "", 1);
    const auto west = l.port("west").life;
    const auto queues = l.become(l.with("", 2));
    ASSERT_TRUE(queues) << queues.error().message();
    EXPECT_EQ(queues->reopened, std::vector<std::string>{"north"});
    l.expect_open("north", "", 2);
    ASSERT_TRUE(l.become(l.with(",size=256", 1)));
    l.expect_open("north", ",size=256", 1);
    EXPECT_EQ(l.port("west").life, west) << "and is the same port";
}

/// With another device a port has another index, and the next port takes the one before.
TEST(reopen, a_capture_follows_its_port_and_takes_no_other) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    const uint16_t first = l.port("north").port_index;
    const auto bit_of = [](uint16_t port) { return datapath::packet_mask{1} << port; };
    auto s =
        std::make_shared<control::capture_session>(datapath::capture_filter{}, bit_of(first), 2);
    s->ports = {{.index = first, .name = "north"}};
    s->tsc_hz = rte_get_tsc_hz();
    l.worker().pause();
    ASSERT_TRUE(l.controller().capturing().begin(s, owned_fd(::memfd_create("capture", 0)), 1));
    l.worker().resume();
    auto other = l.with("");
    other->ports.find("north")->device = "net_null_o,no-rx=1";
    ASSERT_TRUE(l.become(other));
    const uint16_t second = l.port("north").port_index;
    ASSERT_NE(second, first);
    EXPECT_EQ(s->packets.ports(), bit_of(second));
    EXPECT_EQ(s->interface_of(second), 0);
    auto more = std::make_shared<state::configuration>(*other);
    more->ports.add("south", {.device = "net_null_s,no-rx=1"});
    more->interfaces.add("south", {.port = "south", .addresses = {*parse_prefix("10.0.4.254/24")}});
    ASSERT_TRUE(l.become(more));
    EXPECT_EQ(l.port("south").port_index, first);
    EXPECT_EQ(s->packets.ports(), bit_of(second));
    ASSERT_TRUE(l.become(l.with("", 1, "up")));
    EXPECT_EQ(s->packets.ports(), 0U);
    EXPECT_EQ(s->why(), "its ports are removed");
    l.worker().pause();
    l.controller().capturing().forget(1);
    l.worker().resume();
}

/// A capture that ended is freed only when workers copy no more for it, also where there was no memory to tell them at once.
TEST(reopen, a_capture_ends_without_memory) {
    null_lab l;
    auto s = std::make_shared<control::capture_session>(datapath::capture_filter{}, 1, 2);
    s->ports = {{.index = 0, .name = "west"}};
    s->tsc_hz = rte_get_tsc_hz();
    const auto pass_one = [&] {
        EXPECT_TRUE(l.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a09'0001}, udp({})))));
        l.settle();
    };
    l.worker().pause();
    ASSERT_TRUE(l.controller().capturing().begin(s, owned_fd(::memfd_create("capture", 0)), 1));
    l.worker().resume();
    pass_one();
    const uint64_t seen = s->packets.counted(0).seen;
    EXPECT_GT(seen, 0U);
    s->stop = true;
    while (!s->done) std::this_thread::yield();
    l.worker().pause();
    has_failed = false;
    fails_once = true;
    allocations_until_failure = 0;
    l.controller().capturing().tick(l.controller().ports());
    allocations_until_failure = never;
    EXPECT_TRUE(has_failed);
    l.controller().capturing().forget(1);
    l.worker().resume();
    pass_one();
    EXPECT_EQ(s->packets.counted(0).seen, seen);
}

TEST(reopen, an_optional_device_may_be_missing) {
    null_lab l;
    const auto wanted = [&](const std::string& arguments) {
        auto out = l.with(arguments);
        out->ports.find("north")->optional = true;
        return out;
    };
    const auto reload = [&](const std::string& arguments) {
        return l.become(wanted(arguments), {.all = true});
    };
    const auto look = [&] {
        control::control_calls calls;
        l.worker().pause();
        l.controller().open_absent(calls);
        l.worker().resume();
        l.controller().poll_links(1);
    };
    const auto expect_missing = [&] {
        const control::open_port& p = l.port("north");
        EXPECT_TRUE(p.lost);
        EXPECT_FALSE(p.state.link_up.load());
        const auto& shown = l.snapshot().port[p.port_index];
        EXPECT_EQ(shown.mac.bytes[0], 2) << "for its TAP and link-local address";
        for (const auto& q : l.snapshot().queues)
            for (const auto& rx : q.rx) EXPECT_NE(rx.port, p.port_index);
        EXPECT_EQ(l.controller().routing().routes().lookup(*parse_address("10.0.3.254")),
                  datapath::fixed_nexthop::local);
        EXPECT_EQ(l.egress_port("10.9.0.1"), 1);
    };
    const auto came = reload(",bogus=1");
    ASSERT_TRUE(came) << came.error().message();
    expect_missing();
    const auto life = l.port("north").life;
    const auto again = reload(",bogus=1");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_TRUE(again->empty()) << again->text();
    EXPECT_EQ(l.port("north").life, life);
    expect_missing();
    const auto refused = l.become(l.with(",bogus=1"), {.all = true});
    ASSERT_FALSE(refused) << "not optional";
    expect_missing();
    auto mistyped = wanted("");
    mistyped->ports.find("north")->device = "net_nul7";
    const auto unknown = l.become(std::move(mistyped), {.all = true});
    ASSERT_FALSE(unknown) << "no device that may come is called so";
    EXPECT_NE(unknown.error().text.find("'net_nul7' is neither a virtual device"),
              std::string::npos)
        << unknown.error().text;
    expect_missing();
    ASSERT_TRUE(reload(""));
    l.expect_open("north", "", 1);

    // Unplugged: the device is opened anew without a request. Changes meanwhile keep index and MAC address.
    l.worker().pause();
    rte_eth_dev_callback_process(&rte_eth_devices[l.port("north").device.id()],
                                 RTE_ETH_EVENT_INTR_RMV, nullptr);
    l.control();
    l.worker().resume();
    EXPECT_TRUE(l.port("north").lost);
    const uint16_t index = l.port("north").port_index;
    const mac_address mac = l.snapshot().port[index].mac;
    auto described = wanted(",bogus=1");
    described->ports.find("north")->description = "changed";
    ASSERT_TRUE(l.become(described));
    EXPECT_EQ(l.port("north").port_index, index);
    EXPECT_EQ(l.snapshot().port[index].state, &l.port("north").state);
    EXPECT_EQ(l.snapshot().port[index].mac, mac);
    ASSERT_TRUE(l.become(wanted("")));
    ASSERT_EQ(l.port("north").lost, false) << "another device: it is opened at once";
    l.worker().pause();
    rte_eth_dev_callback_process(&rte_eth_devices[l.port("north").device.id()],
                                 RTE_ETH_EVENT_INTR_RMV, nullptr);
    l.control();
    l.worker().resume();
    EXPECT_TRUE(l.port("north").lost);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (l.port("north").lost && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        look();
    }
    l.expect_open("north", "", 1);
}

/// A virtual function whose physical function changed its VLAN or MAC address forwards nothing until it is opened anew.
TEST(reopen, after_a_reset_of_the_device) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    l.worker().pause();
    rte_eth_dev_callback_process(&rte_eth_devices[l.port("north").device.id()],
                                 RTE_ETH_EVENT_INTR_RESET, nullptr);
    l.control();
    l.worker().resume();
    EXPECT_TRUE(l.port("north").lost);
    EXPECT_FALSE(l.port("north").state.link_up.load());
    const auto beside = [&](auto&& does) {
        control::control_calls calls;
        l.worker().pause();
        does(calls);
        l.worker().resume();
        l.controller().poll_links(1);
    };
    beside([&](auto& calls) { l.controller().close_vanished(calls); });
    // The first opening fails, as while the physical function is busy.
    ASSERT_EQ(rte_vdev_init("net_null_n", "size=100"), 0);
    beside([&](auto& calls) { l.controller().open_absent(calls); });
    EXPECT_TRUE(l.port("north").lost);
    ASSERT_EQ(rte_vdev_uninit("net_null_n"), 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (l.port("north").lost && std::chrono::steady_clock::now() < end) {
        beside([&](auto& calls) { l.controller().open_absent(calls); });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    l.expect_open("north", "", 1);
}

TEST(reopen, for_checksums_by_the_device) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    auto wanted = l.with("");
    wanted->ports.find("north")->device_sums_udp = true;
    const auto asked = l.become(wanted);
    ASSERT_TRUE(asked) << asked.error().message();
    EXPECT_EQ(asked->reopened, std::vector<std::string>{"north"});
    l.expect_open("north", "", 1);
}

TEST(reopen, under_another_name) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    const auto renamed = l.become(l.with("", 1, "up"));
    ASSERT_TRUE(renamed) << renamed.error().message();
    l.expect_open("up", "", 1);
    EXPECT_EQ(l.controller().ports().open().size(), 3U);
}

TEST(reopen, as_it_was_where_the_new_form_cannot_be) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    const auto changes = l.controller().report().changes;
    const auto refused = l.become(l.with(",bogus=1"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("bogus=1' cannot be opened"), std::string::npos)
        << refused.error().text;
    EXPECT_NE(refused.error().text.find("with reopened ports: 'north'"), std::string::npos)
        << refused.error().text;
    EXPECT_EQ(l.controller().report().changes, changes);
    l.expect_open("north", "", 1);
}

TEST(reopen, every_allocation_of_it_may_fail) {
    null_lab l;
    ASSERT_TRUE(l.become(l.with("")));
    unsigned refused = 0;
    for (long nth = 1;; ++nth) {
        auto wanted = l.with(",size=256", 2);
        l.worker().pause();
        has_failed = false;
        fails_once = true;
        allocations_until_failure = nth - 1;
        const auto applied = l.controller().apply(std::move(wanted));
        allocations_until_failure = never;
        l.worker().resume();
        l.controller().poll_links(1);
        l.expect_open("north", applied ? ",size=256" : "", applied ? 2 : 1);
        if (::testing::Test::HasFailure()) FAIL() << nth;
        if (!has_failed) {
            ASSERT_TRUE(applied) << applied.error().message();
            break;
        }
        refused += !applied;
        if (applied) {
            ASSERT_TRUE(l.become(l.with(""))) << nth;
        }
    }
    EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace turnpike
