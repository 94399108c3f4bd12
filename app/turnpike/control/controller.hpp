// SPDX-License-Identifier: BSD-3-Clause
// The controller: creates and owns all control objects, runs transactions through the owners, handles punted
// packets, and polls links, timers and the mbuf pool. Entry point of control.
//
//   metrics -> captures -> workers -> ports -> vrfs -> interfaces -> host stack -> bridges -> tunnels -> acls -> routing   prepare, so
//                                                                       exchange (transaction.hpp)
//                                                                       commit, publish the snapshot
//   routing -> ... -> workers                                            retire, after a grace period
#pragma once

#include <atomic>
#include <bitset>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control_tx.hpp"
#include "control/events.hpp"
#include "control/forwarding/acls.hpp"
#include "control/forwarding/bridges.hpp"
#include "control/forwarding/captures.hpp"
#include "control/forwarding/interface_counts.hpp"
#include "control/forwarding/interfaces.hpp"
#include "control/forwarding/latency_samples.hpp"
#include "control/forwarding/mirrors.hpp"
#include "control/forwarding/ports.hpp"
#include "control/forwarding/punt_counts.hpp"
#include "control/forwarding/sflow_export.hpp"
#include "control/forwarding/traces.hpp"
#include "control/forwarding/tunnels.hpp"
#include "control/forwarding/workers.hpp"
#include "control/host_interfaces/host_stack.hpp"
#include "control/management/control_calls.hpp"
#include "control/management/machine_counters.hpp"
#include "control/management/metrics_server.hpp"
#include "control/management/pcie_bill.hpp"
#include "control/routing/routing.hpp"
#include "control/slow_path/icmp.hpp"
#include "control/slow_path/message_rate.hpp"
#include "control/slow_path/redirects.hpp"
#include "control/slow_path/reserved.hpp"
#include "control/slow_path/slow_path.hpp"
#include "observe/baseline.hpp"
#include "observe/inventory.hpp"
#include "observe/rate_history.hpp"
#include "observe/report.hpp"
#include "observe/verdict.hpp"

struct rte_mempool;

namespace turnpike::control {

/// Callbacks of the main loop into the program, between two iterations.
struct outside {
    /// Ends the loop when it returns true.
    std::function<bool()> done;
    /// Called every iteration: the program's reloads and tables.
    std::function<void()> between = [] {};
};

/// Threads  the main lcore only; EAL must run.
class controller {
  public:
    /// Creates pool, workers, ports and tables from the configuration; ports are started, not yet
    /// polled.
    /// Errors  with the place in the configuration; everything is released
    [[nodiscard]] static result<std::unique_ptr<controller>> create(
        std::unique_ptr<const state::configuration> config, const counters_choice& counters = {});
    ~controller();
    controller(const controller&) = delete;
    controller& operator=(const controller&) = delete;

