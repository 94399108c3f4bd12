// SPDX-License-Identifier: BSD-3-Clause
// The bridges of the view, and who is behind which member: learnt by workers, told to us by rings, put into
// the table that all workers look into, and taken out when it has been silent for its bridge's ageing time.
//
//   worker --ring--> learn --> station_table --> workers
//   worker --map of who talked, exchanged every second--> sweep --> forget
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/change.hpp"
#include "control/heard_addresses.hpp"
#include "control/workers.hpp"
#include "datapath/bridge.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// A station as it is now.
struct known_station {
    mac_address mac{};
    uint16_t domain = 0, place = 0;  ///< of an interface; a routed one: it is ours
    bool fixed = false, held = false;
    uint64_t age_s = 0;  ///< since it was heard; of those that were learnt
};

/// What one bridge's stations did.
struct bridge_numbers {
    uint32_t learnt = 0;  ///< known now, by their own frames
    uint64_t learnt_ever = 0, moves = 0, aged = 0, held = 0;
    uint64_t refused = 0;  ///< not learnt: the bridge or its member knows as many as it may
};

/// Threads  control.
class bridges : public owner {
  public:
    /// tell  a station moves too often: for the log
    using hold_function =
        std::function<void(const mac_address&, uint16_t held_at, uint16_t other, uint32_t hold_s)>;
    bridges(workers& w, rcu::qsbr& rcu, hold_function tell)
        : workers_(w), rcu_(rcu), tell_(std::move(tell)) {}

    /// Needs port_place, interface_place, view.interfaces and view.queues; gives view.bridges.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// What workers learnt, and what time has brought. Call every round.
    void tick(uint64_t now_ms);

    /// Which of the learnt stations to forget; empty fields: any.
    struct which {
        std::string bridge{};
        std::optional<uint16_t> place{};  ///< of a member
        std::optional<uint16_t> vlan{};
        std::optional<mac_address> mac{};
    };
    /// Answers how many.
    uint32_t forget(const which& w) noexcept;

    /// From a number on, until `visit` answers false.
    void for_each(uint32_t from,
                  const std::function<bool(uint32_t number, const known_station&)>& visit) const;
    [[nodiscard]] bool fits(const known_station& s, const which& w) const noexcept;

    [[nodiscard]] const bridge_numbers& numbers_of(const std::string& bridge) const;
    [[nodiscard]] uint16_t first_domain_of(const std::string& bridge) const;
    /// Name and VLAN of a domain; no name: nobody's.
    [[nodiscard]] std::pair<std::string, uint16_t> name_of(uint16_t domain) const;
    /// Of all workers.
    struct counts {
        uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, flooded = 0;
    };
    [[nodiscard]] counts counted(uint16_t domain) const noexcept;
    /// Stations that workers could not tell us of in time.
    [[nodiscard]] uint64_t not_told() const noexcept;
    [[nodiscard]] uint32_t stations() const noexcept { return used_; }
    [[nodiscard]] const datapath::station_table* table() const noexcept { return table_.get(); }
    /// Null: no member has had neigh_suppress yet.
    [[nodiscard]] heard_addresses* addresses() noexcept { return addresses_.get(); }
    /// Where a station is; 0: it is not known.
    [[nodiscard]] uint16_t place_of(uint64_t mac, uint16_t domain) const noexcept {
        return datapath::station(table_->find(mac | uint64_t{domain} << 48).value_or(0)).place();
    }

  private:
    class staged_bridges;
    enum class kind : uint8_t { free, learnt, fixed, local };
    struct entry {
        datapath::station_key key = 0;
        uint16_t place = 0, home = 0;  ///< home: where it was when its moves began to be counted
        kind is = kind::free;
        bool held = false;
        uint16_t moves = 0;
        uint32_t heard_s = 0;
        uint32_t moves_since_s = 0, held_until_s = 0;
    };
    struct bridge_row {
        uint16_t number = 0, first_domain = 0;
        bool looks_at_vlans = false;
        bridge_numbers numbers{};
        uint32_t max_addresses = 0, ageing_s = 0;
        state::move_damping damping{};
    };
    struct wanted_station {
        uint16_t place = 0;
        kind is = kind::fixed;
        bool operator==(const wanted_station&) const = default;
    };
    using rows = std::map<std::string, bridge_row, std::less<>>;
    using wanted = std::map<datapath::station_key, wanted_station>;

    result<void> ready_table();
    result<void> ready_addresses();
    void drop_misplaced() noexcept;
    void take_learnt();
    void learn(const datapath::learnt_station& l);
    void move(uint32_t number, uint16_t to);
    bool put(uint32_t number) noexcept;
    std::optional<uint32_t> add(datapath::station_key key, uint16_t place, kind is) noexcept;
    void remove(uint32_t number) noexcept;
    void say_changed() noexcept {
        changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    void reconcile() noexcept;
    void exchange_maps();
    void read_maps() noexcept;
    void sweep(uint32_t most) noexcept;
    void look_at(uint32_t number) noexcept;
    [[nodiscard]] std::optional<uint32_t> find(datapath::station_key key) const noexcept;
    [[nodiscard]] bridge_row* row_of(uint16_t domain) noexcept;
    [[nodiscard]] known_station shown(const entry& e) const noexcept;

    workers& workers_;
    rcu::qsbr& rcu_;
    hold_function tell_;
    std::unique_ptr<datapath::station_table> table_;  ///< made with the first bridge
    std::unique_ptr<heard_addresses> addresses_;      ///< made with the first neigh_suppress
    std::unique_ptr<datapath::bridge_tables> shown_;  ///< what the view names
    rows rows_;
    std::vector<bridge_row*> by_domain_;  ///< by number (bridge_view.cpp); null: nobody's
    wanted wanted_;                       ///< stations that are not learnt
    std::vector<entry> entries_;
    std::vector<uint32_t> free_;
    std::array<uint32_t, datapath::max_interfaces> learnt_at_{};
    uint32_t used_ = 0, sweep_at_ = 0, sweep_end_ = 0;
    std::vector<uint64_t> talked_;        ///< of all workers, since the exchange before
    std::vector<uint64_t*> maps_before_;  ///< that workers have left, or are about to
    bool exchanging_ = false;
    uint64_t now_s_ = 0, next_exchange_ms_ = 0;
    std::atomic<uint32_t> changes_{0};  ///< datapath::bridge_tables::station_changes
    bool incomplete_ = false;           ///< wanted_ is not all in the table: memory was short
};

}  // namespace turnpike::control
