// SPDX-License-Identifier: BSD-3-Clause
// rte_hash as the benchmark's peer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct rte_hash;

namespace turnpike::bench {

/// An rte_hash with its default hash function.
class hash_peer {
  public:
    /// Check valid(): false if DPDK refused; why() returns the reason.
    hash_peer(uint32_t key_bytes, uint32_t entries, bool lock_free);
    ~hash_peer();
    hash_peer(const hash_peer&) = delete;
    hash_peer& operator=(const hash_peer&) = delete;

    bool valid() const noexcept { return hash_ != nullptr; }
    const std::string& why() const noexcept { return why_; }
    bool add(const void* key) noexcept;
    /// Up to 64 keys.
    void lookup(const void** keys, uint32_t n, int32_t* positions) const noexcept;

  private:
    rte_hash* hash_ = nullptr;
    std::string why_;
};

}  // namespace turnpike::bench
