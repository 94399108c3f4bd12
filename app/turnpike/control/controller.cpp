// SPDX-License-Identifier: BSD-3-Clause
// The main loop. apply.cpp: transactions; controller_init.cpp: creation and shutdown.
#include "control/controller.hpp"

#include <rte_cycles.h>
#include <rte_mempool.h>

#include <fmt/format.h>

#include <algorithm>

#include "control/forwarding/packet_pool.hpp"
#include "control/slow_path/nd.hpp"
#include "observe/console.hpp"
#include "state/tunnel_rules.hpp"

namespace turnpike::control {
namespace {

/// Interval of link polls; the short one where a routing daemon or another next hop can react.
constexpr uint64_t link_look_ms = 100, prompt_link_look_ms = 5;
constexpr std::chrono::seconds absent_look{2}, max_absent_wait{30};
constexpr uint64_t pool_look_ms = 10, complete_ms = 1000, rates_ms = 1000;
/// The FIB's memory may become free without a sign of it here.
constexpr uint64_t fib_retry_ms = 10'000, left_out_log_ms = 10'000;

uint64_t clock_ms() noexcept { return rte_rdtsc() / (rte_get_tsc_hz() / 1000); }

}  // namespace

void controller::run(const outside& o) {
    started_ = rte_rdtsc();
    machine_counters_->begin();
    (void)report();          // opens the hardware counters
    poll_links(clock_ms());  // before the first packet, which may already be in an RX ring
    workers_->run(o.done, [&] {
        tick(clock_ms());
        o.between();
    });
    stopped_ = rte_rdtsc();
    (void)report();  // reads the hardware counters a last time
    machine_counters_->end();
    poll_ports();
    drop_leftovers();
}

void controller::lend() noexcept {
    lent_ = true;
    slow_path_context_->lent = true;
    rcu_->online(control_reader());
}

void controller::end_loan() noexcept {
    rcu_->offline(control_reader());
    lent_ = false;
    // Management is not blocked.
    learn_by_ms_ = std::max(learn_by_ms_, slow_path_context_->now_ms + management_patience_ms);
    slow_path_context_->lent = false;
}

/// Punted packets that the published snapshot suffices for, and the kernel's packets.
void controller::tick_lent(uint64_t now_ms) noexcept {
    slow_path_context_->now_ms = now_ms;
    try {
        workers_->receive_punted([this](rte_mbuf* m) {
            if (slow_path::needs_no_tables(datapath::punted_of(m).why))
                return slow_path_.handle(m, *slow_path_context_);
            hold(m);
        });
        dad_->tick();
        igmp_->tick();
        host_->exchange_frames();
        if (now_ms >= next_pool_look_ms_) {
            if (left_to_all(*pool_) < datapath::burst_max) workers_->note_pool_exhausted();
            next_pool_look_ms_ = now_ms + pool_look_ms;
        }
    } catch (const std::exception&) {  // out of memory: the rest is done in the next iteration
    }
    pass_as_reader();
}

/// The packet waits for the end of the loan, with a reply sent if the snapshot suffices for it.
void controller::hold(rte_mbuf* m) noexcept {
    using datapath::punt_reason;
    const datapath::punted& about = datapath::punted_of(m);
    const bool of_neighbour = about.why == punt_reason::arp || about.why == punt_reason::nd ||
                              about.why == punt_reason::neigh_suppress;
    const bool answered = of_neighbour && slow_path_.answer(m, *slow_path_context_);
    std::vector<held_packet>& to = of_neighbour ? held_neighbours_ : held_;
    if (to.size() < max_held_) return to.push_back({m, answered});
    if (answered) return control_tx_->consume(m, about.in_port);
    control_tx_->drop_punted(m, datapath::drop_reason::punt_ring_full);
}

void controller::pass_as_reader() noexcept {
    if (lent_) rcu_->quiescent(control_reader());
}

void controller::handle_pending() noexcept {
    for (auto* const held : {&held_neighbours_, &held_}) {
        for (const held_packet& h : *held) {
            slow_path_context_->answered = h.answered;
            slow_path_.handle(h.m, *slow_path_context_);
        }
        held->clear();
    }
    slow_path_context_->answered = false;
    slow_path_context_->route_held();
}

void controller::tick(uint64_t now_ms) noexcept {
    if (lent_) return tick_lent(now_ms);
    slow_path_context_->now_ms = now_ms;
    try {
        receive_punted();
        dad_->tick();  // first: solicitations need source addresses
        igmp_->tick();
        routing_->neighbours().tick(now_ms);
        bridges_->tick(now_ms);
        slow_path_context_->route_held();
        host_->tick(now_ms);
        rcu_->reclaim();
        metrics_->close_overdue(now_ms);
        if (!managed_ && metrics_->asked()) metrics_->answer();
        ports_->read_clocks();
        captures_->tick(*ports_);
        events_.poll(now_ms);
        detect_vanished();
        poll_links_beside(now_ms);
        if (now_ms >= next_pool_look_ms_) {
            poll_pool();
            next_pool_look_ms_ = now_ms + pool_look_ms;
        }
        if (now_ms >= next_rates_ms_) {
            rates_.add(now_ms, rated_objects());
            next_rates_ms_ = now_ms + rates_ms;
        }
        if (sflow_->wants_counters()) export_sflow_counters();
        if (incomplete() && now_ms >= next_complete_ms_) {
            next_complete_ms_ = now_ms + complete_ms;
            if (managed_)
                complete_due_.store(true, std::memory_order_release);
            else
                complete();
        }
        retry_left_out(now_ms);
        log_left_out(now_ms);
        log_incomplete();
    } catch (const std::exception&) {  // out of memory: the rest is done in the next iteration
    }
}

void controller::retry_left_out(uint64_t now_ms) {
    const left_out& now = routing_->no_room();
    if (!now.any() || now_ms < next_retry_ms_) return;
    next_retry_ms_ = now_ms + complete_ms;
    const bool fib = now.fib != 0 && now_ms >= next_fib_retry_ms_;
    if (fib) next_fib_retry_ms_ = now_ms + fib_retry_ms;
    if (!fib && !routing_->has_room()) return;
    if (managed_) return retry_due_.store(true, std::memory_order_release);
    static_cast<void>(apply(operator_config_, {.left_out = true}));
}

void controller::close_vanished(control_calls& calls) {
    if (!any_vanished_.exchange(false, std::memory_order_acquire)) return;
    with_loan(calls, [this] { vanished_.clear(); });
}

void controller::open_absent(control_calls& calls) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_absent_look_) return;
    next_absent_look_ = now + absent_look;
    std::vector<state::port> absent;
    std::vector<std::string> names;
    std::shared_ptr<const state::configuration> config;
    calls.run([&] {
        for (const auto& p : ports_->open())
            if (p->lost && (p->config.optional || p->was_reset)) {
                absent.push_back(p->config);
                names.push_back(p->name);
            }
        config = operator_config_;
    });
    std::erase_if(absent_, [&](const auto& one) {
        return std::find(names.begin(), names.end(), one.first) == names.end();
    });
    // EAL logs each probe that fails. A device that is being reset comes soon.
    const auto wait = [&](const std::string& name) {
        retry& next = absent_.try_emplace(name, retry{{}, absent_look}).first->second;
        next.at = now + next.wait;
        next.wait = std::min(2 * next.wait, max_absent_wait);
    };
    for (size_t i = 0; i < absent.size(); ++i) {
        if (const auto at = absent_.find(names[i]); at != absent_.end() && now < at->second.at)
            continue;
        if (const auto there = rxtx::port::find(absent[i].device); !there) {
            if (there.error().code != ENXIO) wait(names[i]);
            continue;
        }
        const auto came = apply_beside(calls, config, {.all = false, .named = {names[i]}});
        if (!came) {
            wait(names[i]);
            std::string failure = came.error().message();
            if (failure != absent_failure_) observe::log(observe::log_level::error, failure);
            absent_failure_ = std::move(failure);
        } else if (!came->reopened.empty()) {
            observe::log(observe::log_level::notice,
                         fmt::format("port '{}': its device is there, and was opened", names[i]),
                         {{"what", "opened"}, {"port", names[i]}});
        }
    }
}

