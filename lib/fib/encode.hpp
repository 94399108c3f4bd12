// SPDX-License-Identifier: BSD-3-Clause
// Runs of slots to the bytes of layout.hpp: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "fib/layout.hpp"

namespace turnpike::fib {

/// What slots hold: id << 1, or a byte node's offset | layout::node_bit.
using slot_entry = uint32_t;

/// Neighbouring slots that hold the same.
struct slot_run {
    uint32_t last;  ///< slot
    slot_entry entry;
};

enum class node_kind : uint8_t { block, page, byte_node };

/// Bytes of a node.
/// runs   of equal ids; in a block all links look the same
/// links  of them slots that lead to byte nodes
uint32_t node_bytes(node_kind kind, unsigned runs, unsigned links, unsigned id_bytes) noexcept;

/// Write the node that holds these slots; returns its bytes.
/// runs  in order; the last one ends at slot 63 of a block, 255 of a byte node, 255 or 0 of a page
/// to    8-byte aligned, layout::max_node_bytes long, zeroed not needed
uint32_t encode_node(node_kind kind, std::span<const slot_run> runs, unsigned id_bytes,
                     uint8_t* to) noexcept;

/// Where the link of a slot that leads to a byte node lies.
uint32_t* node_link(node_kind kind, uint8_t* node, unsigned id_bytes, unsigned slot) noexcept;

}  // namespace turnpike::fib
