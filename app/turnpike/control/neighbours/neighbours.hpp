// SPDX-License-Identifier: BSD-3-Clause
// The neighbour state machine of RFC 4861 section 7.3, used for ARP, too.
//
//   unknown --packet--> incomplete --answer--> reachable --time--> stale --used--> probe
//                         ^     |                  ^                 |               |
//                       packet  silence            +---- answer -----|---------------+
//                         |     v                                 unused,         silence
//                         | failed (waiting packets are dropped)   long              |
//                         |     |                                    v               |
//                         |     +--unused, time--> forgotten <-------+               |
//                         +----------------------------------------------------------+
//
// A neighbour has a next hop while its entry exists: kind glean while the MAC address is unknown,
// kind adjacency while it is known, and then a host route, too. A failed neighbour's next hop is of kind failed,
// with a host route: workers drop its packets, and it is probed once per retransmit_ms while they do. A gateway's
// entry is never deleted: routes refer to its next hop. Control only.
//
// Limits (RFC 6583): entries other than gateways and static ones are dynamic. At their maximum, the least recently used
// dynamic entry is evicted, of an interface above its fair share of them (neighbour_eviction.cpp), and in this order:
// unanswered entries, entries from unsolicited messages, entries that we resolved, reachable entries. The rest of the
// table is kept for gateways and static neighbours, which are never evicted. The
// total of waiting packets is limited; the oldest is dropped first. Multicast solicitations are limited per
// interface, so that a scan of a network is no flood on its link; probes of known neighbours are not limited,
// because their number is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "base/token_bucket.hpp"
#include "control/routing/next_hops.hpp"
#include "control/routing/route_tables.hpp"
#include "control/transaction.hpp"
#include "datapath/drop_reason.hpp"
#include "net/ip.hpp"

struct rte_mbuf;

namespace turnpike::control {

enum class neighbour_state : uint8_t { incomplete, reachable, stale, probe, failed, count_ };
inline constexpr std::string_view neighbour_state_names[] = {"incomplete", "reachable", "stale",
                                                             "probe", "failed"};

/// A neighbour entry, for display.
struct known_neighbour {
    uint16_t interface = 0;  ///< interface index
    ip_address address{};
    uint32_t nexthop = 0;
    neighbour_state state = neighbour_state::incomplete;
    bool gateway = false, fixed = false;
    std::optional<mac_address> mac{};
    size_t pending = 0;  ///< waiting packets
};

/// A neighbour was resolved, changed its MAC address, or became unreachable.
struct neighbour_event {
    known_neighbour whose{};
    std::optional<mac_address> from{}, to{};
};

/// Callbacks of the state machine, called from within its functions.
struct neighbour_callbacks {
    /// Send a solicitation, unicast if `known` is not null. False: not possible now, retry.
    std::function<bool(uint16_t interface, const ip_address&, const mac_address* known)> solicit;
    /// Send a waiting packet: its next hop is an adjacency now.
    std::function<void(rte_mbuf*, const datapath::next_hop&)> send;
    /// Drop a packet under a reason.
    std::function<void(rte_mbuf*, datapath::drop_reason)> drop;
    /// Log a change. Must not throw: it is called in the midst of one.
    std::function<void(const neighbour_event&)> notify = [](const neighbour_event&) {};
};

/// Contents of an advertisement or ARP reply (RFC 4861 section 4.4).
struct neighbour_claim {
    /// none: no link-layer address option; the entry's address stays
    std::optional<mac_address> mac{};
    bool solicited = false;  ///< solicited: proves reachability
    bool overrides = true;   ///< may replace another MAC address
};

/// Threads  control. Times in milliseconds of a monotonic clock.
class neighbours {
  public:
    /// max_held  maximum of waiting packets, for all neighbours together
    neighbours(next_hops& nexthops, route_tables& host_routes, uint32_t max_held,
               neighbour_callbacks callbacks);
    ~neighbours();

    /// Gateways of routes and static neighbours; deletes the entries of removed interfaces.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(const transaction& c,
                                                                   routes_in_progress& r);

    /// The next hop of a gateway of the kernel's routes, without a transaction. Its entry stays until a transaction finds
    /// no route by it.
    /// grouped  the gateway is a member of an ECMP group that leaves out failed neighbours
    /// Returns  none: no room, or our own address: a transaction decides. Throws std::bad_alloc with nothing changed
    [[nodiscard]] std::optional<uint32_t> add_gateway(uint16_t interface, const ip_address& a,
                                                      bool grouped);