/// Retries compare all objects: with a full FIB, that takes long.
void controller::repeat_beside(control_calls& calls) {
    management_late_.store(false, std::memory_order_relaxed);
    const bool left_out = retry_due_.exchange(false, std::memory_order_acquire),
               refused = complete_due_.exchange(false, std::memory_order_acquire);
    bool learns = learn_due_.load(std::memory_order_acquire);
    if (!left_out && !refused && !learns) return;
    std::shared_ptr<const state::configuration> now;
    calls.run([&] {
        now = refused ? std::make_shared<const state::configuration>(*operator_config_)
                      : operator_config_;
        learns = learns && begin_to_learn();
    });
    if (!left_out && !refused && !learns) return;
    const auto came = apply_beside(calls, now, {.left_out = left_out || refused});
    if (learns) calls.run([&] { end_learning(came); });
}

void controller::log_left_out(uint64_t now_ms) {
    const left_out& now = routing_->no_room();
    if (now == logged_left_out_ || now_ms < next_left_out_log_ms_) return;
    next_left_out_log_ms_ = now_ms + left_out_log_ms;
    logged_left_out_ = now;
    if (!now.any())
        return observe::log(observe::log_level::notice, "all the kernel's routes have room again");
    observe::log(observe::log_level::warning,
                 "some of the kernel's routes and neighbours are left out for lack of room",
                 {{"fib_full", std::to_string(now.fib)},
                  {"no_neighbour_entry", std::to_string(now.neighbours)},
                  {"no_next_hop", std::to_string(now.groups)},
                  {"paths", std::to_string(now.paths)},
                  {"permanent_neighbours", std::to_string(now.permanent)}});
}

