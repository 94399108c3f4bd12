// SPDX-License-Identifier: BSD-3-Clause
// Divides rules into groups by bytes of the key: every key has one group, which has all rules that it may match.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// A byte of the key: bits [shift, shift + 8) of a word.
struct key_byte {
    unsigned word, shift;
};

struct rule_groups {
    /// By a byte's value: the number of a node, or of a group.
    struct child {
        uint32_t number;
        bool group;
    };
    struct node {
        key_byte byte;
        std::array<child, 256> children;
    };
    child root;
    std::vector<node> nodes;
    std::vector<std::vector<uint32_t>> groups;  ///< indices of rules, in order
    uint32_t levels = 0;                        ///< nodes on the longest way to a group
    uint64_t copies = 0;                        ///< rules of all groups
};

/// rules  highest priority first
/// bytes  of the key, for nodes; ports: the high bytes
/// most   rules of a group
/// parts  1, or 2: of the rules that match few values of some byte, and of the others
/// Answers  nothing if there is no such division with few copies
/// Throws  std::bad_alloc
template <unsigned Words>
std::vector<rule_groups> divide(std::span<const packed_rule<Words>> rules,
                                std::span<const key_byte> bytes, size_t most, unsigned parts);

}  // namespace turnpike::acl