    /// Apply another configuration, whether or not workers run: all of it, or nothing.
    /// Answers  the differences
    /// Errors   with the place; the running configuration stays. Ports that were closed for the change and
    ///          cannot be reopened are lost, and the error names them
    [[nodiscard]] result<state::changes> apply(std::shared_ptr<const state::configuration> config,
                                               const to_retry& again = {}) noexcept;
    /// The same from the management thread, which does the long parts: it compiles ACLs before it has the tables, and
    /// compares, opens devices, creates host interfaces and writes routes while they are lent to it.
    /// Threads  management
    [[nodiscard]] result<state::changes> apply_beside(
        control_calls& calls, const std::shared_ptr<const state::configuration>& config,
        const to_retry& again) noexcept;
    /// Run `work` on the management thread with all tables to itself.
    /// Answers  the result of `work`; an exception passes on
    /// Threads  management
    template <class Work>
    std::invoke_result_t<Work> with_loan(control_calls& calls, Work&& work) {
        if (!calls.connected()) return work();
        struct loan {
            control_calls& calls;
            controller& of;
            loan(control_calls& c, controller& o) : calls(c), of(o) {
                calls.run([this] { of.lend(); });
                of.links_.conclude();
            }
            ~loan() {
                calls.run([this] {
                    of.end_loan();
                    of.handle_pending();
                });
            }
            loan(const loan&) = delete;
            loan& operator=(const loan&) = delete;
        };
        links_.wait();
        const loan held(calls, *this);
        return work();
    }
    /// Answers scrapes of the metrics that wait, under a loan.
    /// Threads  management
    void answer_scrapes(control_calls& calls) {
        if (metrics_->asked()) with_loan(calls, [this] { metrics_->answer(); });
    }
    /// The transactions that control repeats itself without a management thread: objects of the kernel that were left out,
    /// and a rollback that ran out of memory.
    /// Threads  management
    void repeat_beside(control_calls& calls);
    /// Closes devices that were unplugged.
    /// Threads  management
    void close_vanished(control_calls& calls);
    /// Opens `optional` ports without a device, when it is there. Looks every few seconds.
    /// Threads  management
    void open_absent(control_calls& calls);
    /// Programs the ports' MAC and VLAN filters after transactions of control's own.
    /// Threads  management
    void listen_beside(control_calls& calls);
    /// Whether a management thread answers scrapes and repeats transactions; else control does.
    void set_managed(bool on) noexcept;
    /// From now on, management reads and changes the tables; tick() only handles packets without them.
    void lend() noexcept;
    void end_loan() noexcept;
    /// Where control waits for management without tick(): management may wait for RCU readers, of which control is one
    /// during a loan.
    void pass_as_reader() noexcept;
    /// Handle the packets that waited for the end of a loan, and of the change that it was for.
    void handle_pending() noexcept;
    /// Replace the routes and other state learned from the kernel, beside the operator's
    /// configuration, as apply() does. If that fails, the learned state before stays.
    /// Returns  false: call it again until it returns true or an error: many new groups are made in several calls, and
    ///          management applies changes that would hold control up
    [[nodiscard]] result<bool> learn(state::learned now) noexcept;
    /// Calls of learn(). Most need no transaction: they write routes only.
    struct learned_batches {
        uint64_t all = 0, transactions = 0;
    };
    [[nodiscard]] const learned_batches& learned_so_far() const noexcept {
        return learned_batches_;
    }
    [[nodiscard]] const state::configuration& running() const noexcept { return *running_; }
    /// The kernel's routes and permanent neighbours that are in force beside running().
    [[nodiscard]] const state::followed& followed() const noexcept { return *followed_; }
    /// running() with shared ownership.
    [[nodiscard]] const std::shared_ptr<const state::configuration>& running_state()
        const noexcept {
        return running_;
    }

    /// Add an owner that was created at the start; it takes part from the next transaction on, as
    /// the first.
    void also(config_handler& o) { config_handlers_.insert(config_handlers_.begin(), &o); }
    /// Forward until `o.done`. When it returns, workers are stopped and their waiting packets are
    /// sent.
    void run(const outside& o);
    /// The control work between two iterations of run().
    void tick(uint64_t now_ms) noexcept;
    /// Stop and close the ports; all mbufs return to the pool. Call after run(), before report().
    void shut_down() noexcept;

    [[nodiscard]] observe::report report(bool rules = true) { return report_since({}, rules); }
    /// Report since the start, or since the operator last cleared the counters.
    /// rules  with the rules of ACLs, which can be a million
    [[nodiscard]] observe::report shown_report(bool rules = true) {
        return report_since(cleared_, rules);
    }
    /// A page of the ACLs of shown_report().
    [[nodiscard]] acls::page shown_acls(uint64_t from, uint64_t max_rules, bool rules) const {
        acls::page out = acls_->report_page(running(), from, max_rules, rules);
        for (observe::acl_report& one : out.lists) cleared_.subtract_from_list(one);
        return out;
    }
    [[nodiscard]] control::neighbours::flush begin_flush(
        const control::neighbours::filter& which) noexcept {
        return routing_->neighbours().begin_flush(which, datapath::drop_reason::neighbour_failed);
    }
    void continue_flush(control::neighbours::flush& f) {
        routing_->neighbours().continue_flush(f, slow_path_context_->now_ms);
    }
    /// From here on, counters of `show` begin at 0; workers' counters are not changed.
    void clear_counters();
    /// The same for a port and its interfaces.
    /// Returns  whether there is such a port
    [[nodiscard]] bool clear_port_counters(std::string_view name);
    [[nodiscard]] const observe::baseline& cleared_at() const noexcept { return cleared_; }
    /// Since the start, until the workers stopped.
    [[nodiscard]] double duration_s() const noexcept;
    /// Until now, or until forwarding stopped.
    [[nodiscard]] double seconds_since(uint64_t tsc) const noexcept;
    /// Number of applied transactions, including the start.
    [[nodiscard]] uint64_t changes() const noexcept { return changes_; }
    [[nodiscard]] const acls& lists() const noexcept { return *acls_; }
    [[nodiscard]] bool cleared() const noexcept { return !cleared_.is_start(); }
    /// Rates by object, from the samples that tick() adds each second.
    [[nodiscard]] const observe::rate_history& rates() const noexcept { return rates_; }
    /// The configuration changes, as JSON text of the request `states`, from the program's history.
    void set_changes_text(std::string text) noexcept { changes_text_ = std::move(text); }
    [[nodiscard]] const std::string& changes_text() const noexcept { return changes_text_; }
    void set_unfinished_changes(const observe::unfinished_changes& c) noexcept { unfinished_ = c; }
    [[nodiscard]] const observe::unfinished_changes& unfinished() const noexcept {
        return unfinished_;
    }
    /// The limiting resource since the last call that is at least a second ago, or since the start.
    [[nodiscard]] observe::verdict recent_verdict();

