// SPDX-License-Identifier: BSD-3-Clause
// FNV-1a of 64 bits (RFC 9923): a hash that no release changes. Not against intended collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike {

[[nodiscard]] constexpr uint64_t fnv1a(std::string_view text) noexcept {
    uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01b3;
    return hash;
}

}  // namespace turnpike
