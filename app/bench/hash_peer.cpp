// SPDX-License-Identifier: BSD-3-Clause
#include "hash_peer.hpp"

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_lcore.h>
#include <rte_memory.h>

namespace turnpike::bench {

hash_peer::hash_peer(uint32_t key_bytes, uint32_t entries, bool lock_free) {
    rte_hash_parameters p{};
    p.name = lock_free ? "peer lock-free" : "peer";
    p.entries = entries;
    p.key_len = key_bytes;
    p.socket_id = SOCKET_ID_ANY;
    p.extra_flag = lock_free ? RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF : 0;
    hash_ = rte_hash_create(&p);
    if (hash_ == nullptr) why_ = std::string("rte_hash_create: ") + rte_strerror(rte_errno);
}

hash_peer::~hash_peer() { rte_hash_free(hash_); }

bool hash_peer::add(const void* key) noexcept { return rte_hash_add_key(hash_, key) >= 0; }

void hash_peer::lookup(const void** keys, uint32_t n, int32_t* positions) const noexcept {
    rte_hash_lookup_bulk(hash_, keys, n, positions);
}

}  // namespace turnpike::bench
