// SPDX-License-Identifier: BSD-3-Clause
// Painted slots to the bytes of layout.hpp: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "fib/layout.hpp"

namespace turnpike::fib {

/// One painted slot: an entry as in a byte node, id << 1 | 1 or a node's offset.
using slot_entry = uint32_t;

/// Bytes of the IPv4 block / byte node that holds these slots; not yet rounded up.
/// slots  [64] / [256]
uint32_t block_bytes(std::span<const slot_entry> slots, unsigned id_bytes) noexcept;
uint32_t byte_node_bytes(std::span<const slot_entry> slots) noexcept;

/// Write it. `to` is 16-byte aligned, zeroed not needed, as long as *_bytes() said.
void encode_block(std::span<const slot_entry> slots, unsigned id_bytes, uint8_t* to) noexcept;
void encode_byte_node(std::span<const slot_entry> slots, uint8_t* to) noexcept;

/// Where the entry of an escaping slot / of a slot that is a child lies.
uint32_t* block_child(uint8_t* block, unsigned id_bytes, unsigned at) noexcept;
uint32_t* byte_node_child(uint8_t* node, unsigned at) noexcept;

}  // namespace turnpike::fib
