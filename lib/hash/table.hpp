// SPDX-License-Identifier: BSD-3-Clause
// table.hpp: exact match of fixed keys, in bulk.
//
//   struct station { mac_address mac; uint16_t domain; };                 // 8 bytes, no padding
//   auto fdb = *hash::table<station, uint32_t>::create(hash::eal_config("fdb", socket));
//   control:  fdb->put(where, port)   fdb->erase(where)   domain->reclaim()
//   worker:   uint64_t hits = fdb->lookup(keys, values);   domain->quiescent(id);
//
// Layout: README.md draws it. Why it is built so: doc/design/0014-hash.md.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include "hash/store.hpp"

namespace turnpike::hash {

/// 8, 16 or 40 bytes; keys are compared bytewise.
template <class Key>
concept key_type = std::has_unique_object_representations_v<Key> &&
    (sizeof(Key) == 8 || sizeof(Key) == 16 || sizeof(Key) == 40);
/// 4 or 8 bytes, copied atomically.
template <class Value>
concept value_type = std::is_trivially_copyable_v<Value> &&
    (sizeof(Value) == 4 || sizeof(Value) == 8);

/// Threads  one writer (all non-const functions, find, for_each, stats) and many concurrent readers
///          (lookup, lookup_bulk), each of which reports quiescence to config::defer_free between its
///          calls. Readers see each key's value as of some moment of their call; a key that is
///          present throughout is found, whatever else the writer does.
template <key_type Key, value_type Value>
class table {
  public:
    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM; ENOSYS: no random numbers
    [[nodiscard]] static result<std::unique_ptr<table>> create(const config& c) {
        auto made = store::create(c, form);
        if (!made) return tl::unexpected<error>(made.error());
        std::unique_ptr<table> all(new (std::nothrow) table(std::move(*made)));
        if (all == nullptr) return fail(ENOMEM, {}, {});
        return all;
    }

    /// Add a key, or replace its value: readers see the old or the new one. Returns true if the key
    /// is new.
    ///
    /// Errors  ENOSPC: max_entries, or no free slot for this key; ENOMEM. The table is unchanged.
    [[nodiscard]] result<bool> put(const Key& key, Value value) {
        return store_->put(&key, std::bit_cast<word>(value));
    }
    /// Returns false if the key was not present.
    bool erase(const Key& key) noexcept { return store_->erase(&key); }
    /// Prefetch the key's buckets: useful some changes ahead in a batch. Writer's thread.
    void prefetch(const Key& key) const noexcept { store_->prefetch(&key); }
    /// Writer's thread.
    [[nodiscard]] std::optional<Value> find(const Key& key) const noexcept {
        const auto found = store_->find(&key);
        if (!found) return std::nullopt;
        return std::bit_cast<Value>(static_cast<word>(*found));
    }
    /// Visit all entries in no order; the table must not change meanwhile. Writer's thread.
    template <std::invocable<const Key&, Value> Visit>
    void for_each(const Visit& visit) const {
        store_->for_each([&visit](const void* key, uint64_t value) {
            Key k;
            std::memcpy(static_cast<void*>(&k), key, sizeof k);
            visit(k, std::bit_cast<Value>(static_cast<word>(value)));
        });
    }
    [[nodiscard]] statistics stats() const noexcept { return store_->stats(); }
    [[nodiscard]] uint64_t size() const noexcept { return store_->stats().entries; }

    /// Look up at most 64 keys. Bit i: keys[i] was found and values[i] is its value; otherwise
    /// values[i] is 0.
    ///
    /// Requires  values as long as keys. Threads: many. Errors: none.
    uint64_t lookup(std::span<const Key> keys, std::span<Value> values) const noexcept {
        return store_->lookup(*store_->readers_view(), keys.data(), values.data(),
                              static_cast<uint32_t>(keys.size()));
    }
    /// Any number of keys: bit i % 64 of hits[i / 64].
    ///
    /// Requires  hits: one for each 64 keys or part of them
    void lookup_bulk(std::span<const Key> keys, std::span<Value> values,
                     std::span<uint64_t> hits) const noexcept {
        for (size_t at = 0; at < keys.size(); at += 64) {
            const size_t n = keys.size() - at < 64 ? keys.size() - at : 64;
            hits[at / 64] = lookup(keys.subspan(at, n), values.subspan(at, n));
        }
    }

    /// The name of the selected kernel.
    std::string_view kernel() const noexcept { return store_->kernel; }
    /// Select another kernel; call it before readers start. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
        return store_->select_kernel(max_simd_bitwidth, name);
    }
    /// Argument for the kernels of lookup_kernels(); valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return store_->readers_view(); }

  private:
    using word = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
    static constexpr shape form =
        sizeof(Key) == 8    ? (sizeof(Value) == 4 ? shape::k8v4 : shape::k8v8)
        : sizeof(Key) == 16 ? (sizeof(Value) == 4 ? shape::k16v4 : shape::k16v8)
                            : (sizeof(Value) == 4 ? shape::k40v4 : shape::k40v8);
    explicit table(std::unique_ptr<store> s) : store_(std::move(s)) {}
    std::unique_ptr<store> store_;
};

}  // namespace turnpike::hash
