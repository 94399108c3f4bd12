// SPDX-License-Identifier: BSD-3-Clause
// Painted slots to the bytes of layout.hpp: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "fib/layout.hpp"

namespace turnpike::fib {

/// One painted slot: id << 1, or a byte node's offset | layout::node_bit.
using slot_entry = uint32_t;

enum class node_kind : uint8_t { block, page, byte_node };

/// Write the node that holds these slots; returns its bytes.
/// slots  [64] of a block, [256] of a byte node, [256] or [1] of a page
/// to     8-byte aligned, layout::max_node_bytes long, zeroed not needed
uint32_t encode_node(node_kind kind, std::span<const slot_entry> slots, unsigned id_bytes,
                     uint8_t* to) noexcept;

/// Where the link of a slot that leads to a byte node lies.
uint32_t* node_link(node_kind kind, uint8_t* node, unsigned id_bytes, unsigned slot) noexcept;

}  // namespace turnpike::fib
