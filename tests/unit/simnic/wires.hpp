// SPDX-License-Identifier: BSD-3-Clause
// Frames out of a wire, into it, and its counters.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "wire/wire.hpp"

namespace turnpike::simnic::test {

using frame = std::vector<uint8_t>;

/// Empty: none is due.
inline frame next_frame(wire& w, uint64_t now = 0) {
    outgoing out;
    if (w.peek(now, {&out, 1}) == 0) return {};
    frame copy(out.bytes, out.bytes + out.length);
    w.pop(1);
    return copy;
}

inline void inject(wire& w, const frame& f) {
    const outgoing one{f.data(), static_cast<uint32_t>(f.size())};
    w.send({&one, 1});
}

inline uint64_t count(const wire& w, std::string_view name) {
    wire_count all[max_wire_counts];
    const size_t n = w.counts(all);
    for (size_t i = 0; i < n; ++i)
        if (all[i].name == name) return all[i].value;
    ADD_FAILURE() << "no count " << name;
    return 0;
}

}  // namespace turnpike::simnic::test
