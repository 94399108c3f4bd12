// SPDX-License-Identifier: BSD-3-Clause
// The controller's creation, shutdown, and report.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>

#include "control/controller.hpp"
#include "control/forwarding/packet_pool.hpp"
#include "control/management/metrics_source.hpp"
#include "control/slow_path/arp.hpp"
#include "control/slow_path/nd.hpp"
#include "control/slow_path/neigh_suppress.hpp"
#include "control/slow_path/to_kernel.hpp"
#include "control/slow_path/unresolved.hpp"
#include "control/transaction_steps.hpp"
#include "eal/simd_bitwidth.hpp"
#include "rxtx/driver_facts.hpp"
#include "version.hpp"

namespace turnpike::control {

using datapath::drop_reason;

result<std::unique_ptr<controller>> controller::create(
    std::unique_ptr<const state::configuration> config, const counters_choice& counters) {
    std::unique_ptr<controller> made(new controller());
    made->machine_counters_ = std::make_unique<machine_counters>(counters);
    if (auto done = made->make(std::move(config)); !done)
        return tl::unexpected<error>(done.error());
    return made;
}

result<void> controller::make(std::unique_ptr<const state::configuration> config) {
    const uint16_t width = eal::max_simd_bitwidth();
    const auto sum = isa::choose(packet::ipv4_sum_kernels(), "ipv4_checksum", width);
    if (!sum) return tl::unexpected<error>(sum.error());
    ipv4_sum_ = *sum;
    const auto fast4 = isa::choose(packet::fast_ipv4_kernels(), "fast_ipv4", width);
    if (!fast4) return tl::unexpected<error>(fast4.error());
    fast_ipv4_ = *fast4;
    const auto fast6 = isa::choose(packet::fast_ipv6_kernels(), "fast_ipv6", width);
    if (!fast6) return tl::unexpected<error>(fast6.error());
    fast_ipv6_ = *fast6;
    // Check before anything is opened; loaded again when applied.
    if (const auto profiles = pcie_profiles(*config); !profiles)
        return tl::unexpected<error>(profiles.error());
    const auto lcores = choose_lcores(config->workers, config->workers_where.text);
    if (!lcores) return tl::unexpected<error>(lcores.error());
    auto pool = make_packet_pool(*config, static_cast<uint32_t>(lcores->size()));
    if (!pool) return tl::unexpected<error>(pool.error());
    pool_ = *pool;
    pool_facts_ = facts_of(*pool_);

    auto domain = rcu::qsbr::create("tables", control_reader() + 1);
    if (!domain) return tl::unexpected<error>(domain.error());
    rcu_ = std::move(*domain);
    auto nexthops =
        next_hops::create(2 * config->limits.limit + 2 * datapath::max_interfaces, *rcu_);
    if (!nexthops) return tl::unexpected<error>(nexthops.error());
    nexthops_ = std::move(*nexthops);
    workers_ = std::make_unique<control::workers>(published_, *rcu_, pool_);
    punt_counts_ = std::make_unique<punt_counts>(*workers_);
    control_tx_ = std::make_unique<control_tx>(
        pool_, [this](const datapath::egress& by) { return workers_->ring_to(by); });
    traces_ = std::make_unique<traces>(*workers_, *control_tx_, *rcu_);
    captures_ = std::make_unique<captures>(*workers_, *control_tx_, *rcu_);
    ports_ = std::make_unique<control::ports>(pool_, *control_tx_,
                                              [this](uint16_t p) { return counted(p); });
    interfaces_ = std::make_unique<control::interfaces>(*nexthops_);
    acls_ = std::make_unique<acls>(*rcu_);
    if (auto done = make_routing(); !done) return done;
    register_handlers();
    max_held_ = std::clamp<size_t>(pool_facts_.buffers / 16, 256, 4096);
    held_.reserve(max_held_);
    held_neighbours_.reserve(max_held_);
    bridges_ = std::make_unique<control::bridges>(
        *workers_, *rcu_,
        [this](const mac_address& mac, uint16_t held_at, uint16_t other, uint32_t hold_s) {
            events_.fdb_entry_held(mac.text(), interfaces_->name_of(held_at),
                                   interfaces_->name_of(other), hold_s, slow_path_context_->now_ms);
        });
    auto heard = std::make_unique<slow_path::neigh_suppress>(*slow_path_context_, *bridges_);
    slow_path_.on(datapath::punt_reason::neigh_suppress, *heard);
    handlers_.push_back(std::move(heard));
    tunnels_ = std::make_unique<control::tunnels>(*workers_, *nexthops_);
    mirrors_ = std::make_unique<mirrors>();
    interface_counts_ = std::make_unique<interface_counts>([this](uint16_t port_index) {
        const observe::port_totals n = counted(port_index);
        return observe::traffic{n.rx_packets, n.rx_bytes, n.tx_packets, n.tx_bytes};
    });
    latency_ = std::make_unique<latency_samples>();
    sflow_ = std::make_unique<sflow_export>();
    metrics_ = std::make_unique<metrics_server>([this](bool page) { return scrape(*this, page); });
    config_handlers_ = {metrics_.get(),          captures_.get(),   workers_.get(), ports_.get(),
                        &routing_->vrfs(),       interfaces_.get(), host_.get(),    bridges_.get(),
                        tunnels_.get(),          acls_.get(),       mirrors_.get(), sflow_.get(),
                        interface_counts_.get(), latency_.get(),    routing_.get()};

    auto empty = std::make_unique<state::configuration>();
    empty->fixed = config->fixed;
    empty->control = config->control;
    running_ = std::move(empty);
    operator_config_ = std::move(config);
    transaction_steps first(operator_config_);
    if (auto done = compare(first, {}); !done) return done;
    if (auto done = prepare_owners(first, config_handlers_.size()); !done) return done;
    if (auto done = finish(first); !done) return done;
    settle(first, true);
    return {};
}

result<void> controller::make_routing() {
    // A quarter of all mbufs may wait for neighbours.
    auto made = control::routing::create(
        *nexthops_, *rcu_, pool_facts_.buffers / 4,
        neighbour_callbacks{
            .solicit =
                [this](uint16_t interface, const ip_address& a, const mac_address* mac) {
                    return slow_path::solicit(*slow_path_context_, *dad_, interface, a, mac);
                },
            .send = [this](rte_mbuf* m,
                           const datapath::next_hop& nexthop) { control_tx_->send_by(m, nexthop); },
            .drop =
                [this](rte_mbuf* m, drop_reason why) {
                    owned_mbuf p(m, *control_tx_);
                    slow_path_context_->in_neighbours = true;
                    // Only a forwarded packet's source gets an ICMP error; the source of a mirrored copy is the router.
                    try {
                        if (why == drop_reason::neighbour_failed && !p.about().copy &&
                            p.about().why == datapath::punt_reason::resolve)
                            icmp_errors_->send(
                                p, slow_path::icmp_error_of(why, p.about().parsed.is_ipv4(), 0));
                    } catch (const std::exception&) {  // out of memory: no error is sent
                    }
                    slow_path_context_->in_neighbours = false;
                    p.drop(why);
                },
            .notify =
                [this](const neighbour_event& e) noexcept {
                    try {
                        events_.neighbour(interfaces_->name_of(e.whose.interface), e,
                                          slow_path_context_->now_ms);
                    } catch (const std::exception&) {  // out of memory: it is not logged
                    }
                }});
    if (!made) return tl::unexpected<error>(made.error());
    routing_ = std::move(*made);
    return {};
}

void controller::register_handlers() {
    host_ = std::make_unique<host_stack>(host_stack::dependencies{
        .published = published_,
        .out = *control_tx_,
        .link_of = [this](const datapath::interface& i) { return has_link(i); },
        .learn = [this](state::learned now) { return learn(std::move(now)); }});
    slow_path_context_ = std::make_unique<slow_path::slow_path_context>(
        slow_path::slow_path_context{published_, *control_tx_, routing_->neighbours(),
                                     routing_->tables(), *nexthops_, *host_});
    slow_path::slow_path_context& context = *slow_path_context_;
    using datapath::punt_reason;
    dad_ = std::make_unique<slow_path::dad>(context);
    igmp_ = std::make_unique<slow_path::igmp_reports>(context);
    icmp_errors_ = std::make_unique<slow_path::icmp_errors>(context, *dad_);
    local_ = std::make_unique<slow_path::local>(context, *icmp_errors_, *dad_, *igmp_);
    const auto add = [this](punt_reason why, std::unique_ptr<slow_path::handler> h) {
        slow_path_.on(why, *h);
        handlers_.push_back(std::move(h));
    };
    const auto log_conflict = [this](uint16_t ifindex, const ip_address& a, const mac_address& by) {
        events_.address_conflict(interfaces_->name_of(ifindex), a, by, slow_path_context_->now_ms);
    };
    add(punt_reason::arp, std::make_unique<slow_path::arp>(context, message_rate_, log_conflict));
    add(punt_reason::nd,
        std::make_unique<slow_path::nd>(context, message_rate_, *dad_, log_conflict));
    add(punt_reason::resolve, std::make_unique<slow_path::unresolved>(context));
    add(punt_reason::link_protocol, std::make_unique<slow_path::link_protocol>(context));
    add(punt_reason::router_alert, std::make_unique<slow_path::router_alert>(context));
    add(punt_reason::icmp_error,
        std::make_unique<slow_path::icmp_error_sender>(context, *icmp_errors_));
    add(punt_reason::too_big, std::make_unique<slow_path::too_big>(context, *icmp_errors_));
    redirects_ = std::make_unique<slow_path::redirects>(context, *dad_);
    slow_path_.on(punt_reason::redirect, *redirects_);
    reserved_ = std::make_unique<slow_path::reserved>(context);
    slow_path_.on(punt_reason::reserved, *reserved_);
    slow_path_.on(punt_reason::local, *local_);
}

controller::~controller() {
    if (routing_) routing_->neighbours().drop_all_pending(drop_reason::stopping);
    shut_down();
    // First objects that RCU readers may use, then the tables, then rcu_ with its deferred frees.
    acls_.reset();
    routing_.reset();
    if (rcu_) rcu_->synchronize();
    captures_.reset();
    bridges_.reset();
    interfaces_.reset();
    tunnels_.reset();
    mirrors_.reset();
    interface_counts_.reset();
    latency_.reset();
    sflow_.reset();
    if (rcu_) rcu_->synchronize();
    workers_.reset();
    rcu_.reset();
    nexthops_.reset();
    rte_mempool_free(pool_);
}

/// Shutdown, after the workers have stopped: free the packets in the rings.
void controller::drop_leftovers() {
    for (const auto& port : ports_->open()) port->device.set_link(false);
    ports_->empty_shut_ports(drop_reason::stopping);
    workers_->empty([this](rte_mbuf* m) { control_tx_->drop_punted(m, drop_reason::stopping); },
                    [this](rte_mbuf* m) { control_tx_->drop(m, m->port, drop_reason::stopping); });
    for (auto* const held : {&held_neighbours_, &held_})
        for (const held_packet& h : std::exchange(*held, {}))
            control_tx_->drop_punted(h.m, drop_reason::stopping);
    slow_path_context_->held.clear();
    routing_->neighbours().drop_all_pending(drop_reason::stopping);
}

/// Read the data that only devices have, until they are closed.
void controller::poll_ports() {
    if (ports_->open().empty()) return;
    last_seen_.clear();
    for (const auto& port : ports_->open()) {
        closed_port seen;
        seen.facts.name = port->name;
        seen.facts.life = port->life;
        seen.facts.driver = port->device.driver();
        seen.facts.admin_up = !port->config.shutdown;
        seen.facts.link_up = port->link_up();
        seen.facts.link_mbps = port->device.link_mbps();
        seen.facts.node = port->device.node();
        seen.facts.removed = port->lost;
        const rxtx::port::rx_losses losses = port->losses();
        seen.facts.rx_missed = losses.missed;
        seen.facts.rx_no_buffer = losses.no_buffer;
        seen.pci_address = port->device.pci_address();
        seen.facts.pcie.counts = port->pcie_counts();
        seen.begun = port->begun;
        seen.bill = port->config.bill;
        seen.port_index = port->port_index;
        seen.rx_queues = port->config.rx_queues;
        seen.before = port->before;
        last_seen_.push_back(std::move(seen));
    }
}

void controller::shut_down() noexcept {
    if (metrics_) metrics_->close();
    if (captures_) captures_->close();
    vanished_.clear();
    if (ports_ && !ports_->open().empty()) {
        removed_ = ports_->removed();
        ports_->close();
    }
    count_kept_buffers();
}

/// An estimate: such a driver holds at most its RX rings and as many mbufs for TX.
void controller::count_kept_buffers() noexcept {
    uint32_t most = 0;
    for (const closed_port& p : last_seen_)
        if (rxtx::facts_of(p.facts.driver).keeps_buffers) most += 2u * 2048u * p.rx_queues;
    if (pool_ != nullptr)
        kept_by_drivers_ =
            std::min(most, rte_mempool_in_use_count(pool_) - pool_facts_.in_use_at_start);
}

observe::port_totals controller::counted(uint16_t port_index) const noexcept {
    observe::port_totals sum = workers_->counted(port_index);
    sum.add(control_tx_->port(port_index));
    return sum;
}

double controller::duration_s() const noexcept { return seconds_since(started_); }

double controller::seconds_since(uint64_t tsc) const noexcept {
    const uint64_t now = stopped_ != 0 ? stopped_ : rte_rdtsc();
    return static_cast<double>(now - std::min(now, tsc)) / static_cast<double>(rte_get_tsc_hz());
}

observe::report controller::report_since(const observe::baseline& then, bool rules) {
    const auto hz = rte_get_tsc_hz();
    observe::report r;
    r.version = version;
    r.duration_s = duration_s();
    r.tsc_hz = hz;
    r.max_simd_bitwidth = eal::max_simd_bitwidth();
    r.changes = changes_;
    poll_ports();
    for (const closed_port& p : last_seen_) {
        observe::port_report& out = r.ports.emplace_back(p.facts);
        out.totals.add(counted(p.port_index), p.before);
        out.duration_s = std::min(r.duration_s, seconds_since(p.begun));
    }
    // After closing, all ports are removed; the report uses the last poll's counters.
    if (!ports_->open().empty()) removed_ = ports_->removed();
    const rxtx::port::rx_losses& lost = ports_->removed_losses();
    if (removed_.rx_packets + removed_.tx_packets + removed_.originated + removed_.all_drops() +
            lost.missed + lost.no_buffer !=
        0)
        r.ports.push_back({.name = "(removed)",
                           .driver = "-",
                           .rx_missed = lost.missed,
                           .rx_no_buffer = lost.no_buffer,
                           .totals = removed_});
    std::vector<std::string_view> names;
    for (const auto& row : datapath::stage_table) names.push_back(row.name);
    for (const auto& worker_slot : workers_->all()) {
        observe::worker_report& w = r.workers.emplace_back();
        w.lcore = worker_slot->worker.parts().lcore;
        w.forwards = worker_slot->forwards;
        w.node = static_cast<int>(rte_lcore_to_socket_id(w.lcore));
        const auto number = worker_slot->worker.parts().number;
        for (const closed_port& p : last_seen_)
            if (snapshot_ && number < snapshot_->queues.size())
                for (const datapath::rx_queue& q : snapshot_->queues[number].rx)
                    if (q.port == p.port_index &&
                        (w.polls.empty() || w.polls.back() != p.facts.name))
                        w.polls.push_back(p.facts.name);
        w.tsc_hz = hz;
        w.add(worker_slot->worker.meter(), names);
    }
    const bool since_clear = &then == &cleared_;
    machine_counters_->fill_workers(r, since_clear);
    for (const auto& worker_slot : workers_->all())
        worker_slot->worker.count_instructions(
            machine_counters_->instructions_of(worker_slot->worker.parts().lcore));
    r.isa["ipv4_checksum"] = ipv4_sum_->name;
    r.isa["fast_ipv4"] = fast_ipv4_->name;
    r.isa["fast_ipv6"] = fast_ipv6_->name;
    const bool routed =
        std::any_of(running_->interfaces.begin(), running_->interfaces.end(),
                    [](const auto& i) { return i.second.kind == state::interface_kind::routed; });
    if (routed) {
        const auto by_state = routing_->neighbours().by_state();
        for (size_t i = 0; i < by_state.size(); ++i)
            r.neighbours[std::string(neighbour_state_names[i])] = by_state[i];
        r.neighbours["limit"] = routing_->neighbours().limits().limit;
        const auto [v4, v6] = routing_->tables().count();
        r.routes = {{"ipv4", v4}, {"ipv6", v6}};
        r.isa["fib4"] = routing_->tables().main().v4().kernel();
        r.isa["fib6"] = routing_->tables().main().v6().kernel();
    }
    r.held = routing_->neighbours().pending();
    r.punt = punt_counts_->report();
    if (rules) r.acls = acls_->report();
    if (!acls_->kernel().empty()) r.isa["acl"] = acls_->kernel();
    if (bridges_->table() != nullptr) r.isa["fdb"] = bridges_->table()->kernel();
    poll_pool();
    r.mempool = pool_facts_;
    r.mempool.in_use = rte_mempool_in_use_count(pool_);
    r.mempool.node = pool_->socket_id;
    r.mempool.kept_by_drivers = kept_by_drivers_;
    std::vector<machine_counters::port_counts> measured;
    for (size_t i = 0; i < last_seen_.size(); ++i)
        measured.push_back(machine_counters_->of_port(r.ports[i], last_seen_[i].pci_address,
                                                      r.duration_s, since_clear));
    machine_counters_->keep_ports(r.ports);
    then.subtract_from(r);
    for (size_t i = 0; i < last_seen_.size(); ++i)
        fill_pcie_bill(r.ports[i], last_seen_[i].bill, last_seen_[i].pci_address, pcie_profiles_,
                       measured[i]);
    return r;
}

}  // namespace turnpike::control
