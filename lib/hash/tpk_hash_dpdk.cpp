// SPDX-License-Identifier: BSD-3-Clause
// The C API: maps keys to positions in a table, and stores keys and data by position, as rte_hash
// does.
#include <rte_config.h>
#include <rte_errno.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "eal/memory.hpp"
#include "hash/store.hpp"
#include "hash/table_dpdk.hpp"
#include "hash/tpk_hash.h"

namespace {

namespace hash = turnpike::hash;

constexpr uint32_t least_entries = 8;  // rte_hash's minimum
constexpr uint32_t max_key_bytes = 40;
constexpr uint8_t locking = TPK_HASH_EXTRA_FLAGS_MULTI_WRITER_ADD |
                            TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY |
                            TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF;
constexpr uint8_t keeping =
    TPK_HASH_EXTRA_FLAGS_NO_FREE_ON_DEL | TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF;
constexpr uint8_t all_flags = 0x3f;

/// Holds memory that a full-size table retires: normally none, except when an unlucky small table
/// grows. Readers may hold it, so it is freed with the table.
class kept {
  public:
    kept() = default;
    ~kept() {
        for (unsigned i = 0; i < count_; ++i) items_[i].release(items_[i].owner, items_[i].what);
    }
    kept(const kept&) = delete;
    kept& operator=(const kept&) = delete;
    turnpike::rcu::defer_free hook() {
        return {this, [](void* self, turnpike::rcu::deferred item) {
                    auto& me = *static_cast<kept*>(self);
                    me.items_[me.count_++] = item;
                }};
    }

  private:
    // A table with room for all entries may double once: writer.hpp, more_room().
    turnpike::rcu::deferred items_[2] = {};
    unsigned count_ = 0;
};

}  // namespace

struct tpk_hash {
    enum class use : uint8_t { free, held, deleted };

    std::string name;
    uint32_t entries, key_len, padded;
    uint8_t flags;
    turnpike::memory memory;
    kept given_back{};
    std::unique_ptr<hash::store> table{};
    uint8_t* keys = nullptr;  ///< [entries] of `padded` bytes
    void** data = nullptr;    ///< [entries]
    std::vector<use> uses{};
    std::vector<uint32_t> free_positions{};  ///< reserved for all of them: never reallocates
    mutable std::mutex writers{};
    /// How often positions were freed: a reader of data looks up again if one was meanwhile, since another key may
    /// have it. Incremented before the position can be used again.
    std::atomic<uint64_t> frees{0};

    ~tpk_hash() {
        if (keys != nullptr) memory.release(memory.context, keys);
        if (data != nullptr) memory.release(memory.context, data);
    }
    uint8_t* key_at(uint32_t position) const { return keys + size_t{position} * padded; }
    std::unique_lock<std::mutex> lock() const {
        return (flags & locking) != 0 ? std::unique_lock(writers) : std::unique_lock<std::mutex>();
    }
    /// read(): positions by key, then data by position.
    template <class Read>
    auto while_none_is_freed(const Read& read) const {
        for (;;) {
            const uint64_t before = frees.load(std::memory_order_acquire);
            const auto out = read();
            std::atomic_thread_fence(std::memory_order_acquire);
            if (frees.load(std::memory_order_relaxed) == before) return out;
        }
    }
    void free(uint32_t position) {
        uses[position] = use::free;
        frees.fetch_add(1, std::memory_order_release);
        free_positions.push_back(position);
    }
    void all_free() {
        frees.fetch_add(1, std::memory_order_release);
        std::fill(uses.begin(), uses.end(), use::free);
        free_positions.resize(entries);
        // position 0 is used first
        for (uint32_t i = 0; i < entries; ++i) free_positions[i] = entries - 1 - i;
    }
};

