// SPDX-License-Identifier: BSD-3-Clause
// Rules of an ACL that almost matched a packet: all of their conditions but one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/explanation.hpp"
#include "state/acl.hpp"

namespace turnpike::control {

struct near_miss {
    size_t rule = 0;           ///< index in the list
    std::string_view field{};  ///< the condition's key (doc/acl.md)
    std::string packet{};      ///< the packet's value of it
};

/// The condition that does not match: its key, and the packet's value. Empty key: all match.
struct mismatch {
    std::string_view field{};
    std::string packet{};
    unsigned more = 0;          ///< further conditions that do not match
    unsigned matched_bits = 0;  ///< bits of the key that the matching conditions fix
};
/// Requires  a rule of the packet's family, or an L2 rule
[[nodiscard]] mismatch compare(const state::acl_rule& r, bool l2,
                               const datapath::acl_packet& packet);

/// Rules with the other action above the deciding rule, the ones with the most matching bits first.
/// decided  index of the deciding rule; number of rules: the default
/// most     maximum of results
[[nodiscard]] std::vector<near_miss> near_misses(const state::acl_list& list, size_t decided,
                                                 const datapath::acl_packet& packet, size_t most);

}  // namespace turnpike::control