    /// Send a packet that lacks only the MAC address, queue it, or drop it. Takes ownership.
    void resolve(rte_mbuf* packet, uint16_t interface, const ip_address& a, uint64_t now_ms);
    /// The same for a packet punted by a neighbour's next hop. False: the index is not a
    /// neighbour's.
    [[nodiscard]] bool resolve_by_nexthop(rte_mbuf* packet, uint32_t nexthop, uint64_t now_ms);
    /// A request with the sender's MAC address; `create`: it was addressed to us, so make an entry
    /// for the reply.
    void learn(uint16_t interface, const ip_address& a, const mac_address& mac, bool create,
               uint64_t now_ms);
    /// An advertisement or reply; updates existing entries only.
    void confirm(uint16_t interface, const ip_address& a, const neighbour_claim& claim,
                 uint64_t now_ms);
    /// Dynamic entries: of an interface, of an address, or all.
    struct filter {
        std::optional<uint16_t> interface {};
        std::optional<ip_address> address{};
    };
    /// A flush deletes dynamic entries, and drops the packets that wait for static ones, too. Gateways are
    /// resolved anew: at once, or by their next packet if the link is down or solicitations are over their rate.
    /// Entries that are made or confirmed after its begin stay.
    class flush;
    [[nodiscard]] flush begin_flush(const filter& which, datapath::drop_reason why) noexcept;
    /// One part of a flush: visits at most max_visited entries, and deletes at most max_deleted.
    void continue_flush(flush& f, uint64_t now_ms);
    /// tick() executes the flush, a part each time.
    void flush_by_ticks(const filter& which, datapath::drop_reason why);
    static constexpr uint32_t max_visited = 4096, max_deleted = 128, max_timers = 128;
    /// Run expired timers, at most max_timers. Call every few milliseconds.
    void tick(uint64_t now_ms);
    /// Drop all waiting packets, for shutdown.
    void drop_all_pending(datapath::drop_reason why);

    /// Visit entries in order of (interface, address), from the given key on, until `visit` answers
    /// false.
    void for_each(uint16_t from_interface, const ip_address& from,
                  const std::function<bool(const known_neighbour&)>& visit) const;
    /// The neighbour of a next hop; none: not a neighbour's next hop.
    [[nodiscard]] std::optional<known_neighbour> of_nexthop(uint32_t nexthop) const;

    /// The length of a changed route's prefix, compared with a connected network's, from which on the route decides whether a
    /// neighbour is in the network; as_long: an operator's route to the network itself goes before it.
    enum class decides : uint8_t { longer, as_long, any_length };
    /// Whether the prefix of such a route of a VRF contains a neighbour.
    [[nodiscard]] bool any_in(uint8_t vrf, const state::route_changes& what, decides which) const;
    [[nodiscard]] bool knows(uint16_t interface, const ip_address& a) const noexcept {
        return entries_.contains({interface, a});
    }
    /// Whether a solicitation is outstanding.
    [[nodiscard]] bool asks(uint16_t interface, const ip_address& a) const noexcept;
    /// Whether a neighbour of the kernel's that was left out would find room now.
    [[nodiscard]] bool has_room() const noexcept;

    [[nodiscard]] uint64_t pending() const noexcept { return waiting_.size() + aside_.size(); }
    [[nodiscard]] uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
    [[nodiscard]] const state::neighbour_limits& limits() const noexcept { return limits_; }
    [[nodiscard]] std::array<uint32_t, static_cast<size_t>(neighbour_state::count_)> by_state()
        const;
    /// Number of running timers, at most one per neighbour.
    [[nodiscard]] size_t timers() const noexcept { return timers_.size(); }

  private:
    struct entry;
    struct waiting {
        rte_mbuf* packet;
        entry* at;
    };
    using waiting_list = std::list<waiting>;
    using key = std::pair<uint16_t, ip_address>;
    /// Eviction classes, the first class first; each list is in LRU order.
    enum class worth : uint8_t { failed, unsolicited, solicited, reachable, count_ };
    using lru = std::list<entry*>;
    using timer_set = std::set<std::pair<uint64_t, key>>;

    struct entry {
        uint16_t interface = 0;
        uint8_t vrf = 0;  ///< the interface's VRF
        ip_address address{};
        nexthop_handle handle{};
        uint32_t nexthop = 0;  ///< its index
        neighbour_state state = neighbour_state::incomplete;
        bool gateway = false;
        /// a member of an ECMP group, which is left out while the neighbour does not answer: it is probed meanwhile
        bool grouped = false;
        bool fixed = false;      ///< static entry with a configured MAC address: always reachable
        bool asked_for = false;  ///< solicited by us, or used by traffic
        bool has_route = false;
        uint32_t attempts = 0;
        uint32_t since =
            0;  ///< number of the last flush that began before it was made or confirmed
        uint64_t deadline_ms = 0;
        uint64_t unused_since_ms = 0;  ///< states stale and failed
        mac_address mac{};
        std::vector<waiting_list::iterator> pending{};
        lru* ranked_in = nullptr;
        lru parked{};  ///< its list node while it is in no list: moving it does not allocate
        lru::iterator rank{};
        timer_set::node_type timer{};  ///< timer node, likewise
    };
    struct of_interface {
        std::array<lru, static_cast<size_t>(worth::count_)> takeable{};  ///< dynamic entries
        uint32_t entries = 0;
        /// as of the last change: the snapshot is copied and freed when a device vanishes or is reopened; none: not routed
        std::optional<datapath::interface> about{};
        std::vector<ip_prefix> networks{};
        uint32_t link_nexthop = 0;  ///< next hop of its on-link networks
        token_bucket solicitations{};
    };
    class prepared_neighbours;
    /// Maximum number of entries for the kernel's gateways and permanent neighbours.
    static size_t max_learned(const state::neighbour_limits& l) noexcept {
        return l.limit - l.limit / reserved_share;
    }