namespace {

struct padded_key {
    alignas(8) uint8_t bytes[max_key_bytes] = {};
    padded_key(const tpk_hash& h, const void* key) { std::memcpy(bytes, key, h.key_len); }
};

turnpike::registry<tpk_hash>& tables = *new turnpike::registry<tpk_hash>;

tpk_hash* failed(int code) {
    rte_errno = code;
    return nullptr;
}

hash::shape shape_of(uint32_t padded) {
    return padded == 8 ? hash::shape::k8v4 : padded == 16 ? hash::shape::k16v4 : hash::shape::k40v4;
}

/// Allocate keys and data by position. Returns false if memory is short.
bool allocate_arrays(tpk_hash& h) {
    const auto allocate = [&](size_t bytes) {
        void* got = h.memory.allocate(h.memory.context, bytes, 64);
        if (got != nullptr) std::memset(got, 0, bytes);
        return got;
    };
    h.keys = static_cast<uint8_t*>(allocate(size_t{h.entries} * h.padded));
    h.data = static_cast<void**>(allocate(size_t{h.entries} * sizeof(void*)));
    return h.keys != nullptr && h.data != nullptr;
}

tpk_hash* create(const tpk_hash_parameters& p) {
    const std::string name = std::string(p.name).substr(0, TPK_HASH_NAMESIZE - 1);
    if (tables.find(name) != nullptr) return failed(EEXIST);
    const uint32_t padded = p.key_len <= 8 ? 8 : p.key_len <= 16 ? 16 : max_key_bytes;
    std::unique_ptr<tpk_hash> made(new tpk_hash{name, p.entries, p.key_len, padded, p.extra_flag,
                                                turnpike::eal::memory_on(p.socket_id)});
    hash::config config = hash::eal_config(name, p.socket_id);
    config.max_entries = config.expected_entries = p.entries;
    config.defer_free = made->given_back.hook();
    auto table = hash::store::create(config, shape_of(padded));
    if (!table) return failed(table.error().code);
    made->table = std::move(*table);
    if (!allocate_arrays(*made)) return failed(ENOMEM);
    made->uses.resize(p.entries);
    made->all_free();
    tpk_hash* added = tables.add(std::move(made));
    return added != nullptr ? added : failed(EEXIST);
}

/// The position of a key, added if it is new; or a negative errno value.
int32_t add(tpk_hash& h, const void* key, void* data) {
    const auto locked = h.lock();
    const padded_key k(h, key);
    if (const auto position = h.table->find(k.bytes)) {
        __atomic_store_n(&h.data[*position], data, __ATOMIC_RELEASE);
        return static_cast<int32_t>(*position);
    }
    if (h.free_positions.empty()) return -ENOSPC;
    const uint32_t position = h.free_positions.back();
    std::memcpy(h.key_at(position), k.bytes, h.padded);
    __atomic_store_n(&h.data[position], data, __ATOMIC_RELEASE);
    if (const auto put = h.table->put(k.bytes, position); !put) return -put.error().code;
    h.free_positions.pop_back();
    h.uses[position] = tpk_hash::use::held;
    return static_cast<int32_t>(position);
}

/// Positions of up to 64 keys; returns a bitmap of the keys found.
uint64_t positions_of(const tpk_hash& h, const void** keys, uint32_t n, uint32_t* positions) {
    alignas(64) uint8_t together[TPK_HASH_LOOKUP_BULK_MAX * max_key_bytes];
    for (uint32_t i = 0; i < n; ++i) {
        uint8_t* const to = together + i * h.padded;
        // Common key lengths without a call and without data-dependent branches.
        if (h.key_len == 8) {
            std::memcpy(to, keys[i], 8);
        } else if (h.key_len == 16) {
            std::memcpy(to, keys[i], 16);
        } else if (h.key_len == max_key_bytes) {
            std::memcpy(to, keys[i], max_key_bytes);
        } else {
            std::memset(to, 0, h.padded);
            std::memcpy(to, keys[i], h.key_len);
        }
    }
    return h.table->lookup(*h.table->readers_view(), together, positions, n);
}

void* data_at(const tpk_hash& h, uint32_t position) {
    return __atomic_load_n(&h.data[position], __ATOMIC_ACQUIRE);
}

}  // namespace

