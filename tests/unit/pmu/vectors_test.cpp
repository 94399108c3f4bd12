// SPDX-License-Identifier: BSD-3-Clause
// Every metric of every table, computed as turnpike does and by the formulas of the documents that
// they come from (make_vectors.py).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "unit/pmu/machine.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::pmu {
namespace {

using yaml::node;

double number(const node& n) { return std::stod(std::string(n.text())); }

/// The counts of a vector on a machine: what stacks, channels and links count is on the one that is
/// asked about; what caching agents count is divided among them.
std::map<std::string, std::map<std::string, uint64_t>> placed(const recorded_machine& m,
                                                              const node& counts) {
    std::map<std::string, std::map<std::string, uint64_t>> out;
    for (const event& e : m.table.events) {
        const auto at = counts.find(e.native);
        EXPECT_TRUE(at) << e.native;
        uint64_t n = at ? static_cast<uint64_t>(number(*at)) : 0;
        const std::string kind = m.table.find_pmu(e.pmu)->devices;
        const auto names = devices_of(m.tree.root(), kind);
        const bool divided = kind == "uncore_cha" || kind == "uncore_cbox";
        const std::string chosen =
            kind == "uncore_iio" || kind == "uncore_irp" ? kind + "_2" : names[0];
        for (const std::string& name : names)
            if (divided && name != names[0]) n -= out[name][e.name] = n / 3;
        for (const std::string& name : names)
            if (!divided || name == names[0]) out[name][e.name] = name == chosen ? n : 0;
    }
    return out;
}

void check(const node& vector, std::map<std::string, std::set<std::string>>& seen) {
    const std::string family(vector.find("family")->text());
    recorded_machine m(family);
    const node given = *vector.find("given");
    m.tree.put("devices/system/cpu/smt/active: " + std::string(given.find("smt")->text()));
    m.counts(placed(m, *vector.find("counts")), "seconds: 2\n");
    given_values values{{"seconds", number(*given.find("seconds"))},
                        {"packets", number(*given.find("packets"))},
                        {"smt", number(*given.find("smt"))},
                        {"tsc_ghz", number(*given.find("tsc_mhz")) / 1000},
                        {"link_max_mb_s", 64000},
                        {"dram_max_mb_s", number(*given.find("dram_max_mb_s"))}};
    const measurement core = counted(measurement::of_core(m.on(), {.cpu = 0}));
    const bool has_stacks = m.table.find_pmu("iio") != nullptr;
    const measurement io = counted(has_stacks ? *measurement::of_device(m.on(), "0000:3b:00.0")
                                              : measurement::of_socket(m.on(), 0));
    for (const node name : vector.find("expect")->children()) {
        const std::string key(name.text());
        const metric* const asked = m.table.find_metric(key);
        ASSERT_NE(asked, nullptr) << family << " has no " << key;
        const measurement& of = asked->of == scope::core ? core : io;
        const std::string instance =
            asked->of == scope::instance ? of.instances(asked->kind)[0] : "";
        const auto value = of.value(key, values, instance);
        ASSERT_TRUE(value) << family << " " << key << ": " << value.error().message();
        const double expected = number(name.value());
        EXPECT_NEAR(value->value, expected, std::abs(expected) * 1e-9) << family << " " << key;
        EXPECT_EQ(value->share, 1.0) << family << " " << key;
        seen[family].insert(key);
    }
}

TEST(vectors, of_every_metric_come_out) {
    const auto text = yaml::read_file(test::source_path("tests/data/pmu/vectors.yaml"));
    ASSERT_TRUE(text) << text.error().message();
    const auto document = yaml::parse_yaml(*text, "vectors.yaml");
    ASSERT_TRUE(document) << document.error().message();
    std::map<std::string, std::set<std::string>> seen;
    for (const node vector : node(*document).children()) check(vector, seen);
    for (const builtin_table& b : builtin_tables()) {
        const table t = *parse_table(b.text, std::string(b.file));
        for (const metric& m : t.metrics)
            EXPECT_TRUE(seen[t.family].contains(m.name))
                << t.family << " " << m.name << " has no vector";
    }
}

}  // namespace
}  // namespace turnpike::pmu
