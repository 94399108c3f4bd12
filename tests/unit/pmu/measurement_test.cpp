// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/measurement.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "pmu/perf_source.hpp"
#include "pmu/shared_source.hpp"
#include "unit/pmu/machine.hpp"

namespace turnpike::pmu {
namespace {

std::string why(const result<measured>& v) { return v ? "" : v.error().message(); }

TEST(measurement, scales_what_did_not_run_all_the_time_and_says_so) {
    recorded_machine m("broadwellx");
    m.counts({{"cpu", {{"cycles", 2000}, {"instructions", 3000}, {"tsc_cycles", 1000}}}},
             "shares: {cpu: 25}\n");
    const measurement core = counted(measurement::of_core(m.on(), {.cpu = 1}));
    const auto cpp = core.value("core_cpp", {{"packets", 100}});
    ASSERT_TRUE(cpp) << why(cpp);
    EXPECT_DOUBLE_EQ(cpp->value, 80);  // 2000 in a quarter of the time
    EXPECT_DOUBLE_EQ(cpp->share, 0.25);
    EXPECT_DOUBLE_EQ(core.value("ipc", {})->value, 1.5);
}

TEST(measurement, never_makes_0_of_what_is_not_there) {
    recorded_machine m("broadwellx");
    m.counts({{"cpu", {{"cycles", 2000}, {"instructions", 3000}}}});
    const measurement core = counted(measurement::of_core(m.on(), {.cpu = 1}));
    EXPECT_TRUE(core.value("ipc", {}));
    EXPECT_NE(why(core.value("retiring", {{"smt", 0.0}}))
                  .find("cpu/uops_retired: this CPU (or virtual machine)"),
              std::string::npos)
        << why(core.value("retiring", {{"smt", 0.0}}));
    EXPECT_NE(why(core.value("ipp", {})).find("ipp: packets is not known"), std::string::npos);
    EXPECT_EQ(core.value("ipp", {{"packets", 0.0}}).error().code, ERANGE);
    EXPECT_EQ(core.value("nonsense", {}).error().code, ENOENT);
    EXPECT_EQ(core.value("dram_mb_s", {{"seconds", 1.0}}).error().code, ENOENT);
    EXPECT_EQ(core.why(), nullptr);
}

TEST(measurement, whose_counters_never_ran_says_so) {
    recorded_machine m("broadwellx");
    m.counts({{"cpu", {{"cycles", 2000}, {"instructions", 3000}}}}, "shares: {cpu: 0}\n");
    measurement core = measurement::of_core(m.on(), {.cpu = 1});
    core.start();
    EXPECT_NE(why(core.value("ipc", {})).find("not counted yet"), std::string::npos);
    core.read();
    EXPECT_NE(why(core.value("ipc", {})).find("other programs use"), std::string::npos);
}

TEST(measurement, that_is_not_permitted_says_what_to_do) {
    recorded_machine m("icelakex");
    m.counts({}, "refused: {cpu: 13, uncore_iio_2: 1}\n");
    const measurement core = counted(measurement::of_core(m.on(), {.cpu = 1}));
    ASSERT_NE(core.why(), nullptr);
    EXPECT_NE(core.why()->message().find("CAP_PERFMON"), std::string::npos)
        << core.why()->message();
    EXPECT_NE(core.why()->message().find("perf_event_paranoid, now"), std::string::npos);
    const measurement io = counted(*measurement::of_device(m.on(), "0000:3b:00.0"));
    EXPECT_EQ(io.value("read_latency_ns", {{"seconds", 1.0}}).error().code, EPERM);
}

TEST(measurement, of_a_machine_without_pmu_has_one_reason) {
    recorded_machine m("amdzen4");
    m.counts({});
    const test::sysfs_tree tree(test::source_path("tests/data/pmu/virtual.tree"));
    const machine on{tree.root(), m.source.get(), &m.table};
    const measurement core = counted(measurement::of_core(on, {.cpu = 0}));
    ASSERT_NE(core.why(), nullptr);
    EXPECT_EQ(
        core.why()->message(),
        "cpu: this kernel has no such PMU (a virtual machine without one, or its driver is not "
        "loaded) (No such file or directory)");
    for (const metric* const asked : core.metrics())
        EXPECT_FALSE(core.value(asked->name, {{"packets", 1.0}, {"smt", 0.0}, {"tsc_ghz", 1.0}}))
            << asked->name;
}

TEST(measurement, of_a_device_is_its_stack_and_its_socket) {
    recorded_machine m("icelakex");
    std::map<std::string, std::map<std::string, uint64_t>> counts;
    for (const event& e : m.table.events)
        for (const std::string& name : devices_of(m.tree.root(), m.table.find_pmu(e.pmu)->devices))
            counts[name][e.name] = name.ends_with("_2") ? 6400 : 100;
    m.counts(counts);
    const measurement io = counted(*measurement::of_device(m.on(), "0000:3b:00.0"));
    ASSERT_TRUE(io.iio_stack());
    EXPECT_EQ(io.iio_stack()->device, "uncore_iio_2");
    EXPECT_DOUBLE_EQ(io.value("rd_cur", {})->value, 6400);  // of uncore_iio_2 alone
    // Misses of two caching agents over requests of all four ring ports.
    EXPECT_DOUBLE_EQ(io.value("read_l3_miss", {})->value, 200.0 / (6400 + 300));
    EXPECT_DOUBLE_EQ(io.value("dram_read_mb_s", {{"seconds", 1.0}})->value, 200 * 64 / 1e6);
    EXPECT_EQ(io.instances("imc"), (std::vector<std::string>{"uncore_imc_0", "uncore_imc_1"}));
    const measurement other = counted(*measurement::of_device(m.on(), "0000:d8:00.0"));
    EXPECT_DOUBLE_EQ(other.value("rd_cur", {})->value, 100);
    EXPECT_EQ(measurement::of_device(m.on(), "0000:99:00.0").error().code, ENODEV);
}

TEST(measurement, of_a_device_without_a_stack_still_has_the_socket) {
    recorded_machine m("skylakex");
    m.tree.put("bus/event_source/devices/uncore_iio_2/die0: 0000:ff");
    m.counts({{"uncore_imc_0", {{"cas_read", 1000}, {"cas_write", 0}}},
              {"uncore_imc_1", {{"cas_read", 1000}, {"cas_write", 0}}}});
    const measurement io = counted(*measurement::of_device(m.on(), "0000:3b:00.0"));
    EXPECT_NE(why(io.value("rd_cur", {})).find("no IIO stack is mapped"), std::string::npos);
    EXPECT_DOUBLE_EQ(io.value("dram_read_mb_s", {{"seconds", 1.0}})->value, 0.128);
}

/// The kernel itself, with any set of counters: a count that is right, or a sentence.
TEST(perf_source, counts_or_says_why_not) {
    recorded_machine m("amdzen4");
    perf_source kernel;
    const measurement core =
        counted(measurement::of_core({"/sys", &kernel, &m.table}, {.thread = 0}));
    const auto ipc = core.value("ipc", {});
    if (ipc)
        EXPECT_GT(ipc->value, 0);
    else
        EXPECT_GT(why(ipc).size(), 30u) << why(ipc);
    // A software event of every kernel: the time this thread ran.
    const device software{.name = "software", .type = 1};
    const coded_event clock{.name = "task_clock", .code = {{1, 0, 0}}};
    auto group = kernel.open(software, std::span(&clock, 1), {.thread = 0});
    if (!group && (group.error().code == EACCES || group.error().code == EPERM))
        GTEST_SKIP() << group.error().message();
    ASSERT_TRUE(group) << group.error().message();
    reading before, after;
    ASSERT_TRUE((*group)->read(std::span(&before, 1)));
    for (volatile int i = 0; i < 100000;) i = i + 1;
    ASSERT_TRUE((*group)->read(std::span(&after, 1)));
    EXPECT_GT(after.value, before.value);
    EXPECT_GT(after.running_ns, before.running_ns);
    const auto missing =
        kernel.open({.name = "nothing", .type = 12345}, std::span(&clock, 1), {.thread = 0});
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message().find("nothing/task_clock"), std::string::npos);
}

TEST(replay_source, that_is_wrong_is_refused_with_its_line) {
    for (const auto& [text, part] :
         std::map<const char*, const char*>{{"seconds: 0", "rec.yaml:1"},
                                            {"counters: [1]", "should be a map"},
                                            {"counters: {cpu: 3}", "should be a map"},
                                            {"counters:\n  cpu: {cycles: -1}", "rec.yaml:2"},
                                            {"shares: {cpu: 101}", "from 0 to 100"},
                                            {"refused: {cpu: EACCES}", "from 1 to 4095"},
                                            {"reads: 3", "no key 'reads'"}}) {
        const auto wrong = replay_source::parse(text, "rec.yaml");
        ASSERT_FALSE(wrong) << text;
        EXPECT_NE(wrong.error().message().find(part), std::string::npos) << wrong.error().message();
    }
}

/// Without an IIO stack, the device's node determines the socket.
TEST(measurement, of_a_device_is_of_its_socket_where_a_cpu_is_offline) {
    recorded_machine m("amdzen5");
    m.counts({});
    const auto offline = [&](const char* cpu) {
        std::filesystem::remove_all(m.tree.root() / "devices/system/cpu" / cpu / "topology");
    };
    offline("cpu3");
    EXPECT_TRUE(measurement::of_device(m.on(), "0000:c1:00.0"));
    offline("cpu2");
    const auto none = measurement::of_device(m.on(), "0000:c1:00.0");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find("the socket of NUMA node 1 is unknown"),
              std::string::npos)
        << none.error().message();
}

