// SPDX-License-Identifier: BSD-3-Clause
// The appliance: what the configuration describes, brought up, watched, reported on and taken down.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/model.hpp"
#include "control/acls.hpp"
#include "control/outlet.hpp"
#include "control/pcie_bill.hpp"
#include "control/router.hpp"
#include "cost/report.hpp"
#include "datapath/worker.hpp"
#include "pcie/profile.hpp"
#include "rxtx/port.hpp"

struct rte_mempool;

namespace turnpike::control {

struct run_options {
    double duration_s = 0;        ///< 0: until stopped
    double stats_interval_s = 0;  ///< 0: no table while running
};

/// Threads  the main lcore only; EAL must run.
class appliance {
  public:
    /// Pool, ports, queues and workers as the model says; ports started, nothing polled yet.
    /// Errors  with the place in the configuration; nothing stays behind
    [[nodiscard]] static result<std::unique_ptr<appliance>> bring_up(const config::model& model);
    ~appliance();
    appliance(const appliance&) = delete;
    appliance& operator=(const appliance&) = delete;

    /// Forward until `stop` or the duration is over. Workers are stopped when it returns; what they
    /// had in hand is sent.
    void run(const std::atomic<bool>& stop, const run_options& options);

    /// Stop and close the ports; buffers are back in the pool. After run(), before report().
    void take_down() noexcept;

    [[nodiscard]] cost::report report();

  private:
    explicit appliance(const config::model& model) : model_(model) {}
    result<void> choose_lcores();
    result<void> make_pool();
    result<void> plan_workers();
    result<void> open_ports();
    result<void> start_ports();
    result<void> make_rcu_domain();
    result<void> set_up_routing();
    result<void> set_up_acls();
    result<rte_ring*> make_ring(const char* what, size_t worker);
    void listen(uint16_t port);
    void watch_links();
    void watch_pool() noexcept;
    void take_punted();
    void drop_punted() noexcept;
    void look_at_ports();
    void count_kept_buffers() noexcept;
    void control_tick(const run_options& options);

    const config::model& model_;
    rte_mempool* pool_ = nullptr;
    cost::mempool_report pool_facts_{};  ///< what does not change, and the low-water mark
    std::vector<unsigned> lcores_;
    std::vector<datapath::worker_plan> plans_;
    std::vector<uint16_t> tx_queues_;  ///< by port
    datapath::tables tables_;
    std::vector<rxtx::port> ports_;
    std::vector<pcie::nic_profile> pcie_profiles_;
    std::vector<pcie_facts> pcie_facts_;         ///< by port
    std::vector<cost::port_report> port_facts_;  ///< name, driver; and missed, once closed
    std::vector<std::unique_ptr<datapath::worker>> workers_;
    std::vector<rte_ring*> rings_;  ///< all of them, to be freed
    std::unique_ptr<outlet> outlet_;
    std::unique_ptr<router> router_;  ///< null where nothing is routed
    std::unique_ptr<acls> acls_;      ///< null where no access list is bound
    std::string ipv4_checksum_;
    uint32_t kept_by_drivers_ = 0;
    uint64_t started_ = 0, stopped_ = 0;  ///< TSC
    uint64_t next_link_check_ = 0, next_pool_look_ = 0, next_table_ = 0;
    std::unique_ptr<cost::report> last_table_;
    std::atomic<bool> stop_workers_{false};
};

}  // namespace turnpike::control
