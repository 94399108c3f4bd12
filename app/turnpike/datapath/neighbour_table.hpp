// SPDX-License-Identifier: BSD-3-Clause
// The neighbours as workers see them: (port, address) -> slot -> MAC address.
//
//   rte_hash {port, family, address} --> slot --> | used | resolved | MAC 48 |   one atomic word
//
// Control owns the table (control/neighbours is the state machine); workers only look. A changed
// MAC is one store. A removed neighbour's key and slot are reused only after every worker was
// quiescent (rte_rcu_qsbr), so a worker never sends to a MAC that its lookup did not mean.
#pragma once

#include <rte_hash.h>
#include <rte_rcu_qsbr.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "config/address.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {

struct neighbour_key {
    uint16_t port = 0;
    uint16_t v6 = 0;
    uint8_t address[16]{};

    static neighbour_key of(uint16_t port, const ip_address& a) noexcept;
};
static_assert(sizeof(neighbour_key) == 20, "hashed as bytes: no padding");

class neighbour_table {
  public:
    static constexpr uint32_t none = UINT32_MAX;

    /// limit    neighbours at a time
    /// readers  workers that will look; each registers with qsbr() under its number
    /// Errors  ENOMEM...
    [[nodiscard]] static result<std::unique_ptr<neighbour_table>> create(uint32_t limit,
                                                                         uint32_t readers);
    ~neighbour_table();
    neighbour_table(const neighbour_table&) = delete;
    neighbour_table& operator=(const neighbour_table&) = delete;

    // Workers.

    /// Find a burst's neighbours. keys [n <= 64], slot [n] out: none where there is none.
    void find(const neighbour_key* const* keys, uint32_t* slot, uint32_t n) const noexcept;

    /// The MAC address in a slot; false where it is not resolved. Says that the slot is in use.
    bool mac_of(uint32_t slot, packet::mac_address& mac) noexcept {
        std::atomic<uint64_t>& word = slots_[slot].word;
        const uint64_t w = word.load(std::memory_order_acquire);
        if ((w & resolved) == 0) return false;
        if ((w & used) == 0) slots_[slot].mark_used(w);
        __builtin_memcpy(mac.bytes, &w, sizeof mac.bytes);
        return true;
    }
    [[nodiscard]] uint16_t port_of(uint32_t slot) const noexcept { return slots_[slot].port; }
    [[nodiscard]] rte_rcu_qsbr* qsbr() const noexcept { return qsbr_.get(); }

    // Control.

    /// The slot of a neighbour, made where there is none. `none` at the limit.
    uint32_t add(const neighbour_key& key) noexcept;
    [[nodiscard]] uint32_t find(const neighbour_key& key) const noexcept;
    void remove(const neighbour_key& key) noexcept;
    void resolve(uint32_t slot, const packet::mac_address& mac) noexcept;
    void unresolve(uint32_t slot) noexcept {
        slots_[slot].word.store(0, std::memory_order_release);
    }
    /// Whether a worker has sent to it since the last call.
    bool take_used(uint32_t slot) noexcept {
        return (slots_[slot].word.fetch_and(~used, std::memory_order_relaxed) & used) != 0;
    }
    [[nodiscard]] uint32_t size() const noexcept { return size_; }
    [[nodiscard]] uint32_t limit() const noexcept { return limit_; }
    /// Give removed slots back that every worker has let go of.
    void reclaim() noexcept;

  private:
    static constexpr uint64_t resolved = 1ULL << 62, used = 1ULL << 63;

    struct slot_state {
        std::atomic<uint64_t> word{0};
        uint16_t port = 0;
        void mark_used(uint64_t seen) noexcept {
            // Only over what was seen: control may have changed the MAC meanwhile.
            word.compare_exchange_strong(seen, seen | used, std::memory_order_relaxed);
        }
    };
    struct free_hash {
        void operator()(rte_hash* h) const noexcept { rte_hash_free(h); }
    };
    struct free_qsbr {
        void operator()(rte_rcu_qsbr* q) const noexcept;
    };
    struct removed {
        uint64_t token;    ///< of rte_rcu_qsbr_start(), when the key was taken out
        int32_t position;  ///< of the key in the hash
        uint32_t slot;
    };
    neighbour_table() = default;

    uint32_t limit_ = 0, size_ = 0;
    std::unique_ptr<rte_rcu_qsbr, free_qsbr> qsbr_;
    std::unique_ptr<rte_hash, free_hash> hash_;
    std::unique_ptr<slot_state[]> slots_;
    std::vector<uint32_t> free_;  ///< slots
    std::deque<removed> pending_;
};

}  // namespace turnpike::datapath
