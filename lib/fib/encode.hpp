// SPDX-License-Identifier: BSD-3-Clause
// Encodes runs of slots in the format of layout.hpp: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "fib/layout.hpp"

namespace turnpike::fib {

/// A slot's value: id << 1, or the offset of a host or byte node | layout::node_bit.
using slot_entry = uint32_t;

/// Adjacent slots with the same value.
struct slot_run {
    uint32_t last;  ///< slot
    slot_entry entry;
};

enum class node_kind : uint8_t { block, host_node, page, byte_node };

/// Size of a node in bytes.
///
/// runs   of equal IDs; in a block all links count as equal
/// links  slots among them that lead to host nodes or byte nodes
uint32_t node_bytes(node_kind kind, unsigned runs, unsigned links, unsigned id_bytes) noexcept;

/// Write the node for these slots; returns its size in bytes.
///
/// runs  in order; the last one ends at slot 63 of a block, 255 of a host or byte node, 255 or 0 of a page
/// to    8-byte aligned, layout::max_node_bytes long, need not be zeroed
uint32_t encode_node(node_kind kind, std::span<const slot_run> runs, unsigned id_bytes,
                     uint8_t* to) noexcept;

/// Address of the link of a slot that leads to another node.
uint32_t* node_link(node_kind kind, uint8_t* node, unsigned id_bytes, unsigned slot) noexcept;

}  // namespace turnpike::fib