void controller::receive_punted() noexcept {
    workers_->receive_punted([this](rte_mbuf* m) { slow_path_.handle(m, *slow_path_context_); });
}

/// Unplugged devices: their ports become lost, and their links go down. Management closes them, which may wait for the kernel.
void controller::detect_vanished() {
    for (const auto& port : ports_->open()) {
        if (!port->device.vanished()) continue;
        missed_links_ |= uint32_t{1} << port->port_index;
        port->was_reset = port->device.was_reset();
        static_cast<void>(withdraw({port}, managed_ ? &vanished_ : nullptr));
        any_vanished_.store(managed_, std::memory_order_release);
        if (port->was_reset)
            events_.device_reset(port->name, port->config.device);
        else
            events_.device_gone(port->name, port->config.device, port->config.optional);
        follow_link(port->port_index);
    }
}

void controller::poll_links(uint64_t now_ms) {
    slow_path_context_->now_ms = now_ms;
    follow_missed_links();
    for (const auto& port : ports_->open()) note_link(*port, port->link_up(), now_ms);
    follow_links_of_groups();
}

/// As poll_links(), but the other thread reads the links.
void controller::poll_links_beside(uint64_t now_ms) {
    follow_missed_links();
    if (now_ms >= next_link_look_ms_ && links_.idle()) {
        const bool prompt = host_->runs() || snapshot_->groups;
        next_link_look_ms_ = now_ms + (prompt ? prompt_link_look_ms : link_look_ms);
        auto batch = std::make_unique<link_batch>();
        for (const auto& port : ports_->open())
            if (!port->lost) batch->rows.push_back({port->life, port->device.id()});
        links_.plan(std::move(batch));
    }
    const link_batch* const done = links_.done();
    if (done == nullptr) return;
    for (const auto& port : ports_->open())
        for (const link_batch::row& r : done->rows)
            if (r.life == port->life && !port->lost)
                note_link(*port, r.up && !port->config.shutdown, now_ms);
    links_.adopted();
    follow_links_of_groups();
}