    [[nodiscard]] known_neighbour shown(const entry& e) const;
    entry* find(uint16_t interface, const ip_address& a);
    enum class role : uint8_t { dynamic, lasting };  ///< lasting: a gateway or static neighbour
    entry* make(uint16_t interface, const ip_address& a, role is, uint64_t now_ms);
    entry* insert(uint16_t interface, const ip_address& a, const datapath::interface& on);
    [[nodiscard]] size_t max_dynamic(uint32_t limit) const noexcept;
    [[nodiscard]] bool has_room_for(role is, uint32_t limit) const noexcept;
    entry* victim_for(uint16_t interface, role is, uint32_t limit);
    /// The packets of an evicted entry are dropped by make_room(), or by control's next tick() where management prepares a
    /// transaction: counters and captures have one writer.
    enum class dropped_by : uint8_t { caller, tick };
    bool make_room(uint16_t interface, role is, uint32_t limit, dropped_by by, uint64_t now_ms);
    static entry* victim(of_interface& i, worth most);
    void forget(entry& e, datapath::drop_reason why, uint64_t now_ms);
    [[nodiscard]] lru* list_of(const entry& e);
    void rank(entry& e);
    void update_rank(entry& e);
    void unrank(entry& e);
    void start_asking(entry& e, uint64_t now_ms);
    void ask(entry& e, uint64_t now_ms);
    void hold(entry& e, rte_mbuf* packet);
    void become_reachable(entry& e, uint64_t now_ms);
    void become_stale(entry& e, uint64_t now_ms);
    void fail(entry& e, uint64_t now_ms);
    void probe_failed(entry& e, uint64_t now_ms);
    [[nodiscard]] bool may_solicit(uint16_t interface, uint64_t now_ms) noexcept;
    void add_host_route(entry& e);
    void set_mac(entry& e, const mac_address& mac);
    [[nodiscard]] bool is_on_network(const entry& e) const noexcept;
    void lose_mac(entry& e);
    [[nodiscard]] bool drops_packets(const entry& e) const noexcept;
    void release(entry& e);
    void drop_pending(entry& e, datapath::drop_reason why);
    void drop_aside();
    void flush_entry(entry& e, flush& f, uint64_t now_ms);
    void set_timer(entry& e, uint64_t at_ms);
    void stop_timer(entry& e);
    void on_time(entry& e, uint64_t now_ms);
    void resolve_at(entry& e, rte_mbuf* packet, uint64_t now_ms);

    next_hops& nexthops_;
    route_tables& host_routes_;
    const uint32_t max_held_;
    neighbour_callbacks callbacks_;
    state::neighbour_limits limits_{};
    std::minstd_rand random_{std::random_device{}()};
    std::map<key, std::unique_ptr<entry>> entries_;
    std::map<std::pair<uint8_t, ip_address>, uint32_t> addresses_;  ///< number of entries by VRF
    std::map<uint32_t, entry*> by_nexthop_;
    std::vector<of_interface> interfaces_;  ///< by interface index
    uint32_t routed_interfaces_ = 0;
    size_t learned_ = 0;  ///< entries for the kernel's gateways and permanent neighbours
    size_t dynamic_ = 0;  ///< entries in the lists of interfaces_
    timer_set timers_;
    uint32_t flushes_begun_ = 0;
    std::list<flush> flushes_{};  ///< of flush_by_ticks()
    waiting_list waiting_;        ///< oldest first
    waiting_list aside_;          ///< of evicted entries, for the next tick()
};

class neighbours::flush {
  public:
    flush() = default;
    [[nodiscard]] bool is_done() const noexcept { return done_; }
    /// Number of deleted dynamic entries.
    [[nodiscard]] uint32_t deleted() const noexcept { return deleted_; }

  private:
    friend neighbours;
    filter which_{};
    datapath::drop_reason why_{};
    uint32_t number_ = 0, deleted_ = 0;
    key next_{};
    bool done_ = false;
};

}  // namespace turnpike::control