    // Accessors for the control socket, and for tests, which drive packets and time themselves.
    [[nodiscard]] control::workers& workers() noexcept { return *workers_; }
    [[nodiscard]] control::routing& routing() noexcept { return *routing_; }
    [[nodiscard]] const control::routing& routing() const noexcept { return *routing_; }
    [[nodiscard]] const next_hops& nexthops() const noexcept { return *nexthops_; }
    [[nodiscard]] const control::ports& ports() const noexcept { return *ports_; }
    [[nodiscard]] const control::interfaces& interfaces() const noexcept { return *interfaces_; }
    [[nodiscard]] const control::host_stack& host_interfaces() const noexcept { return *host_; }
    [[nodiscard]] control::host_stack& host_interfaces() noexcept { return *host_; }
    [[nodiscard]] control::bridges& bridges() noexcept { return *bridges_; }
    [[nodiscard]] const control::tunnels& tunnels() const noexcept { return *tunnels_; }
    [[nodiscard]] const sflow_export& sflow() const noexcept { return *sflow_; }
    /// By name, of the running configuration; none: nothing counts the interface.
    [[nodiscard]] std::map<std::string_view, observe::counted_traffic> counted_interfaces() const;
    [[nodiscard]] const latency_samples& latencies() const noexcept { return *latency_; }
    [[nodiscard]] const mirrors& mirroring() const noexcept { return *mirrors_; }
    [[nodiscard]] const slow_path::reserved& reserved() const noexcept { return *reserved_; }
    [[nodiscard]] traces& tracing() noexcept { return *traces_; }
    [[nodiscard]] captures& capturing() noexcept { return *captures_; }
    [[nodiscard]] const datapath::snapshot& snapshot() const noexcept { return *snapshot_; }
    [[nodiscard]] control_tx& egress() noexcept { return *control_tx_; }
    [[nodiscard]] rte_mempool* pool() const noexcept { return pool_; }
    [[nodiscard]] const rcu::qsbr& rcu() const noexcept { return *rcu_; }
    [[nodiscard]] bool has_link(const datapath::interface& i) const noexcept;
    /// Reads the links, which may wait for the kernel, and follows them.
    void poll_links(uint64_t now_ms);
    /// Another thread reads the links, until end_link_polls(). Before it begins (true), and after it has ended.
    void connect_link_polls(bool on) noexcept { links_.connect(on); }
    /// Threads  the other one
    void serve_link_polls() noexcept { links_.serve(); }
    /// Threads  any
    void end_link_polls() noexcept { links_.end(); }

