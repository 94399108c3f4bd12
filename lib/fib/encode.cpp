// SPDX-License-Identifier: BSD-3-Clause
#include "fib/encode.hpp"

#include <bit>
#include <cstring>

namespace turnpike::fib {
namespace {

bool escapes(slot_entry s) { return (s & layout::leaf_bit) == 0; }

/// All children look the same inside a block: its ids say only "escape".
bool same_run(slot_entry a, slot_entry b) { return a == b || (escapes(a) && escapes(b)); }

uint64_t escape_slots(std::span<const slot_entry> slots) {
    uint64_t set = 0;
    for (unsigned i = 0; i < slots.size(); ++i) set |= uint64_t{escapes(slots[i])} << i;
    return set;
}

/// Bit i: slot i is the last of its run.
uint64_t block_run_ends(std::span<const slot_entry> slots) {
    uint64_t ends = uint64_t{1} << (layout::block_slots - 1);
    for (unsigned i = 0; i + 1 < slots.size(); ++i)
        ends |= uint64_t{!same_run(slots[i], slots[i + 1])} << i;
    return ends;
}

void put(uint8_t* to, uint32_t id, unsigned id_bytes) {
    std::memcpy(to, &id, id_bytes);  // little-endian: the low bytes come first
}

unsigned runs_from(uint64_t ends, unsigned at) {
    return static_cast<unsigned>(std::popcount(ends >> at));
}

}  // namespace

uint32_t block_bytes(std::span<const slot_entry> slots, unsigned id_bytes) noexcept {
    const auto runs = static_cast<unsigned>(std::popcount(block_run_ends(slots)));
    const auto children = static_cast<unsigned>(std::popcount(escape_slots(slots)));
    if (children != 0) return layout::escapes_at(id_bytes, runs) + 8 + 4 * children;
    return id_bytes == 1 ? layout::block_slots : layout::block_runs_at + id_bytes * runs;
}

void encode_block(std::span<const slot_entry> slots, unsigned id_bytes, uint8_t* to) noexcept {
    const uint64_t ends = block_run_ends(slots);
    const unsigned runs = runs_from(ends, 0);
    const uint32_t escape = layout::escape_id(id_bytes);
    if (id_bytes != 1) std::memcpy(to, &ends, sizeof ends);
    for (unsigned i = 0; i < slots.size(); ++i) {
        const uint32_t id = escapes(slots[i]) ? escape : slots[i] >> 1;
        if (id_bytes == 1)
            to[i] = static_cast<uint8_t>(id);
        else if (ends >> i & 1)
            put(to + layout::block_runs_at + (runs_from(ends, i) - 1) * id_bytes, id, id_bytes);
    }
    const uint64_t escaping = escape_slots(slots);
    if (escaping == 0) return;
    uint8_t* tail = to + layout::escapes_at(id_bytes, runs);
    std::memcpy(tail, &escaping, sizeof escaping);
    tail += sizeof escaping;
    for (const slot_entry s : slots)
        if (escapes(s)) {
            std::memcpy(tail, &s, sizeof s);
            tail += sizeof s;
        }
}

uint32_t* block_child(uint8_t* block, unsigned id_bytes, unsigned at) noexcept {
    uint64_t ends = 0;
    if (id_bytes != 1) std::memcpy(&ends, block, sizeof ends);
    uint8_t* tail = block + layout::escapes_at(id_bytes, runs_from(ends, 0));
    uint64_t escaping;
    std::memcpy(&escaping, tail, sizeof escaping);
    const uint64_t before = escaping & ((uint64_t{1} << at) - 1);
    return reinterpret_cast<uint32_t*>(tail + sizeof escaping) + std::popcount(before);
}

uint32_t byte_node_bytes(std::span<const slot_entry> slots) noexcept {
    uint32_t runs = 1;
    for (size_t i = 0; i + 1 < slots.size(); ++i) runs += slots[i] != slots[i + 1];
    return layout::byte_node_entries_at + runs * 4;
}

void encode_byte_node(std::span<const slot_entry> slots, uint8_t* to) noexcept {
    uint64_t ends[layout::byte_node_words] = {};
    uint8_t after[8] = {};
    auto* entries = reinterpret_cast<uint32_t*>(to + layout::byte_node_entries_at);
    uint32_t run = 0;
    for (unsigned i = 256; i-- > 0;) {
        if (i % 64 == 63) after[i / 64] = static_cast<uint8_t>(run);
        if (i != 255 && slots[i] == slots[i + 1]) continue;
        ends[i / 64] |= uint64_t{1} << i % 64;
        entries[run++] = slots[i];
    }
    std::memcpy(to, ends, sizeof ends);
    std::memcpy(to + layout::byte_node_after_at, after, sizeof after);
}

uint32_t* byte_node_child(uint8_t* node, unsigned at) noexcept {
    uint64_t ends;
    std::memcpy(&ends, node + at / 64 * 8, sizeof ends);
    const unsigned run = node[layout::byte_node_after_at + at / 64] + runs_from(ends, at % 64) - 1;
    return reinterpret_cast<uint32_t*>(node + layout::byte_node_entries_at) + run;
}

}  // namespace turnpike::fib
