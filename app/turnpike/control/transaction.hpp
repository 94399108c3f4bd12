// SPDX-License-Identifier: BSD-3-Clause
// A transaction: every owner prepares its part of the new configuration, then all commit, then the
// replaced objects are released (doc/design/0009-change-sets.md).
//
//   prepare  allocates, opens, compiles. May fail or throw; the prepared parts are then destroyed in
//            reverse order, and nothing has changed
//   exchange only where a port must be closed before another can be opened, after every owner has
//            prepared. May fail; the closed ports are then opened again
//   commit   cannot fail. The controller publishes the new snapshot right after the last commit
//   retire   after a grace period: no worker has a reference to the replaced objects
//   settle   the kernel gets the addresses and the MTU of host interfaces
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "datapath/graph.hpp"
#include "state/changes.hpp"

namespace turnpike::control {

class control_calls;
struct open_port;

struct transaction {
    const state::configuration& before;
    const state::configuration& after;
    const state::changes& what;
    const state::followed& learned;               ///< the kernel's objects beside `after`
    const datapath::snapshot* running = nullptr;  ///< published snapshot; null at the start
    control_calls* beside = nullptr;  ///< prepared by management, which may block: calls to control
    /// the operator's configurations, without learned addresses
    std::shared_ptr<const state::configuration> operators_before{}, operators_after{};
    /// next snapshot, filled by the owners
    std::unique_ptr<datapath::snapshot> snapshot = std::make_unique<datapath::snapshot>();

    // Results of an owner's prepare() for the owners after it.
    struct worker {
        unsigned lcore = 0;
        bool forwards = false;
        int node = -1;  ///< NUMA node; -1: unknown
    };
    std::vector<worker> workers{};  ///< by worker number
    using ifindexes = std::map<std::string, uint16_t, std::less<>>;
    ifindexes port_index_of{}, ifindex_of{};
    /// Indices into snapshot::vrf; the main VRF, "", has 0.
    std::map<std::string, uint8_t, std::less<>> vrf_index_of{};
    /// Next hops of connected networks, local addresses and tunnels' ends, by VRF index.
    std::map<uint8_t, std::map<ip_prefix, uint32_t>> derived{};
    bool retries = false;  ///< the FIB is tried again with routes that it had no room for

    /// ACLs that acls::compile_changed() has compiled, by name.
    std::map<std::string, std::shared_ptr<datapath::acl_list>, std::less<>> compiled{};
    /// The lists of the next snapshot, by name; filled by acls.
    std::map<std::string, std::shared_ptr<datapath::acl_list>, std::less<>> lists{};

    /// By worker: queues in a temporary snapshot that is published before `snapshot`, where queues move
    /// (queues.hpp).
    std::vector<datapath::worker_queues> hand_over{};

    /// Ports that exchange() removes from the snapshot and closes before open_rest(). Empty: none.
    std::vector<std::shared_ptr<open_port>> closes_first{};
    /// Opens the remaining ports and completes the snapshot's ports and queues. False: a port's MAC
    /// address differs from the one that other owners have prepared with.
    std::function<result<bool>()> open_rest{};
};

/// The prepared part of an owner. Destruction without commit() rolls it back.
class prepared_change {
  public:
    prepared_change() = default;
    prepared_change(const prepared_change&) = delete;
    prepared_change& operator=(const prepared_change&) = delete;
    virtual ~prepared_change() = default;
    virtual void commit() noexcept = 0;
    virtual void retire() noexcept {}
    /// Then: requests to the kernel that follow from the commit, which may wait for other programs.
    virtual void settle() noexcept {}
};

/// The owner of all objects of one kind. No other code changes these objects.
/// Threads  prepare(), settle() and the destruction of staged objects: control, or management during a loan; commit() and
///          retire(): control
class config_handler {
  public:
    config_handler() = default;
    config_handler(const config_handler&) = delete;
    config_handler& operator=(const config_handler&) = delete;
    virtual ~config_handler() = default;
    /// Errors  with the place in the configuration file and a remedy; may throw
    [[nodiscard]] virtual result<std::unique_ptr<prepared_change>> prepare(transaction& c) = 0;
};

}  // namespace turnpike::control
