// SPDX-License-Identifier: BSD-3-Clause
// The bridges of the snapshot, and the FDB: workers send new sources by rings; control inserts the entries into the
// table that all workers read, and removes them after the bridge's ageing time.
//
//   worker --ring--> learn --> station_table --> workers
//   worker --map of active entries, exchanged every second--> sweep --> forget
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/forwarding/workers.hpp"
#include "control/neighbours/neigh_binding_table.hpp"
#include "control/transaction.hpp"
#include "datapath/bridge.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// An FDB entry, for display.
struct known_fdb_entry {
    mac_address mac{};
    uint16_t domain = 0,
             ifindex = 0;  ///< domain and interface index; a routed interface: our own address
    bool fixed = false, dampened = false;
    uint64_t age_s = 0;  ///< of learned entries: since the last frame
};

/// Statistics of a bridge's FDB.
struct bridge_numbers {
    uint32_t learnt = 0;  ///< current number of learned entries
    uint64_t learnt_ever = 0, moves = 0, aged = 0, dampened = 0;
    uint64_t refused = 0;  ///< not learned: limit of the bridge or member reached
};

/// Threads  control.
class bridges : public config_handler {
  public:
    /// tell  called when an entry is dampened, for the log
    using hold_function =
        std::function<void(const mac_address&, uint16_t held_at, uint16_t other, uint32_t hold_s)>;
    bridges(workers& w, rcu::qsbr& rcu, hold_function notify)
        : workers_(w), rcu_(rcu), notify_(std::move(notify)) {}

    /// Needs port_index_of, ifindex_of, snapshot.interfaces and snapshot.queues; fills snapshot.bridges.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Process workers' messages, and ageing. Call every iteration.
    void tick(uint64_t now_ms);

    /// Filter of learned entries to delete; empty fields: any.
    struct which {
        std::string bridge{};
        std::optional<uint16_t> ifindex{};  ///< interface index of a member
        std::optional<uint16_t> vlan{};
        std::optional<mac_address> mac{};
    };
    /// Answers  the number of deleted entries
    uint32_t forget(const which& w) noexcept;

    /// Visit entries from a number on, until `visit` answers false.
    void for_each(uint32_t from,
                  const std::function<bool(uint32_t number, const known_fdb_entry&)>& visit) const;
    [[nodiscard]] bool fits(const known_fdb_entry& s, const which& w) const noexcept;

    [[nodiscard]] const bridge_numbers& numbers_of(const std::string& bridge) const;
    [[nodiscard]] uint16_t first_domain_of(const std::string& bridge) const;
    /// Name and VLAN of a domain; empty name: unused.
    [[nodiscard]] std::pair<std::string, uint16_t> name_of(uint16_t domain) const;
    /// Totals of all workers.
    struct counts {
        uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, flooded = 0;
    };
    [[nodiscard]] counts counted(uint16_t domain) const noexcept;
    /// The life of the bridge's counters (observe/report.hpp).
    [[nodiscard]] uint64_t life_of(const std::string& bridge) const;
    /// Sources that workers could not send because the ring was full.
    [[nodiscard]] uint64_t messages_lost() const noexcept;
    [[nodiscard]] uint32_t fdb_entries() const noexcept { return used_; }
    [[nodiscard]] const datapath::fdb_table* table() const noexcept { return table_.get(); }
    /// Null: no member has had neigh_suppress yet.
    [[nodiscard]] neigh_binding_table* addresses() noexcept { return addresses_.get(); }
    /// Interface of an FDB entry; 0: no entry.
    [[nodiscard]] uint16_t ifindex_of(uint64_t mac, uint16_t domain) const noexcept {
        return datapath::fdb_entry(table_->find(mac | uint64_t{domain} << 48).value_or(0))
            .ifindex();
    }

