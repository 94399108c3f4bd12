// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> the text of filter=FILE -> entries that the BPF program can rely on, or a complaint that
// names the file and says why.
#include <cstdio>
#include <cstdlib>

#include "filter.hpp"

#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            std::fprintf(stderr, "%d: not so: %s\n", __LINE__, #condition); \
            std::abort();                                                   \
        }                                                                   \
    } while (false)

namespace turnpike::xsk {
namespace {

void check_prefix(const xsk_filter_prefix& p) {
    for (int i = 0; i < 4; ++i) REQUIRE((p.address[i] & ~p.mask[i]) == 0);
}

void check_filter(const filter& f) {
    REQUIRE(!f.entries.empty() && f.entries.size() <= XSK_FILTER_MOST_ENTRIES);
    REQUIRE(f.where.size() == f.entries.size());
    uint64_t candidates = 0;
    for (const uint64_t row : f.candidates) candidates |= row;
    REQUIRE(candidates == ~uint64_t{0} >> (64 - f.entries.size()));
    for (const xsk_filter_entry& e : f.entries) {
        for (const auto& p : {e.address, e.source_address, e.destination_address}) check_prefix(p);
        for (const auto& r : {e.port, e.source_port, e.destination_port}) REQUIRE(r.low <= r.high);
    }
}

}  // namespace
}  // namespace turnpike::xsk

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = turnpike::xsk::read_filter(text, "fuzz.yaml");
    if (read) {
        turnpike::xsk::check_filter(*read);
    } else {
        REQUIRE(read.error().code == EINVAL);
        REQUIRE(read.error().object == "fuzz.yaml" ||
                read.error().object.starts_with("fuzz.yaml:"));
        REQUIRE(!read.error().text.empty());
    }
    return 0;
}