  private:
    controller() = default;
    result<void> make(std::unique_ptr<const state::configuration> config);
    struct transaction_steps;
    void export_sflow_counters();
    [[nodiscard]] bool learn_routes(const state::learned& before, size_t& changed) noexcept;
    [[nodiscard]] uint64_t transaction_us(size_t changed_routes) const noexcept;
    [[nodiscard]] bool leaves_to_management(size_t changed_routes) const noexcept;
    [[nodiscard]] bool reclaim_learning() noexcept;
    [[nodiscard]] bool begin_to_learn() noexcept;
    void end_learning(const result<state::changes>& came) noexcept;
    result<state::changes> attempt(std::shared_ptr<const state::configuration> config,
                                   const to_retry& again) noexcept;
    result<void> compare(transaction_steps& u, const to_retry& again);
    result<void> prepare_owners(transaction_steps& u, size_t until);
    result<void> finish(transaction_steps& u);
    void settle(transaction_steps& u, bool by_control) noexcept;
    result<void> prepare_beside(control_calls& calls, transaction_steps& u, const to_retry& again);
    [[nodiscard]] size_t after_rings() const noexcept;
    result<void> compile_beside(control_calls& calls, transaction_steps& u) const;
    result<state::changes> finish_beside(std::optional<transaction_steps>& u,
                                         result<void> so_far) noexcept;
    result<state::changes> attempt_beside(control_calls& calls, std::optional<transaction_steps>& u,
                                          result<void> so_far, const to_retry& again) noexcept;
    result<state::changes> reopen_beside(control_calls& calls) noexcept;
    void tick_lent(uint64_t now_ms) noexcept;
    void hold(rte_mbuf* m) noexcept;
    [[nodiscard]] result<std::vector<pcie::nic_profile>> pcie_profiles_for(
        const state::changes& what, const state::configuration& config) const;
    [[nodiscard]] result<void> check_buffers(const state::configuration& config) const;
    [[nodiscard]] std::unique_ptr<datapath::snapshot> new_snapshot(
        const state::configuration& config) const;
    result<void> exchange(transaction_steps& u);
    std::unique_ptr<datapath::snapshot> withdraw(
        const std::vector<std::shared_ptr<open_port>>& some,
        std::vector<rxtx::port>* devices = nullptr);
    void bring_back(error& why, const std::function<result<state::changes>()>& reopen,
                    const std::function<void(uint16_t port)>& went_down) noexcept;
    void detect_vanished();
    void poll_links_beside(uint64_t now_ms);
    void note_link(open_port& port, bool up, uint64_t now_ms);
    void follow_link(uint16_t port);
    void follow_missed_links();
    void follow_links_of_groups();
    [[nodiscard]] bool incomplete() const noexcept;
    void complete();
    void log_incomplete();
    void retry_left_out(uint64_t now_ms);
    void log_left_out(uint64_t now_ms);
    void publish(std::unique_ptr<datapath::snapshot> next) noexcept;
    void wait_for_grace_period() noexcept;
    result<void> make_routing();
    void register_handlers();
    void receive_punted() noexcept;
    void link_changed(uint16_t port, bool up);
    [[nodiscard]] bool is_up(uint16_t port) const noexcept;
    [[nodiscard]] bool any_is_up(uint32_t ports) const noexcept;
    [[nodiscard]] bool may_use(const datapath::interface& i, uint16_t port) const noexcept;
    [[nodiscard]] bool comes_by(uint16_t bridge, uint16_t port, uint16_t ifindex) const noexcept;
    [[nodiscard]] bool has_new_port(const datapath::interface& i,
                                    const datapath::snapshot& before) const noexcept;
    void lose_link(uint16_t interface);
    /// had  as for slow_path::dad::begin
    void send_gratuitous_arp_and_na(uint16_t interface, std::span<const ipv6_address> had = {});
    void announce_changed(const state::configuration& before,
                          const datapath::snapshot* snapshot_before) noexcept;
    void follow_groups(const state::configuration& before);
    void poll_pool() noexcept;
    [[nodiscard]] std::vector<observe::rated_object> rated_objects() const;
    void poll_ports();
    void drop_leftovers();
    void count_kept_buffers() noexcept;
    [[nodiscard]] observe::port_totals counted(uint16_t port_index) const noexcept;
    [[nodiscard]] observe::report report_since(const observe::baseline& then, bool rules = true);

    rte_mempool* pool_ = nullptr;
    observe::mempool_report pool_facts_{};  ///< constant facts, and the low-water mark
    std::vector<pcie::nic_profile> pcie_profiles_;
    const isa::kernel<packet::ipv4_sum_function>* ipv4_sum_ = nullptr;
    const isa::kernel<packet::fast_ipv4_function>* fast_ipv4_ = nullptr;
    const isa::kernel<packet::fast_ipv6_function>* fast_ipv6_ = nullptr;