void controller::note_link(open_port& port, bool up, uint64_t now_ms) {
    const bool was = port.state.link_up.exchange(up, std::memory_order_relaxed);
    if (up == was) return;
    events_.link(port.name, up, now_ms);
    follow_link(port.port_index);
}

/// Out of memory: std::bad_alloc; the next poll repeats it.
void controller::follow_link(uint16_t port) {
    const uint32_t one = uint32_t{1} << port;
    missed_links_ |= one;
    link_changed(port, is_up(port));
    host_->links_changed();
    missed_links_ &= ~one;
}

void controller::follow_missed_links() {
    datapath::for_each(missed_links_,
                       [&](uint32_t port) { follow_link(static_cast<uint16_t>(port)); });
}

void controller::follow_links_of_groups() {
    routing_->groups().update_members([this](const datapath::next_hop& nexthop) {
        return has_link(snapshot_->interfaces[nexthop.out.interface]);
    });
}

/// Whether the link of a port is up. The port of all tunnels is always up.
bool controller::is_up(uint16_t port) const noexcept {
    const auto* const state = snapshot_->port[port].state;
    return state != nullptr && state->link_up.load(std::memory_order_relaxed);
}
/// Whether one of the ports in a mask is up.
bool controller::any_is_up(uint32_t ports) const noexcept {
    bool any = false;
    datapath::for_each(ports, [&](uint32_t port) { any |= is_up(static_cast<uint16_t>(port)); });
    return any;
}

/// A bridge's routing interface is up if any member is, and for its tunnels if any port is that these may leave by.
bool controller::has_link(const datapath::interface& i) const noexcept {
    if (i.bridge == 0) return is_up(i.port);
    return any_is_up(snapshot_->bridges->bridges[i.bridge].possible_ports);
}

/// Whether packets of an interface may leave by a port.
bool controller::may_use(const datapath::interface& i, uint16_t port) const noexcept {
    if (i.bridge == 0) return i.port == port;
    return (snapshot_->bridges->bridges[i.bridge].possible_ports >> port & 1) != 0;
}

/// Whether a bridge's routing interface is to be announced when the port comes up: not if it is one more of several.
bool controller::comes_by(uint16_t bridge, uint16_t port, uint16_t ifindex) const noexcept {
    const datapath::bridge_policy& by = snapshot_->bridges->bridges[bridge];
    const uint32_t one = uint32_t{1} << port;
    if ((by.ports & one) != 0) return !any_is_up(by.ports & ~one);
    return (by.possible_ports & one) != 0 && !with_link_.test(ifindex);
}

/// Can be repeated, if memory ended in it.
void controller::link_changed(uint16_t port, bool up) {
    // Its stations may be reachable by another member (IEEE 802.1Q-2018 section 8.8.3).
    if (const uint16_t member = snapshot_->port[port].untagged;
        !up && snapshot_->interfaces[member].kind == datapath::interface_kind::bridged)
        bridges_->forget({.ifindex = member});
    for (uint16_t ifindex = 1; ifindex < datapath::max_interfaces; ++ifindex) {
        const datapath::interface& i = snapshot_->interfaces[ifindex];
        if (i.kind != datapath::interface_kind::routed) continue;
        if (!up) {
            if (may_use(i, port) && !has_link(i)) lose_link(ifindex);
        } else if (i.bridge == 0 ? i.port == port : comes_by(i.bridge, port, ifindex)) {
            send_gratuitous_arp_and_na(ifindex);
        }
    }
}

/// Whether a bridge has a port that was opened in the last change: its link is not read yet.
bool controller::has_new_port(const datapath::interface& i,
                              const datapath::snapshot& before) const noexcept {
    bool any = false;
    if (i.bridge != 0)
        datapath::for_each(snapshot_->bridges->bridges[i.bridge].possible_ports,
                           [&](uint32_t port) {
                               const auto* const state = snapshot_->port[port].state;
                               any |= state != nullptr && state != before.port[port].state;
                           });
    return any;
}

