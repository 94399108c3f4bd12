// SPDX-License-Identifier: BSD-3-Clause
// What the tests of lib/pmu measure: a recorded sysfs, a table, and counts that are given.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lib/source_tree.hpp"
#include "lib/sysfs_tree.hpp"
#include "pmu/measurement.hpp"
#include "pmu/replay_source.hpp"

namespace turnpike::pmu {

class recorded_machine {
  public:
    explicit recorded_machine(const std::string& family)
        : tree(test::source_path("tests/data/pmu/" + family + ".tree")) {
        auto found = load_table(test::source_path("data/pmu/" + family + ".yaml"));
        EXPECT_TRUE(found) << found.error().message();
        if (found) table = std::move(*found);
    }

    /// counts  {PMU in sysfs: {event: count}}
    void counts(const std::map<std::string, std::map<std::string, uint64_t>>& counts,
                const std::string& more = "") {
        std::string yaml = more + "counters:\n";
        for (const auto& [pmu, events] : counts) {
            yaml += "  " + pmu + ":\n";
            for (const auto& [event, n] : events)
                yaml += "    " + event + ": " + std::to_string(n) + "\n";
        }
        auto parsed = replay_source::parse(yaml, "counts");
        ASSERT_TRUE(parsed) << parsed.error().message();
        source = std::make_unique<replay_source>(std::move(*parsed));
    }
    [[nodiscard]] machine on() const { return {tree.root(), source.get(), &table}; }

    test::sysfs_tree tree;
    pmu::table table{};
    std::unique_ptr<replay_source> source{};
};

/// Counted once, from the beginning to the end of the recording.
inline measurement counted(measurement m) {
    m.start();
    m.read();
    return m;
}

}  // namespace turnpike::pmu
