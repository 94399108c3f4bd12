// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour_table.hpp"

#include <rte_errno.h>
#include <rte_hash_crc.h>

#include <algorithm>
#include <array>

namespace turnpike::datapath {

neighbour_key neighbour_key::of(uint16_t port, const ip_address& a) noexcept {
    neighbour_key key{.port = port, .v6 = a.v6};
    std::copy_n(a.bytes.begin(), a.v6 ? 16 : 4, key.address);
    return key;
}

result<std::unique_ptr<neighbour_table>> neighbour_table::create(uint32_t limit,
                                                                 rcu::defer_free defer_free) {
    std::unique_ptr<neighbour_table> t(new neighbour_table());
    t->limit_ = limit;
    t->slots_ = std::make_unique<slot_state[]>(limit);
    for (uint32_t slot = limit; slot-- > 0;) t->free_.push_back(slot);
    t->defer_free_ = defer_free;
    rte_hash_parameters p{};
    p.name = "neighbours";
    // Twice the limit: a removed key holds its place until the workers have moved on.
    p.entries = 2 * limit;
    p.key_len = sizeof(neighbour_key);
    p.hash_func = rte_hash_crc;
    p.socket_id = SOCKET_ID_ANY;
    p.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF | RTE_HASH_EXTRA_FLAGS_EXT_TABLE;
    t->hash_.reset(rte_hash_create(&p));
    if (!t->hash_) return fail(rte_errno, "neighbours", "no memory for the table");
    return t;
}

neighbour_table::~neighbour_table() = default;

void neighbour_table::find(const neighbour_key* const* keys, uint32_t* slot,
                           uint32_t n) const noexcept {
    std::array<const void*, RTE_HASH_LOOKUP_BULK_MAX> wanted;
    std::array<void*, RTE_HASH_LOOKUP_BULK_MAX> data;
    std::copy_n(keys, n, wanted.begin());
    uint64_t hits = 0;
    rte_hash_lookup_bulk_data(hash_.get(), wanted.data(), n, &hits, data.data());
    for (uint32_t i = 0; i < n; ++i)
        slot[i] = (hits >> i & 1) != 0 ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data[i]))
                                       : none;
}

uint32_t neighbour_table::find(const neighbour_key& key) const noexcept {
    void* data = nullptr;
    if (rte_hash_lookup_data(hash_.get(), &key, &data) < 0) return none;
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(data));
}

uint32_t neighbour_table::add(const neighbour_key& key) noexcept {
    if (const uint32_t there = find(key); there != none) return there;
    if (free_.empty()) return none;
    const uint32_t slot = free_.back();
    slots_[slot].word.store(0, std::memory_order_relaxed);
    slots_[slot].port = key.port;
    if (rte_hash_add_key_data(hash_.get(), &key, reinterpret_cast<void*>(uintptr_t{slot})) != 0)
        return none;
    free_.pop_back();
    ++size_;
    return slot;
}

void neighbour_table::remove(const neighbour_key& key) noexcept {
    const uint32_t slot = find(key);
    if (slot == none) return;
    unresolve(slot);
    const int32_t position = rte_hash_del_key(hash_.get(), &key);
    if (position < 0) return;
    --size_;
    defer_free_({release, this, uint64_t{static_cast<uint32_t>(position)} << 32 | slot});
}

void neighbour_table::resolve(uint32_t slot, const packet::mac_address& mac) noexcept {
    uint64_t word = 0;
    __builtin_memcpy(&word, mac.bytes, sizeof mac.bytes);
    slots_[slot].word.store(word | resolved, std::memory_order_release);
}

void neighbour_table::release(void* table, uint64_t position_and_slot) {
    auto* t = static_cast<neighbour_table*>(table);
    rte_hash_free_key_with_position(t->hash_.get(), static_cast<int32_t>(position_and_slot >> 32));
    t->free_.push_back(static_cast<uint32_t>(position_and_slot));
}

}  // namespace turnpike::datapath