tpk_hash* tpk_hash_create(const tpk_hash_parameters* p) try {
    if (p == nullptr || p->name == nullptr || p->entries < least_entries ||
        p->entries > TPK_HASH_ENTRIES_MAX || p->key_len == 0 || p->key_len > max_key_bytes ||
        p->socket_id < -1 || p->socket_id >= RTE_MAX_NUMA_NODES ||
        (p->extra_flag & ~all_flags) != 0)
        return failed(EINVAL);
    return create(*p);
} catch (const std::bad_alloc&) {
    return failed(ENOMEM);
}

tpk_hash* tpk_hash_find_existing(const char* name) {
    tpk_hash* found = name != nullptr ? tables.find(name) : nullptr;
    return found != nullptr ? found : failed(ENOENT);
}

void tpk_hash_free(tpk_hash* h) { tables.remove(h); }

void tpk_hash_reset(tpk_hash* h) {
    if (h == nullptr) return;
    const auto locked = h->lock();
    for (uint32_t i = 0; i < h->entries; ++i)
        if (h->uses[i] == tpk_hash::use::held) h->table->erase(h->key_at(i));
    h->all_free();
}

int32_t tpk_hash_count(const tpk_hash* h) {
    if (h == nullptr) return -EINVAL;
    const auto locked = h->lock();
    return static_cast<int32_t>(h->entries - h->free_positions.size());
}

int32_t tpk_hash_max_key_id(const tpk_hash* h) {
    return h != nullptr ? static_cast<int32_t>(h->entries) : -EINVAL;
}

// rte_hash's functions allocate the table as const even if they change it.

int32_t tpk_hash_add_key(const tpk_hash* h, const void* key) {
    if (h == nullptr || key == nullptr) return -EINVAL;
    return add(const_cast<tpk_hash&>(*h), key, nullptr);
}

int32_t tpk_hash_add_key_with_hash(const tpk_hash* h, const void* key, hash_sig_t) {
    return tpk_hash_add_key(h, key);
}

int tpk_hash_add_key_data(const tpk_hash* h, const void* key, void* data) {
    if (h == nullptr || key == nullptr) return -EINVAL;
    return std::min(add(const_cast<tpk_hash&>(*h), key, data), 0);
}

int tpk_hash_add_key_with_hash_data(const tpk_hash* h, const void* key, hash_sig_t, void* data) {
    return tpk_hash_add_key_data(h, key, data);
}

int32_t tpk_hash_del_key(const tpk_hash* handle, const void* key) {
    if (handle == nullptr || key == nullptr) return -EINVAL;
    auto& h = const_cast<tpk_hash&>(*handle);
    const auto locked = h.lock();
    const padded_key k(h, key);
    const auto position = h.table->find(k.bytes);
    if (!position) return -ENOENT;
    h.table->erase(k.bytes);
    if ((h.flags & keeping) != 0) {
        h.uses[*position] = tpk_hash::use::deleted;
    } else {
        h.free(static_cast<uint32_t>(*position));
    }
    return static_cast<int32_t>(*position);
}

int32_t tpk_hash_del_key_with_hash(const tpk_hash* h, const void* key, hash_sig_t) {
    return tpk_hash_del_key(h, key);
}

int tpk_hash_get_key_with_position(const tpk_hash* h, int32_t position, void** key) {
    if (h == nullptr || key == nullptr || position < 0 ||
        static_cast<uint32_t>(position) >= h->entries)
        return -EINVAL;
    const auto locked = h->lock();
    if (h->uses[static_cast<uint32_t>(position)] != tpk_hash::use::held) return -ENOENT;
    *key = h->key_at(static_cast<uint32_t>(position));
    return 0;
}

int tpk_hash_free_key_with_position(const tpk_hash* handle, int32_t position) {
    if (handle == nullptr || position < 0 || static_cast<uint32_t>(position) >= handle->entries)
        return -EINVAL;
    auto& h = const_cast<tpk_hash&>(*handle);
    const auto locked = h.lock();
    if (h.uses[static_cast<uint32_t>(position)] != tpk_hash::use::deleted) return -EINVAL;
    h.free(static_cast<uint32_t>(position));
    return 0;
}

