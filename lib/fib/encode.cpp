// SPDX-License-Identifier: BSD-3-Clause
#include "fib/encode.hpp"

#include <bit>
#include <cstring>

namespace turnpike::fib {
namespace {

bool leads_on(slot_entry s) { return (s & layout::node_bit) != 0; }

unsigned runs_from(uint64_t ends, unsigned at) {
    return static_cast<unsigned>(std::popcount(ends >> at));
}

uint32_t encode_block(std::span<const slot_entry> slots, unsigned id_bytes, uint8_t* to) {
    uint32_t id[layout::block_slots];
    uint64_t escaping = 0, ends = uint64_t{1} << (layout::block_slots - 1);
    for (unsigned i = 0; i < layout::block_slots; ++i) {
        escaping |= uint64_t{leads_on(slots[i])} << i;
        id[i] = leads_on(slots[i]) ? layout::escape_id : slots[i] >> 1;
        if (i > 0) ends |= uint64_t{id[i] != id[i - 1]} << (i - 1);
    }
    uint32_t bytes = layout::block_slots;
    if (id_bytes == 1) {
        for (unsigned i = 0; i < layout::block_slots; ++i) to[i] = static_cast<uint8_t>(id[i]);
    } else {
        std::memcpy(to, &ends, sizeof ends);
        bytes = layout::block_runs_at;
        for (uint64_t left = ends; left != 0; bytes += id_bytes) {  // the last run first
            const auto last = static_cast<unsigned>(63 - std::countl_zero(left));
            std::memcpy(to + bytes, &id[last], id_bytes);  // little-endian: the low bytes
            left ^= uint64_t{1} << last;
        }
    }
    if (escaping == 0) return bytes;
    uint8_t* tail = to + layout::escapes_at(id_bytes, runs_from(ends, 0));
    std::memcpy(tail, &escaping, sizeof escaping);
    tail += sizeof escaping;
    for (const slot_entry s : slots)
        if (leads_on(s)) {
            std::memcpy(tail, &s, sizeof s);
            tail += sizeof s;
        }
    return static_cast<uint32_t>(tail - to);
}

uint32_t encode_byte_node(std::span<const slot_entry> slots, uint8_t* to) {
    uint64_t ends[layout::byte_node_words] = {};
    uint8_t after[8] = {};
    uint8_t* entry = to + layout::byte_node_entries_at;
    unsigned runs = 0;
    for (unsigned i = 256; i-- > 0;) {
        if (i % 64 == 63) after[i / 64] = static_cast<uint8_t>(runs);
        if (i != 255 && slots[i] == slots[i + 1]) continue;
        ends[i / 64] |= uint64_t{1} << i % 64;
        std::memcpy(entry + 4 * runs++, &slots[i], 4);
    }
    std::memcpy(to, ends, sizeof ends);
    std::memcpy(to + layout::byte_node_after_at, after, sizeof after);
    return layout::byte_node_entries_at + 4 * runs;
}

}  // namespace

uint32_t encode_node(node_kind kind, std::span<const slot_entry> slots, unsigned id_bytes,
                     uint8_t* to) noexcept {
    if (kind == node_kind::block) return encode_block(slots, id_bytes, to);
    if (kind == node_kind::byte_node) return encode_byte_node(slots, to);
    std::memcpy(to, slots.data(), slots.size_bytes());
    return static_cast<uint32_t>(slots.size_bytes());
}

uint32_t* node_link(node_kind kind, uint8_t* node, unsigned id_bytes, unsigned slot) noexcept {
    uint64_t word;
    if (kind == node_kind::page) return reinterpret_cast<uint32_t*>(node) + slot;
    if (kind == node_kind::byte_node) {
        std::memcpy(&word, node + slot / 64 * 8, sizeof word);
        const unsigned run =
            node[layout::byte_node_after_at + slot / 64] + runs_from(word, slot % 64) - 1;
        return reinterpret_cast<uint32_t*>(node + layout::byte_node_entries_at) + run;
    }
    std::memcpy(&word, node, sizeof word);  // run ends, unless ids are bytes
    uint8_t* tail = node + layout::escapes_at(id_bytes, runs_from(word, 0));
    std::memcpy(&word, tail, sizeof word);
    const uint64_t before = word & ((uint64_t{1} << slot) - 1);
    return reinterpret_cast<uint32_t*>(tail + sizeof word) + std::popcount(before);
}

}  // namespace turnpike::fib
