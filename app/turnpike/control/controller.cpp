// SPDX-License-Identifier: BSD-3-Clause
// Change sets and the main loop; bring_up.cpp makes and ends it all.
#include "control/controller.hpp"

#include <rte_cycles.h>
#include <rte_mempool.h>

#include <algorithm>

#include "control/packet_pool.hpp"
#include "control/slow_path/nd.hpp"
#include "observe/console.hpp"

namespace turnpike::control {
namespace {

constexpr uint64_t link_look_ms = 100, pool_look_ms = 10, complete_ms = 1000;

uint64_t clock_ms() noexcept { return rte_rdtsc() / (rte_get_tsc_hz() / 1000); }

}  // namespace

result<state::changes> controller::apply(std::shared_ptr<const state::desired> wanted) noexcept {
    try {
        return try_apply(std::move(wanted));
    } catch (const std::exception&) {
        // Short texts: they need no memory themselves.
        return fail(ENOMEM, {}, "nothing changed");
    }
}

result<state::changes> controller::try_apply(std::shared_ptr<const state::desired> wanted) {
    auto what = state::diff(*running_, *wanted);
    if (!what) return what;
    // What runs stays the very object that owners know, though lines of the file may have moved.
    if (what->empty() && view_ != nullptr && !incomplete()) return what;
    for (const auto& [name, port] : wanted->ports)
        if (auto good = check_bill(name, port, pcie_profiles_); !good)
            return tl::unexpected<error>(good.error());
    if (const uint32_t least = buffers_least(*wanted); pool_facts_.buffers < least)
        return fail(ENOMEM, wanted->file,
                    "the ports' receive rings alone would hold " + std::to_string(least) +
                        " of the " + std::to_string(pool_facts_.buffers) +
                        " buffers that there are; restart, or use fewer descriptors");
    change c{.before = *running_, .after = *wanted, .what = *what, .running = view_.get()};
    c.view->hops = hops_->table();
    c.view->ipv4_sum = ipv4_sum_->function;
    c.view->plain_ipv4 = plain_ipv4_->function;
    c.view->drain_cycles = rte_get_tsc_hz() / 1'000'000 * wanted->sending.drain_us;
    std::vector<std::unique_ptr<staged>> ready;
    struct undo {  // the last first
        std::vector<std::unique_ptr<staged>>& all;
        ~undo() {
            while (!all.empty()) all.pop_back();
        }
    } at_the_end{ready};
    for (owner* o : owners_) {
        ready.reserve(ready.size() + 1);
        auto prepared = o->prepare(c);
        if (!prepared) return tl::unexpected<error>(prepared.error());
        ready.push_back(std::move(*prepared));
    }
    std::unique_ptr<datapath::view> between;
    if (!c.hand_over.empty()) {
        between = std::make_unique<datapath::view>(*c.view);
        between->queues = std::move(c.hand_over);
    }
    message_rate_.set(wanted->limits.rate);
    // The last first: what neighbours take out of the tables is judged by the routes that are.
    for (auto s = ready.rbegin(); s != ready.rend(); ++s) (*s)->commit();
    icmp_errors_->set_rate(wanted->messages.rate);
    local_->set_rate(wanted->messages.rate);
    std::unique_ptr<datapath::view> before = std::move(view_);
    if (between != nullptr) {
        published_.store(between.get(), std::memory_order_release);
        let_workers_move_on();
    }
    publish(std::move(c.view));
    const std::shared_ptr<const state::desired> was = std::exchange(running_, std::move(wanted));
    let_workers_move_on();
    for (auto s = ready.rbegin(); s != ready.rend(); ++s) (*s)->retire();
    ports_->listen(*view_);
    introduce_changed(*what, *was);
    ++changes_;
    return what;
}

/// Memory ended while a refused change was taken back: what runs is made again as it is meant to be.
void controller::complete() {
    const bool done = apply(std::make_unique<const state::desired>(*running_)).has_value();
    observe::log(done ? observe::log_level::notice : observe::log_level::error,
                 done ? "routes and access lists are as before the refused change again"
                      : "no memory to take back all of a refused change; it is tried again");
}

bool controller::incomplete() const noexcept {
    return routes_->incomplete() || acls_->incomplete();
}

void controller::publish(std::unique_ptr<datapath::view> next) noexcept {
    view_ = std::move(next);
    published_.store(view_.get(), std::memory_order_release);
}

/// A round that began with the old view may end the first grace period; in the round behind it a worker
/// adopts the new one and sends what it still has for ports and queues that go.
void controller::let_workers_move_on() noexcept {
    rcu_->synchronize();
    rcu_->synchronize();
}

void controller::run(const outside& o) {
    started_ = rte_rdtsc();
    look_at_links(clock_ms());  // before the first packet: it may already be in a receive ring
    workers_->run(o.done, [&] {
        tick(clock_ms());
        o.between();
    });
    stopped_ = rte_rdtsc();
    look_at_ports();
    drop_leftovers();
}

void controller::tick(uint64_t now_ms) noexcept {
    tools_->now_ms = now_ms;
    try {
        take_punted();
        own_groups_->tick();  // first: neighbours are asked for by addresses that are ours
        neighbours_->tick(now_ms);
        rcu_->reclaim();
        events_.look(now_ms);
        if (now_ms >= next_link_look_ms_) {
            look_at_links(now_ms);
            next_link_look_ms_ = now_ms + link_look_ms;
        }
        if (now_ms >= next_pool_look_ms_) {
            look_at_pool();
            next_pool_look_ms_ = now_ms + pool_look_ms;
        }
        if (incomplete() && now_ms >= next_complete_ms_) {
            next_complete_ms_ = now_ms + complete_ms;
            complete();
        }
    } catch (const std::exception&) {  // no memory: what was not done comes again
    }
}

void controller::take_punted() noexcept {
    workers_->take_punted([this](rte_mbuf* m) { slow_path_.take(m, *tools_); });
}

void controller::look_at_links(uint64_t now_ms) {
    tools_->now_ms = now_ms;
    for (const auto& port : ports_->open()) {
        const bool up = port->device.link_up();
        const bool was = port->state.link_up.exchange(up, std::memory_order_relaxed);
        if (up == was) continue;
        events_.link(port->name, up, now_ms);
        link_changed(port->place, up);
    }
}

void controller::link_changed(uint16_t port, bool up) {
    for (uint16_t place = 1; place < datapath::max_interfaces; ++place) {
        const datapath::interface& i = view_->interfaces[place];
        if (i.kind != datapath::interface_kind::routed || i.port != port) continue;
        if (up) {
            introduce(place);
        } else {
            own_groups_->forget(place);
            neighbours_->flush(place, packet::drop_reason::port_down, tools_->now_ms);
        }
    }
}

/// Others on its link learn who we are.
void controller::introduce(uint16_t interface) {
    own_groups_->begin(interface);
    slow_path::announce(*tools_, interface);
}

/// After a change: interfaces with other addresses, where the link is up already.
void controller::introduce_changed(const state::changes& what,
                                   const state::desired& before) noexcept {
    own_groups_->forget_gone();
    try {
        for (const auto* names : {&what.interfaces.added, &what.interfaces.changed})
            for (const std::string& name : *names) {
                const state::interface *was = before.interfaces.find(name),
                                       &is = running_->interfaces.at(name);
                if (was != nullptr && was->kind == is.kind && was->port == is.port &&
                    was->addresses == is.addresses)
                    continue;
                const uint16_t place = interfaces_->places().at(name);
                const datapath::interface& i = view_->interfaces[place];
                const auto* port = view_->port[i.port].state;
                if (i.kind == datapath::interface_kind::routed &&
                    port->link_up.load(std::memory_order_relaxed))
                    introduce(place);
            }
    } catch (const std::bad_alloc&) {
        observe::log(observe::log_level::error, "no memory to announce addresses that changed");
    }
}

/// The low-water mark, as seen by looking: counting every get would cost the workers.
void controller::look_at_pool() noexcept {
    const uint32_t left = rte_mempool_avail_count(pool_);
    pool_facts_.low_water = std::min(pool_facts_.low_water, left);
    if (left_to_all(*pool_) < datapath::burst_max) workers_->pool_is_dry();
}

}  // namespace turnpike::control
