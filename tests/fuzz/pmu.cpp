// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> what the kernel writes into a PMU's files, a table of events, a recording: plain data in
// bounds, or a complaint. The first byte says which.
#include <vector>

#include "lib/require.hpp"
#include "pmu/replay_source.hpp"
#include "pmu/table.hpp"

namespace turnpike::pmu {
namespace {

void check_format(std::string_view text) {
    const auto term = parse_format("event", text);
    if (!term) return;
    REQUIRE(term->word < attribute_words && term->width() >= 1 && term->width() <= 64);
    for (const bit_range& r : term->bits) REQUIRE(r.low <= r.high && r.high <= 63);
    // The widest value goes into these bits and into no others.
    const uint64_t widest = term->width() == 64 ? ~uint64_t{0} : (uint64_t{1} << term->width()) - 1;
    const auto code = encode({*term}, {{"event", widest}});
    REQUIRE(code.has_value());
    uint64_t bits = 0;
    for (const bit_range& r : term->bits)
        bits |= (~uint64_t{0} >> (63 - (r.high - r.low))) << r.low;
    REQUIRE(code->words[term->word] == bits);
}

void check_cpus(std::string_view text) {
    const auto cpus = parse_cpu_list(text);
    if (!cpus) return;
    REQUIRE(cpus->size() <= max_cpus);
    std::vector<bool> seen(max_cpus);
    for (const unsigned cpu : *cpus) {
        REQUIRE(cpu < max_cpus && !seen[cpu]);
        seen[cpu] = true;
    }
}

void check_table(std::string_view text) {
    const auto t = parse_table(text, "fuzz.yaml");
    if (!t) {
        REQUIRE(t.error().code == EINVAL && t.error().object.starts_with("fuzz.yaml"));
        return;
    }
    for (const event& e : t->events) REQUIRE(t->find_pmu(e.pmu) != nullptr && e.counters != 0);
    for (const metric& m : t->metrics) {
        const auto value = m.how.value([](const std::string&) { return result<double>(2.0); });
        REQUIRE(value.has_value() || value.error().code == ERANGE);
    }
}

void check(unsigned which, std::string_view text) {
    switch (which % 6) {
        case 0:
            return check_format(text);
        case 1:
            return check_cpus(text);
        case 2:
            return check_table(text);
        case 3:
            if (const auto model = parse_modalias(text))
                REQUIRE(!model->vendor.empty() && model->family <= 0xffff);
            return;
        case 4:
            if (const auto bus = parse_root_bus(text)) REQUIRE(*parse_root_bus(*bus) == *bus);
            return;
        default:
            (void)replay_source::parse(text, "fuzz.yaml");
    }
}

}  // namespace
}  // namespace turnpike::pmu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0)
        turnpike::pmu::check(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
    return 0;
}
