// SPDX-License-Identifier: BSD-3-Clause
// Destinations of a routing table: addresses drawn from the prefixes of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/ip.hpp"

namespace turnpike::throughput {

class destination_list {
  public:
    /// text   a prefix at the start of each line; further words, empty lines and lines with # are ignored, prefixes of the other
    ///        family, 0.0.0.0/0, ::/0 and networks without unicast hosts are skipped
    /// flows  an address for each: of a prefix drawn at random, with random host bits; addresses without
    ///        unicast hosts in a wider prefix are drawn again
    /// seed   the same text, flows and seed give the same addresses
    /// Errors  EINVAL: a line that does not begin with a prefix (the object is file:line); no prefix
    [[nodiscard]] static result<std::shared_ptr<const destination_list>> draw(
        std::string_view text, const std::string& file, bool ipv6, uint32_t flows, uint64_t seed);

    [[nodiscard]] uint32_t v4(uint32_t flow) const noexcept { return v4_[flow]; }
    [[nodiscard]] const ipv6_address& v6(uint32_t flow) const noexcept { return v6_[flow]; }
    [[nodiscard]] bool has(const ip_address& a) const noexcept;
    [[nodiscard]] size_t prefixes() const noexcept { return prefixes_; }

  private:
    std::vector<uint32_t> v4_{};
    std::vector<ipv6_address> v6_{};
    std::vector<ip_address> sorted_{};
    size_t prefixes_ = 0;
};

}  // namespace turnpike::throughput