int32_t tpk_hash_lookup(const tpk_hash* h, const void* key) {
    return tpk_hash_lookup_data(h, key, nullptr);
}

int32_t tpk_hash_lookup_with_hash(const tpk_hash* h, const void* key, hash_sig_t) {
    return tpk_hash_lookup_data(h, key, nullptr);
}

int tpk_hash_lookup_data(const tpk_hash* h, const void* key, void** data) {
    if (h == nullptr || key == nullptr) return -EINVAL;
    return h->while_none_is_freed([&] {
        uint32_t position;
        if (positions_of(*h, &key, 1, &position) == 0) return -ENOENT;
        if (data != nullptr) *data = data_at(*h, position);
        return static_cast<int32_t>(position);
    });
}

int tpk_hash_lookup_with_hash_data(const tpk_hash* h, const void* key, hash_sig_t, void** data) {
    return tpk_hash_lookup_data(h, key, data);
}

int tpk_hash_lookup_bulk(const tpk_hash* h, const void** keys, uint32_t n, int32_t* positions) {
    if (h == nullptr || keys == nullptr || n == 0 || n > TPK_HASH_LOOKUP_BULK_MAX ||
        positions == nullptr)
        return -EINVAL;
    uint32_t found[TPK_HASH_LOOKUP_BULK_MAX];
    const uint64_t hits = positions_of(*h, keys, n, found);
    for (uint32_t i = 0; i < n; ++i)
        positions[i] = (hits >> i & 1) != 0 ? static_cast<int32_t>(found[i]) : -ENOENT;
    return 0;
}

int tpk_hash_lookup_bulk_data(const tpk_hash* h, const void** keys, uint32_t n, uint64_t* hit_mask,
                              void* data[]) {
    if (h == nullptr || keys == nullptr || n == 0 || n > TPK_HASH_LOOKUP_BULK_MAX ||
        hit_mask == nullptr || data == nullptr)
        return -EINVAL;
    return h->while_none_is_freed([&] {
        uint32_t found[TPK_HASH_LOOKUP_BULK_MAX];
        *hit_mask = positions_of(*h, keys, n, found);
        for (uint64_t left = *hit_mask; left != 0; left &= left - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(left));
            data[i] = data_at(*h, found[i]);
        }
        return std::popcount(*hit_mask);
    });
}

int tpk_hash_lookup_with_hash_bulk(const tpk_hash* h, const void** keys, hash_sig_t*, uint32_t n,
                                   int32_t* positions) {
    return tpk_hash_lookup_bulk(h, keys, n, positions);
}

int tpk_hash_lookup_with_hash_bulk_data(const tpk_hash* h, const void** keys, hash_sig_t*,
                                        uint32_t n, uint64_t* hit_mask, void* data[]) {
    return tpk_hash_lookup_bulk_data(h, keys, n, hit_mask, data);
}

hash_sig_t tpk_hash_hash(const tpk_hash* h, const void* key) {
    if (h == nullptr || key == nullptr) return 0;
    const padded_key k(*h, key);
    const hash::secret& s = h->table->readers_view()->keys;
    return h->padded == 8    ? hash::hash<1>(s, k.bytes).second
           : h->padded == 16 ? hash::hash<2>(s, k.bytes).second
                             : hash::hash<5>(s, k.bytes).second;
}

int32_t tpk_hash_iterate(const tpk_hash* h, const void** key, void** data, uint32_t* next) {
    if (h == nullptr || key == nullptr || data == nullptr || next == nullptr) return -EINVAL;
    const auto locked = h->lock();
    while (*next < h->entries && h->uses[*next] != tpk_hash::use::held) ++*next;
    if (*next >= h->entries) return -ENOENT;
    const uint32_t position = (*next)++;
    *key = h->key_at(position);
    *data = data_at(*h, position);
    return static_cast<int32_t>(position);
}
