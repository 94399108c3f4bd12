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
// Each has a next hop as long as it is known: glean while its MAC address is not, adjacency while it is,
// and then a host route too. A gateway is never forgotten: routes name its hop. Control only.
//
// Bounds (RFC 6583): at the limit the least recently used goes first, and an interface that has more
// than its share gives first: those that did not answer, then those that only said who they are, then
// those that we asked for. Gateways, fixed ones and those that are reachable are never taken. All
// waiting packets together are bounded; the oldest goes first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "control/change.hpp"
#include "control/next_hops.hpp"
#include "control/route_tables.hpp"
#include "net/ip.hpp"
#include "packet/drop_reason.hpp"

struct rte_mbuf;

namespace turnpike::control {

enum class neighbour_state : uint8_t { incomplete, reachable, stale, probe, failed, count_ };
inline constexpr std::string_view neighbour_state_names[] = {"incomplete", "reachable", "stale",
                                                             "probe", "failed"};

/// One that is known or asked for, as it is now.
struct known_neighbour {
    uint16_t interface = 0;  ///< place
    ip_address address{};
    uint32_t hop = 0;
    neighbour_state state = neighbour_state::incomplete;
    bool gateway = false, fixed = false;
    std::optional<mac_address> mac{};
    size_t held = 0;  ///< packets that wait for it
};

/// Its MAC address became known, another one, or does not answer any more.
struct neighbour_event {
    known_neighbour whose{};
    std::optional<mac_address> from{}, to{};
};

/// What the state machine asks of its surroundings. All are called from within its own functions.
struct neighbour_actions {
    /// Ask who has the address; to `known` alone where it is not null. False: not yet, ask again.
    std::function<bool(uint16_t interface, const ip_address&, const mac_address* known)> solicit;
    /// A packet that waited can go: its next hop is ready.
    std::function<void(rte_mbuf*, const datapath::next_hop&)> send;
    /// A packet that waited, or came, cannot go.
    std::function<void(rte_mbuf*, packet::drop_reason)> give_up;
    /// For the log.
    std::function<void(const neighbour_event&)> tell = [](const neighbour_event&) {};
};

/// What an answer or announcement says (RFC 4861 section 4.4).
struct neighbour_claim {
    std::optional<mac_address> mac{};  ///< none: its address is not said, and stays
    bool solicited = false;            ///< an answer to us: it proves that the neighbour hears us
    bool overrides = true;             ///< may replace another MAC address
};

/// Threads  control. Times in milliseconds of a clock that does not go back.
class neighbours : public owner {
  public:
    /// most_held  packets that wait for all neighbours together
    neighbours(next_hops& hops, route_tables& host_routes, uint32_t most_held,
               neighbour_actions actions);
    ~neighbours() override;

    /// Gateways of routes and fixed neighbours; what is on an interface that goes, goes.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Takes a packet that is ready but for its neighbour's MAC address: sent, held or given up.
    void resolve(rte_mbuf* packet, uint16_t interface, const ip_address& a, uint64_t now_ms);
    /// The same for what was punted by the hop of a neighbour. False: it is no neighbour's.
    [[nodiscard]] bool resolve_by_hop(rte_mbuf* packet, uint32_t hop, uint64_t now_ms);
    /// Somebody on the link said who it is; `create`: it also asked for us, so we will answer it.
    void learn(uint16_t interface, const ip_address& a, const mac_address& mac, bool create,
               uint64_t now_ms);
    /// An answer or an announcement; changes only what is known or asked for.
    void confirm(uint16_t interface, const ip_address& a, const neighbour_claim& claim,
                 uint64_t now_ms);
    /// The link went down: nothing known of it holds.
    void flush(uint16_t interface, packet::drop_reason why, uint64_t now_ms);
    /// What time has brought. Call every few milliseconds.
    void tick(uint64_t now_ms);
    /// Give up everything held; for the end.
    void give_up_all(packet::drop_reason why);

    /// In order of (place, address) from those on, until `visit` answers false.
    void for_each(uint16_t from_interface, const ip_address& from,
                  const std::function<bool(const known_neighbour&)>& visit) const;
    /// Whose hop it is; none: no neighbour's.
    [[nodiscard]] std::optional<known_neighbour> of_hop(uint32_t hop) const;