void controller::lose_link(uint16_t interface) {
    dad_->forget(interface);
    igmp_->forget(interface);
    routing_->neighbours().flush_by_ticks({.interface = interface},
                                          datapath::drop_reason::port_down);
    with_link_.reset(interface);
}

/// Send gratuitous ARP and unsolicited neighbour advertisements.
void controller::send_gratuitous_arp_and_na(uint16_t interface, std::span<const ipv6_address> had) {
    dad_->begin(interface, had);
    igmp_->begin(interface);
    slow_path::announce(*slow_path_context_, *dad_, interface);
    with_link_.set(interface);
}

/// After a change: interfaces whose link is up and that are new, have other addresses, or another MAC address (RFC 4861
/// section 7.2.6), and bridges whose link came up or went down with their members.
void controller::announce_changed(const state::configuration& before,
                                  const datapath::snapshot* snapshot_before) noexcept {
    dad_->forget_gone();
    igmp_->forget_gone();
    reserved_->forget_gone();
    // The index is new where the port, the VLAN, the VRF or the MAC address is another one.
    const auto had_addresses = [&](uint16_t ifindex) {
        return snapshot_before != nullptr ? snapshot_before->interfaces[ifindex].addresses
                                          : nullptr;
    };
    for (uint16_t ifindex = 1; ifindex < datapath::max_interfaces; ++ifindex)
        if (snapshot_->interfaces[ifindex].kind != datapath::interface_kind::routed ||
            had_addresses(ifindex) == nullptr)
            with_link_.reset(ifindex);
    try {
        follow_groups(before);
        for (const auto& [name, ifindex] : interfaces_->indexes()) {
            const datapath::interface& is = snapshot_->interfaces[ifindex];
            if (is.kind != datapath::interface_kind::routed) continue;
            const datapath::interface_addresses* const had = had_addresses(ifindex);
            const bool was_up = with_link_.test(ifindex);
            if (!has_link(is)) {
                if (was_up && !has_new_port(is, *snapshot_before)) lose_link(ifindex);
                continue;
            }
            if (was_up && had->prefixes == is.addresses->prefixes) continue;
            const std::vector<ipv6_address> none;
            send_gratuitous_arp_and_na(ifindex, was_up ? had->v6 : none);
        }
    } catch (const std::bad_alloc&) {
        observe::log(observe::log_level::error,
                     "out of memory: changed addresses were not announced");
    }
}

/// After a change: report multicast groups that tunnels have joined or left, on interfaces whose
/// link is up.
void controller::follow_groups(const state::configuration& before) {
    const auto was = state::groups_of(before), is = state::groups_of(*running_);
    const auto notify = [&](const auto& some, const auto& others, auto how) {
        for (const auto& one : some) {
            const auto& [name, group] = one;
            const auto ifindex = interfaces_->indexes().find(name);
            if (others.contains(one) || ifindex == interfaces_->indexes().end()) continue;
            const datapath::interface& i = snapshot_->interfaces[ifindex->second];
            // If the change brought the link up, all groups are reported afterwards.
            if (!has_link(i) || !with_link_.test(ifindex->second)) continue;
            slow_path::multicast_membership& reports = group.v6 ? dad_->reports() : *igmp_;
            (reports.*how)(ifindex->second, group);
        }
    };
    notify(was, is, &slow_path::multicast_membership::left);
    notify(is, was, &slow_path::multicast_membership::joined);
}

/// The pool's low-water mark, by sampling: an exact count would slow the workers.
void controller::poll_pool() noexcept {
    const uint32_t left = rte_mempool_avail_count(pool_);
    pool_facts_.low_water = std::min(pool_facts_.low_water, left);
    if (left_to_all(*pool_) < datapath::burst_max) workers_->note_pool_exhausted();
}

}  // namespace turnpike::control
