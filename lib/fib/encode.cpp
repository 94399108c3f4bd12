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

uint32_t encode_block(std::span<const slot_run> slots, unsigned id_bytes, uint8_t* to) {
    uint32_t id[layout::block_slots];  // ID of each run
    uint32_t link[layout::block_slots] = {};
    unsigned runs = 0, links = 0, first = 0;
    uint64_t ends = 0;
    for (const slot_run& r : slots) {
        const uint32_t now = leads_on(r.entry) ? layout::escape_id : r.entry >> 1;
        if (runs > 0 && id[runs - 1] == now)
            ends ^= uint64_t{1} << (first - 1);  // two links: the run continues
        else
            id[runs++] = now;
        ends |= uint64_t{1} << r.last;
        if (leads_on(r.entry)) {
            link[r.last] = r.entry;
            ++links;
        }
        if (id_bytes == 1) std::memset(to + first, static_cast<int>(now), r.last + 1 - first);
        first = r.last + 1;
    }
    if (id_bytes != 1) {
        std::memcpy(to, &ends, sizeof ends);
        uint8_t* at = to + layout::block_runs_at;
        for (unsigned i = runs; i-- > 0; at += id_bytes)
            std::memcpy(at, &id[i], id_bytes);  // little-endian: the low bytes
    }
    if (links != 0) std::memcpy(to + layout::escapes_at(id_bytes, runs), link, sizeof link);
    return node_bytes(node_kind::block, runs, links, id_bytes);
}

template <class Id>
void fill_ids(std::span<const slot_run> slots, uint8_t* to) {
    unsigned first = 0;
    for (const slot_run& r : slots)
        for (const auto id = static_cast<Id>(r.entry >> 1); first <= r.last; ++first)
            std::memcpy(to + first * sizeof id, &id, sizeof id);
}

uint32_t encode_host_node(std::span<const slot_run> slots, unsigned id_bytes, uint8_t* to) {
    if (id_bytes == 1) fill_ids<uint8_t>(slots, to);
    if (id_bytes == 2) fill_ids<uint16_t>(slots, to);
    if (id_bytes == 4) fill_ids<uint32_t>(slots, to);
    return node_bytes(node_kind::host_node, 0, 0, id_bytes);
}

uint32_t encode_byte_node(std::span<const slot_run> slots, uint8_t* to) {
    uint64_t ends[layout::byte_node_words] = {};
    uint8_t after[8] = {};
    uint8_t* entry = to + layout::byte_node_entries_at;
    for (size_t i = slots.size(); i-- > 0; entry += 4) {  // the last run first
        ends[slots[i].last / 64] |= uint64_t{1} << slots[i].last % 64;
        std::memcpy(entry, &slots[i].entry, 4);
    }
    for (unsigned word = layout::byte_node_words - 1; word-- > 0;)
        after[word] = static_cast<uint8_t>(after[word + 1] + runs_from(ends[word + 1], 0));
    std::memcpy(to, ends, sizeof ends);
    std::memcpy(to + layout::byte_node_after_at, after, sizeof after);
    return node_bytes(node_kind::byte_node, static_cast<unsigned>(slots.size()), 0, 0);
}

uint32_t encode_page(std::span<const slot_run> slots, uint8_t* to) {
    uint8_t* at = to;
    for (const slot_run& r : slots)
        for (; at <= to + 4 * r.last; at += 4) std::memcpy(at, &r.entry, 4);
    return static_cast<uint32_t>(at - to);
}

}  // namespace

uint32_t node_bytes(node_kind kind, unsigned runs, unsigned links, unsigned id_bytes) noexcept {
    if (kind == node_kind::page) return 256 * sizeof(slot_entry);
    if (kind == node_kind::byte_node) return layout::byte_node_entries_at + 4 * runs;
    if (kind == node_kind::host_node) return layout::host_slots * id_bytes;
    if (links != 0) return layout::escapes_at(id_bytes, runs) + 4 * layout::block_slots;
    return id_bytes == 1 ? layout::block_slots : layout::block_runs_at + id_bytes * runs;
}

uint32_t encode_node(node_kind kind, std::span<const slot_run> runs, unsigned id_bytes,
                     uint8_t* to) noexcept {
    if (kind == node_kind::block) return encode_block(runs, id_bytes, to);
    if (kind == node_kind::host_node) return encode_host_node(runs, id_bytes, to);
    return kind == node_kind::page ? encode_page(runs, to) : encode_byte_node(runs, to);
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
    std::memcpy(&word, node, sizeof word);  // bitmap of run ends, unless IDs are bytes
    return reinterpret_cast<uint32_t*>(node + layout::escapes_at(id_bytes, runs_from(word, 0))) +
           slot;
}

}  // namespace turnpike::fib