    [[nodiscard]] bool knows(uint16_t interface, const ip_address& a) const noexcept {
        return entries_.contains({interface, a});
    }
    /// An answer is awaited.
    [[nodiscard]] bool asks(uint16_t interface, const ip_address& a) const noexcept;

    [[nodiscard]] uint64_t held() const noexcept { return waiting_.size(); }
    [[nodiscard]] uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
    [[nodiscard]] const state::neighbour_limits& limits() const noexcept { return limits_; }
    [[nodiscard]] std::array<uint32_t, static_cast<size_t>(neighbour_state::count_)> by_state()
        const;
    /// Timers that are set, one a neighbour at most.
    [[nodiscard]] size_t timers() const noexcept { return timers_.size(); }

  private:
    struct entry;
    struct waiting {
        rte_mbuf* packet;
        entry* at;
    };
    using waiting_list = std::list<waiting>;
    using key = std::pair<uint16_t, ip_address>;
    /// What may be taken, the first kind first; each list the least recently used first.
    enum class worth : uint8_t { failed, unsolicited, solicited, count_ };
    using lru = std::list<entry*>;
    using timer_set = std::set<std::pair<uint64_t, key>>;

    struct entry {
        uint16_t interface = 0;
        uint8_t vrf = 0;  ///< the interface's
        ip_address address{};
        uint32_t hop = 0;
        neighbour_state state = neighbour_state::incomplete;
        bool gateway = false;
        bool fixed = false;      ///< its MAC address was configured: reachable for ever
        bool asked_for = false;  ///< it answered us, or traffic wanted it
        bool has_route = false;
        uint32_t attempts = 0;
        uint64_t deadline_ms = 0, stale_since_ms = 0;
        mac_address mac{};
        std::vector<waiting_list::iterator> held{};
        lru* ranked_in = nullptr;
        lru parked{};  ///< its own node, while it is in no list: moving it takes no memory
        lru::iterator rank{};
        timer_set::node_type timer{};  ///< likewise
    };
    struct of_interface {
        std::array<lru, static_cast<size_t>(worth::count_)> takeable{};
        uint32_t entries = 0;
        bool routed = false;
        const datapath::interface* about = nullptr;  ///< in the view that runs
        std::vector<ip_prefix> networks{};
        uint32_t link_hop = 0;  ///< of what routes lead to its link
    };
    class staged_neighbours;

    [[nodiscard]] known_neighbour shown(const entry& e) const;
    entry* find(uint16_t interface, const ip_address& a);
    entry* make(uint16_t interface, const ip_address& a, uint64_t now_ms);
    entry* insert(uint16_t interface, const ip_address& a, const datapath::interface& on);
    bool evict(uint16_t interface, uint64_t now_ms);
    entry* victim(of_interface& i);
    void forget(entry& e, packet::drop_reason why, uint64_t now_ms);
    [[nodiscard]] lru* list_of(const entry& e);
    void rank(entry& e);
    void keep_rank(entry& e);
    void unrank(entry& e);
    void start_asking(entry& e, uint64_t now_ms);
    void ask(entry& e, uint64_t now_ms);
    void hold(entry& e, rte_mbuf* packet);
    void become_reachable(entry& e, uint64_t now_ms);
    void become_stale(entry& e, uint64_t now_ms);
    void fail(entry& e, uint64_t now_ms);
    void set_mac(entry& e, const mac_address& mac);
    [[nodiscard]] bool is_on_network(const entry& e) const noexcept;
    void lose_mac(entry& e);
    void release(entry& e);
    void give_up_held(entry& e, packet::drop_reason why);
    void set_timer(entry& e, uint64_t at_ms);
    void stop_timer(entry& e);
    void on_time(entry& e, uint64_t now_ms);
    void resolve_at(entry& e, rte_mbuf* packet, uint64_t now_ms);

    next_hops& hops_;
    route_tables& host_routes_;
    const uint32_t most_held_;
    neighbour_actions actions_;
    state::neighbour_limits limits_{};
    std::map<key, std::unique_ptr<entry>> entries_;
    std::map<uint32_t, entry*> by_hop_;
    std::vector<of_interface> interfaces_;  ///< by place
    uint32_t routed_interfaces_ = 0;
    timer_set timers_;
    waiting_list waiting_;  ///< oldest first
};

}  // namespace turnpike::control
