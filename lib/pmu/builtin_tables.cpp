// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "pmu/table.hpp"

namespace turnpike::pmu {

result<table> table_for(const cpu_model& m) {
    std::string families;
    for (const builtin_table& b : builtin_tables()) {
        auto t = parse_table(b.text, std::string(b.file));
        if (!t) return t;
        if (t->is_for(m)) return t;
        families += (families.empty() ? "" : ", ") + t->family;
    }
    return fail(
        ENOTSUP, to_string(m),
        fmt::format("there is no event table for this CPU; tables exist for {} (doc/measure.md "
                    "describes how to write one)",
                    families));
}

}  // namespace turnpike::pmu
