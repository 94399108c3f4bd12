// SPDX-License-Identifier: BSD-3-Clause
// The neighbours' state machine: RFC 4861 section 7.3, for ARP too, which has none of its own.
//
//   unknown --packet--> incomplete --answer--> reachable --time--> stale --used--> probe
//                           |                      ^                 |               |
//                        silence                   +---- answer -----|---------------+
//                           v                                     unused,         silence
//                        failed (what waits is given up) <---------- long ----------- +
//                           |                                        v
//                           +--time--> forgotten <-------------------+
//
// A gateway's neighbour is never forgotten: routes outlive neighbours. Control only; workers see the
// outcome in datapath/neighbour_table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "config/address.hpp"
#include "config/model.hpp"
#include "datapath/neighbour_table.hpp"
#include "packet/drop_reason.hpp"

struct rte_mbuf;

namespace turnpike::control {

enum class neighbour_state : uint8_t { incomplete, reachable, stale, probe, failed, count_ };
inline constexpr std::string_view neighbour_state_names[] = {"incomplete", "reachable", "stale",
                                                             "probe", "failed"};

/// What the state machine asks of its owner. All are called from within its own functions.
struct neighbour_actions {
    /// Ask who has the address; to `known` alone where it is not null.
    std::function<void(uint16_t port, const ip_address&, const packet::mac_address* known)> solicit;
    /// A packet that waited can go.
    std::function<void(rte_mbuf*, uint16_t port, const packet::mac_address&)> send;
    /// A packet that waited, or came, cannot go.
    std::function<void(rte_mbuf*, packet::drop_reason)> give_up;
};

/// What an answer or announcement says (RFC 4861 section 4.4).
struct neighbour_claim {
    packet::mac_address mac{};
    bool solicited = false;  ///< an answer to us: it proves that the neighbour hears us
    bool overrides = true;   ///< may replace another MAC address
};

/// Threads  control. Times in milliseconds of a clock that does not go back.
class neighbours {
  public:
    neighbours(const config::neighbours& limits, datapath::neighbour_table& table,
               neighbour_actions actions);
    ~neighbours();

    /// A gateway: known for ever, so that routes can name its slot. Errors ENOSPC: the limit.
    [[nodiscard]] result<uint32_t> add_gateway(uint16_t port, const ip_address& a);
    /// A neighbour with a fixed MAC address: never asked, changed or forgotten. Errors ENOSPC.
    [[nodiscard]] result<void> add_static(uint16_t port, const ip_address& a,
                                          const packet::mac_address& mac);
    /// No route names it any more: it may be forgotten like any other.
    void release_gateway(uint16_t port, const ip_address& a, uint64_t now_ms);

    /// Takes a packet that is ready but for its neighbour's MAC address: sent, held or given up.
    void resolve(rte_mbuf* packet, uint16_t port, const ip_address& a, uint64_t now_ms);
    /// Somebody on the link said who it is; `create`: it also asked for us, so we will answer it.
    void learn(uint16_t port, const ip_address& a, const packet::mac_address& mac, bool create,
               uint64_t now_ms);
    /// An answer or an announcement; changes only what is known or asked for.
    void confirm(uint16_t port, const ip_address& a, const neighbour_claim& claim, uint64_t now_ms);
    /// The link went down: nothing known of it holds.
    void flush(uint16_t port, packet::drop_reason why, uint64_t now_ms);
    /// What time has brought. Call every few milliseconds.
    void tick(uint64_t now_ms);
    /// Give up everything held; for the end.
    void give_up_all(packet::drop_reason why);

    [[nodiscard]] uint64_t held() const noexcept { return held_; }
    [[nodiscard]] std::array<uint32_t, static_cast<size_t>(neighbour_state::count_)> by_state()
        const;

  private:
    struct entry {
        uint16_t port = 0;
        ip_address address{};
        uint32_t slot = 0;
        neighbour_state state = neighbour_state::incomplete;
        bool gateway = false;
        bool fixed = false;  ///< its MAC address was configured: reachable for ever
        uint32_t attempts = 0;
        uint64_t deadline_ms = 0, stale_since_ms = 0;
        packet::mac_address mac{};
        std::vector<rte_mbuf*> held{};
    };
    struct timer {
        uint64_t at_ms;
        std::pair<uint16_t, ip_address> whose;
        bool operator>(const timer& other) const noexcept { return at_ms > other.at_ms; }
    };

    entry* find(uint16_t port, const ip_address& a);
    entry* make(uint16_t port, const ip_address& a);
    bool evict_failed();
    void forget(entry& e);
    void start_asking(entry& e, uint64_t now_ms);
    void ask(entry& e, uint64_t now_ms);
    void become_reachable(entry& e, uint64_t now_ms);
    void become_stale(entry& e, uint64_t now_ms);
    void fail(entry& e, uint64_t now_ms);
    void set_mac(entry& e, const packet::mac_address& mac);
    void release(entry& e);
    void give_up_held(entry& e, packet::drop_reason why);
    void set_timer(entry& e, uint64_t at_ms);
    void on_time(entry& e, uint64_t now_ms);

    config::neighbours limits_;
    datapath::neighbour_table& table_;
    neighbour_actions actions_;
    std::map<std::pair<uint16_t, ip_address>, std::unique_ptr<entry>> entries_;
    std::priority_queue<timer, std::vector<timer>, std::greater<>> timers_;
    std::queue<std::pair<uint16_t, ip_address>> failed_;  ///< oldest first; may be out of date
    uint64_t held_ = 0;
};

}  // namespace turnpike::control