/// Counters that all have the value of one clock.
class clock_source : public counter_source {
  public:
    class group : public counter_group {
      public:
        explicit group(clock_source& of) : of_(of) { ++of_.open_groups; }
        ~group() override { --of_.open_groups; }
        [[nodiscard]] result<void> read(std::span<reading> out) override {
            for (reading& r : out) r = {of_.now, of_.now, of_.now - of_.stood_still};
            return {};
        }

      private:
        clock_source& of_;
    };
    [[nodiscard]] result<std::unique_ptr<counter_group>> open(const device&,
                                                              std::span<const coded_event>,
                                                              target) override {
        return std::make_unique<group>(*this);
    }
    uint64_t now = 0, stood_still = 0;
    int open_groups = 0;
};

TEST(measurement, that_is_resumed_excludes_what_was_counted_meanwhile) {
    recorded_machine m("icelakex");
    clock_source source;
    measurement core = measurement::of_core({m.tree.root(), &source, &m.table}, {.cpu = 1});
    source.now = 1000;
    core.start();
    source.now = 1500;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 500);
    source.now = 9000;
    core.resume();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 500);
    source.now = 9200;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 700);
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->share, 1);
}

/// The share of a period scales its counts. With the share of the whole time, the second reading would be less than the first.
TEST(measurement, scales_each_period_by_itself) {
    recorded_machine m("icelakex");
    clock_source source;
    measurement core = measurement::of_core({m.tree.root(), &source, &m.table}, {.cpu = 1});
    core.start();
    source.now = 100;
    source.stood_still = 90;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1000);
    source.now = 200;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1100);
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->share, 110.0 / 200);
    source.now = 300;
    source.stood_still += 100;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1100) << "it did not run";
    source.now = 400;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1300) << "100 in half of 200 ns";
}