    std::shared_ptr<const state::configuration> running_;
    std::shared_ptr<const state::configuration> operator_config_;  ///< without learned addresses
    /// Beside running_: learn() replaces its routes.
    std::unique_ptr<state::followed> followed_ = std::make_unique<state::followed>();
    state::learned learned_{};
    learned_batches learned_batches_{};
    left_out logged_left_out_{};
    std::atomic<bool> retry_due_{false}, complete_due_{false},
        learn_due_{false};  ///< for repeat_beside()
    std::optional<state::learned>
        to_learn_{};         ///< by management; while it applies this, the state before
    bool learning_ = false;  ///< management applies it
    /// Management may wait for a disk, or for a file of another machine, for any time.
    static constexpr uint64_t management_patience_ms = 1000;
    uint64_t learn_by_ms_ = 0;  ///< management has to begin until then
    /// Management did not begin in time, and has not run since: control applies such changes itself, up to a limit.
    std::atomic<bool> management_late_{false};
    std::optional<error> not_learned_{};  ///< why management could not apply it
    std::atomic<const datapath::snapshot*> published_{nullptr};
    std::unique_ptr<datapath::snapshot> snapshot_;
    std::bitset<datapath::max_interfaces> with_link_;  ///< whose addresses were announced
    uint32_t missed_links_ = 0;  ///< ports whose links' changes are not followed yet: out of memory
    // rcu_ is destroyed before the objects that its deferred frees refer to: declared last of these
    // members.
    std::unique_ptr<next_hops> nexthops_;
    std::unique_ptr<control::workers> workers_;
    std::unique_ptr<traces> traces_;
    std::unique_ptr<punt_counts> punt_counts_;
    std::unique_ptr<control_tx> control_tx_;
    std::unique_ptr<captures> captures_;
    std::unique_ptr<control::routing> routing_;
    std::unique_ptr<control::ports> ports_;
    std::unique_ptr<control::interfaces> interfaces_;
    std::unique_ptr<host_stack> host_;
    std::unique_ptr<control::bridges> bridges_;
    std::unique_ptr<control::tunnels> tunnels_;
    std::unique_ptr<mirrors> mirrors_;
    std::unique_ptr<interface_counts> interface_counts_;
    std::unique_ptr<latency_samples> latency_;
    std::unique_ptr<sflow_export> sflow_;
    std::unique_ptr<acls> acls_;
    std::unique_ptr<metrics_server> metrics_;
    std::unique_ptr<rcu::qsbr> rcu_;
    std::vector<config_handler*> config_handlers_;

    events events_;
    std::unique_ptr<slow_path::slow_path_context> slow_path_context_;
    slow_path::slow_path slow_path_;
    bool lent_ = false;
    bool managed_ = false;
    /// Links of ports with a device, read by another thread. During a loan, none is read: management may close ports.
    struct link_batch {
        struct row {
            uint64_t life = 0;
            uint16_t ethdev_id = 0;
            bool up = false;
        };
        std::vector<row> rows{};
    };
    upkeep<link_batch> links_{[](link_batch& b) {
        for (link_batch::row& r : b.rows) r.up = rxtx::port::link_up(r.ethdev_id);
    }};
    std::vector<rxtx::port> vanished_{};  ///< to be closed by close_vanished()
    std::atomic<bool> any_vanished_{false}, listen_due_{false};
    std::chrono::steady_clock::time_point next_absent_look_{};  ///< of open_absent()
    struct retry {
        std::chrono::steady_clock::time_point at;
        std::chrono::seconds wait;  ///< for the next time
    };
    std::map<std::string, retry> absent_;  ///< ports whose device could not be opened, by name
    std::string absent_failure_{};         ///< the last that was logged
    struct held_packet {
        rte_mbuf* m;
        bool answered;  ///< a reply is sent already
    };
    size_t max_held_ = 0;  ///< limit of each list
    /// Punted packets that need the tables, during a loan: those of ARP and ND, and others.
    std::vector<held_packet> held_neighbours_{}, held_{};
    slow_path::message_rate message_rate_{2};
    std::unique_ptr<slow_path::dad> dad_;
    std::unique_ptr<slow_path::igmp_reports> igmp_;
    std::unique_ptr<slow_path::icmp_errors> icmp_errors_;
    std::unique_ptr<slow_path::local> local_;
    std::unique_ptr<slow_path::redirects> redirects_;
    std::unique_ptr<slow_path::reserved> reserved_;
    std::vector<std::unique_ptr<slow_path::handler>> handlers_;

    struct closed_port {
        observe::port_report facts;
        std::string pci_address;
        state::pcie bill;
        uint16_t port_index = 0;
        uint16_t rx_queues = 0;
        uint64_t begun = 0;  ///< TSC
        observe::port_totals before{};
    };
    std::vector<closed_port> last_seen_;  ///< data that only devices have, as of the last poll
    observe::port_totals removed_{};
    observe::baseline cleared_{};
    observe::rate_history rates_{};
    std::string changes_text_{};
    observe::unfinished_changes unfinished_{};
    /// The reports of two calls of recent_verdict(), the older one first.
    std::vector<observe::report> verdict_reports_{};
    std::unique_ptr<machine_counters> machine_counters_;
    uint32_t kept_by_drivers_ = 0;
    uint64_t changes_ = 0;
    uint64_t started_ = 0, stopped_ = 0;  ///< TSC
    uint64_t next_link_look_ms_ = 0, next_pool_look_ms_ = 0, next_complete_ms_ = 0,
             next_rates_ms_ = 0;
    bool logged_incomplete_ = false;
    uint64_t next_retry_ms_ = 0, next_fib_retry_ms_ = 0, next_left_out_log_ms_ = 0;
};

}  // namespace turnpike::control
