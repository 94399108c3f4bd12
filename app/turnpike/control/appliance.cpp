// SPDX-License-Identifier: BSD-3-Clause
#include "control/appliance.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "control/packet_pool.hpp"
#include "control/pcie_bill.hpp"
#include "eal/simd_bitwidth.hpp"
#include "packet/checksum.hpp"
#include "packet/ipv6.hpp"
#include "rxtx/driver_facts.hpp"
#include "version.hpp"

namespace turnpike::control {
namespace {

constexpr uint64_t link_checks_per_s = 10, pool_looks_per_s = 100;
constexpr long control_nap_ns = 200'000;

uint64_t now_ms() noexcept { return rte_rdtsc() / (rte_get_tsc_hz() / 1000); }

struct launch {
    datapath::worker* worker;
    const std::atomic<bool>* stop;
};

bool routes(const config::model& m) {
    return std::any_of(m.ports.begin(), m.ports.end(),
                       [](const config::port& p) { return p.routed(); });
}

bool judges(const config::model& m) {
    return std::any_of(m.ports.begin(), m.ports.end(),
                       [](const config::port& p) { return p.acl_in || p.acl_out; });
}

int run_worker(void* argument) {
    const auto* l = static_cast<const launch*>(argument);
    l->worker->run(*l->stop);
    return 0;
}

}  // namespace

result<std::unique_ptr<appliance>> appliance::bring_up(const config::model& model) {
    std::unique_ptr<appliance> a(new appliance(model));
    const auto kernel =
        isa::choose(packet::ipv4_sum_kernels(), "ipv4_checksum", eal::max_simd_bitwidth());
    if (!kernel) return tl::unexpected<error>(kernel.error());
    auto profiles = pcie_profiles(model);
    if (!profiles) return tl::unexpected<error>(profiles.error());
    a->pcie_profiles_ = std::move(*profiles);
    a->ipv4_checksum_ = (*kernel)->name;
    a->tables_.ipv4_sum = (*kernel)->function;
    for (auto step : {&appliance::choose_lcores, &appliance::make_pool, &appliance::plan_workers,
                      &appliance::open_ports, &appliance::make_rcu_domain,
                      &appliance::set_up_routing, &appliance::set_up_acls, &appliance::start_ports})
        if (auto done = (a.get()->*step)(); !done) return tl::unexpected<error>(done.error());
    for (const auto& plan : a->plans_)
        a->workers_.push_back(std::make_unique<datapath::worker>(plan, a->tables_));
    return a;
}

appliance::~appliance() {
    take_down();
    for (rte_ring* ring : rings_) rte_ring_free(ring);
    rte_mempool_free(pool_);
}

result<void> appliance::choose_lcores() {
    const unsigned main = rte_get_main_lcore();
    lcores_ = model_.workers;
    if (lcores_.empty()) {
        unsigned lcore;
        RTE_LCORE_FOREACH_WORKER(lcore) lcores_.push_back(lcore);
        if (lcores_.empty()) lcores_.push_back(main);
    }
    for (const unsigned lcore : lcores_) {
        if (lcore >= RTE_MAX_LCORE || rte_lcore_is_enabled(lcore) == 0)
            return fail(EINVAL, model_.file,
                        fmt::format("workers names lcore {}, which EAL was not given (-l)", lcore));
        if (lcore == main && lcores_.size() > 1)
            return fail(
                EINVAL, model_.file,
                fmt::format("workers names lcore {}, the main lcore, which runs control; it "
                            "can only be a worker when it is the only one",
                            lcore));
    }
    return {};
}

result<void> appliance::make_pool() {
    auto made = make_packet_pool(model_);
    if (!made) return tl::unexpected<error>(made.error());
    pool_ = *made;
    pool_facts_ = facts_of(*pool_);
    pool_facts_.buffers = model_.pool.buffers;
    pool_facts_.buffer_size = model_.pool.buffer_size;
    pool_facts_.in_use_at_start = rte_mempool_in_use_count(pool_);
    return {};
}

/// Spread the ports' RX queues over the workers; give a worker a TX queue on each port that its
/// packets may leave by.
result<void> appliance::plan_workers() {
    const auto ports = static_cast<uint16_t>(model_.ports.size());
    tables_.ports = ports;
    for (const auto& [a, b] : model_.patches) {
        tables_.port[a].patch_to = b;
        tables_.port[b].patch_to = a;
    }
    plans_.resize(lcores_.size());
    for (size_t i = 0; i < plans_.size(); ++i) {
        plans_[i].lcore = lcores_[i];
        plans_[i].number = static_cast<uint32_t>(i);
        plans_[i].drain_cycles = rte_get_tsc_hz() / 1'000'000 * model_.sending.drain_us;
        plans_[i].tx_queue_id.fill(-1);
    }
    size_t next = 0;
    tx_queues_.assign(ports, 0);
    for (uint16_t port = 0; port < ports; ++port)
        for (uint16_t queue = 0; queue < model_.ports[port].rx_queues; ++queue) {
            auto& plan = plans_[next++ % plans_.size()];
            plan.rx.push_back({port, queue});
            for (uint16_t out = 0; out < ports; ++out) {
                const bool reaches = model_.ports[port].routed()
                                         ? model_.ports[out].routed()
                                         : tables_.port[port].patch_to == out;
                if (reaches && plan.tx_queue_id[out] < 0) plan.tx_queue_id[out] = tx_queues_[out]++;
            }
        }
    return {};
}

result<void> appliance::open_ports() {
    for (size_t i = 0; i < model_.ports.size(); ++i) {
        const config::port& from = model_.ports[i];
        rxtx::port_settings settings{.name = from.name,
                                     .where = from.where,
                                     .device = from.device,
                                     .mtu = from.mtu,
                                     .rx_queues = from.rx_queues,
                                     .tx_queues = tx_queues_[i],
                                     .descriptors = from.descriptors,
                                     .promiscuous = !from.routed(),
                                     .pool = pool_};
        auto opened = rxtx::port::open(settings);
        if (!opened) return tl::unexpected<error>(opened.error());
        tables_.port[i].ethdev_id = opened->id();
        tables_.port[i].mac = opened->mac();
        port_facts_.push_back({.name = opened->name(), .driver = opened->driver()});
        pcie_facts_.push_back({.pci_address = opened->pci_address()});
        ports_.push_back(std::move(*opened));
    }
    return {};
}

/// A ring between control and one worker.
result<rte_ring*> appliance::make_ring(const char* what, size_t worker) {
    constexpr unsigned packets = 1024;
    const std::string name = fmt::format("{}{}", what, worker);
    rte_ring* ring =
        rte_ring_create(name.c_str(), packets, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) return fail(rte_errno, name, "no memory for the ring");
    rings_.push_back(ring);
    return ring;
}

result<void> appliance::make_rcu_domain() {
    if (!routes(model_) && !judges(model_)) return {};
    auto domain = rcu::qsbr::create("tables", static_cast<uint32_t>(plans_.size()));
    if (!domain) return tl::unexpected<error>(domain.error());
    tables_.rcu = std::move(*domain);
    return {};
}

result<void> appliance::set_up_routing() {
    if (!routes(model_)) return {};
    outlet_ = std::make_unique<outlet>(pool_, tables_);
    router_ = std::make_unique<router>(model_, tables_, *outlet_);
    for (size_t i = 0; i < plans_.size(); ++i) {
        auto& plan = plans_[i];
        for (auto [ring, what] : {std::pair{&plan.from_control, "from_control"},
                                  std::pair{&plan.to_control, "to_control"},
                                  std::pair{&plan.neighbours_to_control, "neighbours"}}) {
            auto made = make_ring(what, i);
            if (!made) return tl::unexpected<error>(made.error());
            *ring = *made;
        }
        for (uint16_t port = 0; port < tables_.ports; ++port)
            if (plan.tx_queue_id[port] >= 0) outlet_->set_ring(port, plan.from_control);
    }
    return router_->set_up();
}

result<void> appliance::set_up_acls() {
    if (!judges(model_)) return {};
    acls_ = std::make_unique<acls>(tables_, static_cast<uint32_t>(plans_.size()));
    return acls_->set_up(model_);
}

void appliance::listen(uint16_t port) {
    std::vector<packet::mac_address> groups;
    for (const auto& group : tables_.port[port].v6_groups)
        groups.push_back(packet::multicast_mac(group));
    ports_[port].listen_to(groups);
}

result<void> appliance::start_ports() {
    for (uint16_t i = 0; i < tables_.ports; ++i) {
        if (auto started = ports_[i].start(); !started)
            return tl::unexpected<error>(started.error());
        if (tables_.port[i].routed) listen(i);
    }
    return {};
}

void appliance::watch_links() {
    for (uint16_t i = 0; i < tables_.ports; ++i) {
        const bool up = ports_[i].link_up();
        const bool was = tables_.port[i].link_up.exchange(up, std::memory_order_relaxed);
        if (up == was) continue;
        std::fprintf(stderr, "turnpike: port '%s': link %s\n", ports_[i].name().c_str(),
                     up ? "up" : "down");
        if (router_) router_->link_changed(i, up, now_ms());
    }
}

/// Its low-water mark, as seen by looking: counting every get would cost the workers.
void appliance::watch_pool() noexcept {
    pool_facts_.low_water = std::min(pool_facts_.low_water, rte_mempool_avail_count(pool_));
}

/// What workers punted, neighbours' messages first; bounded, so that timers get their turn.
void appliance::take_punted() {
    constexpr unsigned most = 256;
    std::array<rte_mbuf*, most> packets;
    for (const auto& plan : plans_)
        for (rte_ring* ring : {plan.neighbours_to_control, plan.to_control}) {
            const unsigned n = rte_ring_sc_dequeue_burst(
                ring, reinterpret_cast<void**>(packets.data()), most, nullptr);
            for (unsigned i = 0; i < n; ++i) router_->take(packets[i], now_ms());
        }
}

/// For the end, when the workers have stopped: what control had not come to.
void appliance::drop_punted() noexcept {
    if (!router_) return;
    for (const auto& plan : plans_)
        for (rte_ring* ring : {plan.neighbours_to_control, plan.to_control, plan.from_control}) {
            void* m = nullptr;
            while (rte_ring_sc_dequeue(ring, &m) == 0) {
                auto* packet = static_cast<rte_mbuf*>(m);
                const uint16_t port =
                    ring == plan.from_control ? packet->port : datapath::punted_of(packet).in_port;
                outlet_->drop(packet, port, packet::drop_reason::stopping);
            }
        }
    router_->stop();
}

void appliance::control_tick(const run_options& options) {
    const uint64_t now = rte_rdtsc();
    const uint64_t hz = rte_get_tsc_hz();
    if (router_) {
        take_punted();
        router_->tick(now_ms());
    }
    if (tables_.rcu) tables_.rcu->reclaim();
    if (now >= next_link_check_) {
        watch_links();
        next_link_check_ = now + hz / link_checks_per_s;
    }
    if (now >= next_pool_look_) {
        watch_pool();
        next_pool_look_ = now + hz / pool_looks_per_s;
    }
    if (options.stats_interval_s > 0 && now >= next_table_) {
        auto current = std::make_unique<cost::report>(report());
        if (next_table_ != 0) {
            std::fputs(cost::to_table(*current, last_table_.get()).c_str(), stdout);
            std::fflush(stdout);
        }
        last_table_ = std::move(current);
        next_table_ =
            now + static_cast<uint64_t>(options.stats_interval_s * static_cast<double>(hz));
    }
}

void appliance::run(const std::atomic<bool>& stop, const run_options& options) {
    const auto hz = static_cast<double>(rte_get_tsc_hz());
    started_ = rte_rdtsc();
    const uint64_t end = options.duration_s > 0
                             ? started_ + static_cast<uint64_t>(options.duration_s * hz)
                             : UINT64_MAX;
    const auto done = [&] { return stop.load(std::memory_order_relaxed) || rte_rdtsc() >= end; };
    watch_links();  // before the first packet: it may already be in a receive ring
    if (workers_.size() == 1 && workers_[0]->lcore() == rte_get_main_lcore()) {
        // One lcore: control between bursts.
        uint64_t next_tick = 0;
        workers_[0]->start();
        while (!done()) {
            workers_[0]->poll();
            if (rte_rdtsc() < next_tick) continue;
            control_tick(options);
            next_tick = rte_rdtsc() + static_cast<uint64_t>(hz / 1e9 * control_nap_ns);
        }
        workers_[0]->finish();
    } else {
        std::vector<launch> launches(workers_.size());
        for (size_t i = 0; i < workers_.size(); ++i) {
            launches[i] = {workers_[i].get(), &stop_workers_};
            rte_eal_remote_launch(run_worker, &launches[i], workers_[i]->lcore());
        }
        while (!done()) {
            control_tick(options);
            const timespec nap{0, control_nap_ns};
            nanosleep(&nap, nullptr);
        }
        stop_workers_.store(true, std::memory_order_relaxed);
        rte_eal_mp_wait_lcore();
    }
    stopped_ = rte_rdtsc();
    for (auto& worker : workers_) worker->empty_receive_rings();
    drop_punted();
    look_at_ports();
}

/// What only the devices know; nothing new once they are closed.
void appliance::look_at_ports() {
    for (size_t i = 0; i < ports_.size(); ++i) {
        port_facts_[i].link_up = ports_[i].link_up();
        port_facts_[i].rx_missed = ports_[i].rx_missed();
        pcie_facts_[i].counts = ports_[i].xstats("pcie_");
    }
}

void appliance::take_down() noexcept {
    ports_.clear();
    count_kept_buffers();
}

/// What such a driver keeps is not exact: at most its RX rings and as much again on its way out.
void appliance::count_kept_buffers() noexcept {
    uint32_t most = 0;
    for (size_t i = 0; i < port_facts_.size(); ++i)
        if (rxtx::facts_of(port_facts_[i].driver).keeps_buffers)
            most += 2u * 2048u * model_.ports[i].rx_queues;
    if (pool_ != nullptr)
        kept_by_drivers_ =
            std::min(most, rte_mempool_in_use_count(pool_) - pool_facts_.in_use_at_start);
}

cost::report appliance::report() {
    const auto hz = rte_get_tsc_hz();
    cost::report r;
    r.version = version;
    r.duration_s = static_cast<double>((stopped_ != 0 ? stopped_ : rte_rdtsc()) - started_) /
                   static_cast<double>(hz);
    r.tsc_hz = hz;
    r.max_simd_bitwidth = eal::max_simd_bitwidth();
    r.isa["ipv4_checksum"] = ipv4_checksum_;
    look_at_ports();
    r.ports = port_facts_;
    for (const auto& worker : workers_) {
        cost::worker_report w;
        w.lcore = worker->lcore();
        w.add(worker->meter());
        r.workers.push_back(w);
        for (uint16_t i = 0; i < tables_.ports; ++i) r.ports[i].add(worker->port(i));
    }
    if (router_) {
        for (uint16_t i = 0; i < tables_.ports; ++i) r.ports[i].add(outlet_->port(i));
        const auto by_state = router_->known()->by_state();
        for (size_t i = 0; i < by_state.size(); ++i)
            r.neighbours[std::string(neighbour_state_names[i])] = by_state[i];
        r.neighbours["limit"] = model_.neighbour_limits.limit;
        r.routes = {{"ipv4", tables_.routes->routes(false)},
                    {"ipv6", tables_.routes->routes(true)}};
        r.isa["fib4"] = tables_.routes->kernel(false);
        r.isa["fib6"] = tables_.routes->kernel(true);
        r.held = router_->held();
    }
    if (acls_) {
        r.acls = acls_->report();
        r.isa["acl"] = acls_->kernel();
    }
    for (size_t i = 0; i < r.ports.size(); ++i)
        fill_pcie_bill(r.ports[i], model_.ports[i].bill, pcie_facts_[i], pcie_profiles_);
    watch_pool();
    r.mempool = pool_facts_;
    r.mempool.in_use = rte_mempool_in_use_count(pool_);
    r.mempool.kept_by_drivers = kept_by_drivers_;
    return r;
}

}  // namespace turnpike::control
