// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour_table.hpp"

#include <rte_errno.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>

#include <algorithm>
#include <array>

namespace turnpike::datapath {

neighbour_key neighbour_key::of(uint16_t port, const ip_address& a) noexcept {
    neighbour_key key{.port = port, .v6 = a.v6};
    std::copy_n(a.bytes.begin(), a.v6 ? 16 : 4, key.address);
    return key;
}

void neighbour_table::free_qsbr::operator()(rte_rcu_qsbr* q) const noexcept { rte_free(q); }

result<std::unique_ptr<neighbour_table>> neighbour_table::create(uint32_t limit, uint32_t readers) {
    std::unique_ptr<neighbour_table> t(new neighbour_table());
    t->limit_ = limit;
    t->slots_ = std::make_unique<slot_state[]>(limit);
    for (uint32_t slot = limit; slot-- > 0;) t->free_.push_back(slot);

    const size_t bytes = rte_rcu_qsbr_get_memsize(readers);
    t->qsbr_.reset(
        static_cast<rte_rcu_qsbr*>(rte_zmalloc("neighbours", bytes, RTE_CACHE_LINE_SIZE)));
    if (!t->qsbr_ || rte_rcu_qsbr_init(t->qsbr_.get(), readers) != 0)
        return fail(ENOMEM, "neighbours", "no memory for RCU");
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
    if (free_.empty()) reclaim();
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
    pending_.push_back({rte_rcu_qsbr_start(qsbr_.get()), position, slot});
}

void neighbour_table::resolve(uint32_t slot, const packet::mac_address& mac) noexcept {
    uint64_t word = 0;
    __builtin_memcpy(&word, mac.bytes, sizeof mac.bytes);
    slots_[slot].word.store(word | resolved, std::memory_order_release);
}

void neighbour_table::reclaim() noexcept {
    while (!pending_.empty() &&
           rte_rcu_qsbr_check(qsbr_.get(), pending_.front().token, false) == 1) {
        rte_hash_free_key_with_position(hash_.get(), pending_.front().position);
        free_.push_back(pending_.front().slot);
        pending_.pop_front();
    }
}

}  // namespace turnpike::datapath
