// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "pmu/event_name.hpp"
#include "unit/pmu/machine.hpp"

namespace turnpike::pmu {
namespace {

constexpr const char* families[] = {"amdzen4",  "amdzen5",        "broadwellx",
                                    "icelakex", "sapphirerapids", "skylakex"};

TEST(table, is_found_for_the_cpu_of_each_recorded_machine) {
    for (const std::string family : families) {
        const test::sysfs_tree tree(test::source_path("tests/data/pmu/" + family + ".tree"));
        const auto found = table_for(*read_cpu_model(tree.root()));
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->family, family);
        EXPECT_FALSE(found->sources.empty());
    }
    const auto none = table_for({"GenuineIntel", 6, 0x9e});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ENOTSUP);
    EXPECT_NE(none.error().message().find("GenuineIntel-6-9E: there is no event table"),
              std::string::npos);
}

/// Linux, arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c (X86_FEATURE_ZEN5, _ZEN6).
TEST(table, is_that_of_the_model_and_of_no_other) {
    struct {
        const char *vendor, *family;
        unsigned number;
        std::vector<std::pair<unsigned, unsigned>> models;
    } const rows[] = {
        {"GenuineIntel", "sapphirerapids", 6, {{0x8f, 0x8f}, {0xcf, 0xcf}}},
        {"AuthenticAMD", "amdzen5", 0x1a, {{0x00, 0x2f}, {0x40, 0x4f}, {0x60, 0x7f}}}};
    for (const builtin_table& b : builtin_tables()) {
        const table t = *parse_table(b.text, std::string(b.file));
        for (const auto& [vendor, family, number, models] : rows)
            for (unsigned model = 0; model <= 0xff; ++model) {
                const bool listed = std::ranges::any_of(
                    models, [m = model](const auto& r) { return r.first <= m && m <= r.second; });
                if (t.family != family && !listed) continue;  // another model's
                EXPECT_EQ(t.is_for({vendor, number, model}), t.family == family && listed)
                    << b.file << " model " << model;
            }
    }
}

/// The kernel gives Emerald Rapids the PMUs of Sapphire Rapids: such a machine under its own number.
TEST(table, of_sapphire_rapids_is_emerald_rapids_too) {
    test::sysfs_tree tree(test::source_path("tests/data/pmu/sapphirerapids.tree"));
    tree.put("devices/system/cpu/modalias: cpu:type:x86,ven0000fam0006mod00CF:feature:,0000,0001");
    const auto found = table_for(*read_cpu_model(tree.root()));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->family, "sapphirerapids");
    EXPECT_NE(found->summary.find("Emerald Rapids"), std::string::npos);
}

TEST(table, in_the_program_is_the_file_that_is_installed) {
    ASSERT_EQ(builtin_tables().size(), std::size(families));
    for (const builtin_table& b : builtin_tables()) {
        std::ifstream file(test::source_path("data/pmu") / b.file);
        std::stringstream text;
        text << file.rdbuf();
        EXPECT_EQ(b.text, text.str());
    }
}

TEST(table, has_no_event_that_no_metric_uses) {
    for (const builtin_table& b : builtin_tables()) {
        const table t = *parse_table(b.text, std::string(b.file));
        std::string names;
        for (const metric& m : t.metrics)
            for (const std::string& name : m.how.names()) names += " " + name + " ";
        for (const event& e : t.events)
            EXPECT_NE(names.find(" " + e.name + " "), std::string::npos) << b.file << " " << e.name;
    }
}

/// Each event can be encoded in the format fields of that CPU's kernel PMU.
TEST(table, speaks_the_formats_of_its_machine) {
    for (const std::string family : families) {
        const recorded_machine m(family);
        std::map<std::string, std::vector<format_term>> formats;
        for (const pmu_kind& kind : m.table.pmus) {
            const auto names = devices_of(m.tree.root(), kind.devices);
            ASSERT_FALSE(names.empty()) << family << " " << kind.name;
            formats[kind.name] = read_device(m.tree.root(), names[0])->formats;
        }
        for (const event& e : m.table.events) {
            const auto code = encode(formats[e.pmu], *parse_terms(e.config));
            EXPECT_TRUE(code) << family << " " << e.name << ": " << code.error().message();
        }
    }
}