TEST(measurement, has_values_since_a_mark) {
    recorded_machine m("icelakex");
    clock_source source;
    measurement core = measurement::of_core({m.tree.root(), &source, &m.table}, {.cpu = 1});
    core.start();
    source.now = 1000;
    core.read();
    core.show_since_mark(true);
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1000) << "nothing was marked";
    core.mark();
    EXPECT_FALSE(core.value("cycles", {}));
    source.now = 1300;
    core.read();
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 300);
    core.show_since_mark(false);
    EXPECT_DOUBLE_EQ(core.value("cycles", {})->value, 1300);
}

/// Two functions of one device, whose stack and socket have each counter once.
TEST(shared_source, opens_the_same_counters_once_and_closes_them_with_the_last_user) {
    recorded_machine m("icelakex");
    auto owned = std::make_unique<clock_source>();
    clock_source& source = *owned;
    shared_source shared(std::move(owned));
    const machine on{m.tree.root(), &shared, &m.table};
    auto first = measurement::of_device(on, "0000:3b:00.0");
    ASSERT_TRUE(first);
    const int opened = source.open_groups;
    EXPECT_GT(opened, 0);
    first->start();
    source.now = 100;
    auto second = measurement::of_device(on, "0000:3b:00.1");
    ASSERT_TRUE(second);
    EXPECT_EQ(source.open_groups, opened);
    second->start();
    source.now = 300;
    first->read();
    second->read();
    EXPECT_DOUBLE_EQ(first->value("rd_cur", {})->value, 300);
    EXPECT_DOUBLE_EQ(second->value("rd_cur", {})->value, 200);
    first = tl::unexpected<error>(error{ENODEV, "", "closed"});
    EXPECT_EQ(source.open_groups, opened);
    auto other = measurement::of_device(on, "0000:d8:00.0");
    ASSERT_TRUE(other);
    EXPECT_GT(source.open_groups, opened) << "the other socket";
    other = tl::unexpected<error>(error{ENODEV, "", "closed"});
    second = tl::unexpected<error>(error{ENODEV, "", "closed"});
    EXPECT_EQ(source.open_groups, 0);
}

}  // namespace
}  // namespace turnpike::pmu
