// SPDX-License-Identifier: BSD-3-Clause
#include "tunnel/kernel/find.hpp"
#include "tunnel/kernel/find.inl.hpp"

namespace {

struct words {
    static constexpr uint32_t lanes = 1, vectors = 4;
    uint64_t v;
    static words all(uint64_t x) noexcept { return {x}; }
    static words load(const uint64_t* from) noexcept { return {*from}; }
    static void store(uint64_t* to, words a) noexcept { *to = a.v; }
    static words pick(words a, words b, words c, words d) noexcept {
        return {a.v | (d.v & (uint64_t{0} - uint64_t{b.v == c.v}))};
    }
    static words differ(words a, words b, words c) noexcept { return {a.v | (b.v ^ c.v)}; }
    static uint32_t nonzero(words a) noexcept { return a.v != 0; }
};

}  // namespace

namespace turnpike::tunnel::scalar {

uint32_t find(const last_endpoints& last, const uint64_t* mark, uint64_t* value,
              uint32_t n) noexcept {
    return find_burst<words>(last, mark, value, n);
}

bool same(const uint64_t* key, uint32_t n) noexcept { return all_same<words>(key, n); }

}  // namespace turnpike::tunnel::scalar