struct known_to_libpfm {
    const char *family, *pmu;
    unsigned events;
};
// (Of AMD's it has other names.)
constexpr known_to_libpfm in_libpfm[] = {{"broadwellx", "bdw_ep", 25},
                                         {"skylakex", "skx", 15},
                                         {"icelakex", "icx", 15},
                                         {"sapphirerapids", "spr", 7}};

/// libpfm4 knows most core events by name: a second opinion on what their registers take.
TEST(table, agrees_with_libpfm4) {
    if (!knows_event_names()) GTEST_SKIP() << "built without libpfm4 (package libpfm4-dev)";
    for (const auto& [family, pmu, events] : in_libpfm) {
        const recorded_machine m(family);
        const auto cpu = *read_device(m.tree.root(), "cpu");
        unsigned compared = 0;
        for (const event& e : m.table.events) {
            std::string name = e.native;
            const size_t dot = name.find('.');
            // Fixed counters and their kin have numbers of their own there.
            if (e.pmu != "cpu" || e.fixed || name.find(':') != std::string::npos) continue;
            if (dot != std::string::npos) name[dot] = ':';
            const auto theirs = encode_name(std::string(pmu) + "::" + name);
            if (!theirs) continue;
            EXPECT_EQ(encode(cpu.formats, *parse_terms(e.config))->words[0], theirs->words[0])
                << family << " " << e.native;
            ++compared;
        }
        EXPECT_GE(compared, events) << family;
    }
}

std::string refusal(const std::string& from, const std::string& to) {
    std::string text =
        "family: small\nsummary: a test's\n"
        "cpus: [{vendor: GenuineIntel, family: 6, models: [1, 2]}]\nsource: [nothing]\n"
        "pmus:\n  cpu: {devices: cpu, counters: 4}\n"
        "events:\n  cycles: {pmu: cpu, config: \"event=0x3c\"}\n"
        "  more: {pmu: cpu, name: MORE.EVENTS, counters: [0, 1], leader: cycles}\n"
        "metrics:\n  ipc: {of: core, unit: ratio, level: 1, formula: \"more / cycles\"}\n"
        "  part: {of: core, unit: ratio, level: 2, parent: ipc, over: 0.5, formula: \"ipc / 2\"}\n";
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto t = parse_table(text, "small.yaml");
    return t ? "" : t.error().message();
}

TEST(table, that_is_wrong_is_refused_with_its_line) {
    struct row {
        const char *from, *to, *line, *part;
    };
    constexpr row rows[] = {
        {"summary", "sumary", ":2", "has no key 'sumary'"},
        {"[1, 2]", "[2, 1]", ":3", "from 2"},
        {"[1, 2]", "[1]", ":3", "the first and the last"},
        {"counters: 4", "counters: 0", ":6", "from 1 to 32"},
        {"pmu: cpu, config", "pmu: gpu, config", ":8", "one of this file's pmus"},
        {"event=0x3c", "event=", ":8", "is not an event"},
        {"config: \"event=0x3c\"", "fixed: true", ":8", "needs a name or a config"},
        {"cycles: {", "Cycles: {", ":8", "a letter first"},
        {"[0, 1]", "[]", ":9", "at least one"},
        {"leader: cycles", "leader: ipc", ":9", "an earlier event of the same PMU"},
        {"ipc: {of", "more: {of", ":11", "also the name of an event"},
        {"of: core", "of: instance", ":11", "must have a kind"},
        {"more / cycles", "more / part", ":11", "uses 'part', which is neither an event"},
        {"more / cycles", "more /", ":11", "is expected at"},
        {"parent: ipc", "parent: part", ":12", "of the previous level"},
        {"over: 0.5", "over: 2", ":12", "from 0 to 1"},
    };
    EXPECT_EQ(refusal("family", "family"), "");
    for (const row& r : rows) {
        const std::string expected_text = refusal(r.from, r.to);
        EXPECT_NE(expected_text.find(std::string("small.yaml") + r.line), std::string::npos)
            << r.to << ": " << expected_text;
        EXPECT_NE(expected_text.find(r.part), std::string::npos) << r.to << ": " << expected_text;
    }
}

}  // namespace
}  // namespace turnpike::pmu