  private:
    class prepared_bridges;
    enum class kind : uint8_t { free, learnt, fixed, local };
    struct entry {
        datapath::fdb_key key = 0;
        uint16_t ifindex = 0,
                 home = 0;  ///< home: the interface where it last stayed (bridges::move)
        kind is = kind::free;
        bool dampened = false;
        uint16_t moves = 0;  ///< in the current period
        static_assert(state::move_damping::max_moves < UINT16_MAX);
        uint32_t heard_s = 0, dampened_until_s = 0;
        uint64_t moves_since_ms = 0;
        uint64_t moved_ms = 0;  ///< its last move, or the end of its hold
    };
    struct bridge_row {
        uint16_t number = 0, first_domain = 0;
        bool vlan_aware = false;
        bridge_numbers numbers{};
        uint32_t max_addresses = 0, ageing_s = 0;
        state::move_damping damping{};
        uint64_t life = 0;
        /// Counters that its domains had from earlier bridges.
        std::shared_ptr<const std::vector<counts>> before{};
    };
    struct configured_fdb_entry {
        uint16_t ifindex = 0;
        kind is = kind::fixed;
        bool operator==(const configured_fdb_entry&) const = default;
    };
    using rows = std::map<std::string, bridge_row, std::less<>>;
    using configured = std::map<datapath::fdb_key, configured_fdb_entry>;

    result<void> ready_table();
    result<void> ready_addresses();
    void drop_of_removed(const std::vector<bridge_row*>& next) noexcept;
    void drop_misplaced() noexcept;
    void process_learned();
    void learn(const datapath::learnt_fdb_entry& l);
    /// By the limit of a member.
    [[nodiscard]] bool has_room(uint16_t ifindex) const noexcept;
    void move(uint32_t number, uint16_t to);
    bool put(uint32_t number) noexcept;
    std::optional<uint32_t> add(datapath::fdb_key key, uint16_t ifindex, kind is) noexcept;
    void remove(uint32_t number) noexcept;
    void mark_changed() noexcept {
        changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    void reconcile() noexcept;
    void exchange_maps();
    void read_maps() noexcept;
    void sweep(uint32_t most) noexcept;
    void sweep_entry(uint32_t number) noexcept;
    [[nodiscard]] std::optional<uint32_t> find(datapath::fdb_key key) const noexcept;
    /// Null: no bridge has the domain.
    [[nodiscard]] static bridge_row* row_of(uint16_t domain,
                                            const std::vector<bridge_row*>& by_domain) noexcept;
    [[nodiscard]] bridge_row* row_of(uint16_t domain) const noexcept {
        return row_of(domain, by_domain_);
    }
    [[nodiscard]] counts sum_of(uint16_t domain) const noexcept;
    [[nodiscard]] known_fdb_entry shown(const entry& e) const noexcept;

    workers& workers_;
    rcu::qsbr& rcu_;
    hold_function notify_;
    std::unique_ptr<datapath::fdb_table> table_;      ///< created with the first bridge
    std::unique_ptr<neigh_binding_table> addresses_;  ///< created with the first neigh_suppress
    std::unique_ptr<datapath::bridge_tables> shown_;  ///< published tables
    rows rows_;
    std::vector<bridge_row*> by_domain_;  ///< by domain number (bridge_snapshot.cpp); null: unused
    configured configured_;               ///< entries that are not learned: static and local ones
    std::vector<entry> entries_;
    std::vector<uint32_t> free_;
    std::array<uint32_t, datapath::max_interfaces> learnt_at_{};
    uint32_t used_ = 0, sweep_at_ = 0, sweep_end_ = 0;
    std::vector<uint64_t> talked_;  ///< union of all workers' maps since the last exchange
    /// maps that workers have left, or leave during the grace period
    std::vector<uint64_t*> maps_before_;
    bool exchanging_ = false;
    uint64_t now_ms_ = 0, now_s_ = 0, next_exchange_ms_ = 0;
    std::atomic<uint32_t> changes_{0};  ///< datapath::bridge_tables::station_changes
    bool incomplete_ = false;  ///< out of memory: configured_ is not completely in the table
};

}  // namespace turnpike::control
