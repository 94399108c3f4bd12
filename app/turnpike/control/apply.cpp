// SPDX-License-Identifier: BSD-3-Clause
// The controller's transactions: doc/design/0009-change-sets.md.
#include <rte_cycles.h>

#include <algorithm>
#include <optional>

#include "control/controller.hpp"
#include "control/forwarding/packet_pool.hpp"
#include "control/transaction_steps.hpp"
#include "observe/log.hpp"
#include "rxtx/driver_facts.hpp"

namespace turnpike::control {

/// Maximum packets of a burst: half of a punt ring for a thousand new hosts at once, and for their replies.
constexpr uint32_t burst_limit(datapath::punt_class of) noexcept {
    using enum datapath::punt_class;
    return of == resolve || of == neighbours || of == replies ? 1024 : 256;
}

namespace {

/// The error of the exception in progress: memory is short, or turnpike has a defect. The short texts need no allocation.
error error_of_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return {ENOMEM, {}, "nothing changed"};
    } catch (const std::exception& e) {
        try {
            return {EIO, {}, std::string("nothing changed, for a defect of turnpike: ") + e.what()};
        } catch (const std::bad_alloc&) {
            return {EIO, {}, "nothing changed"};
        }
    } catch (...) {
        return {EIO, {}, "nothing changed"};
    }
}

}  // namespace

result<state::changes> controller::apply(std::shared_ptr<const state::configuration> config,
                                         const to_retry& again) noexcept {
    auto came = attempt(config, again);
    if (came) operator_config_ = std::move(config);
    if (!came && ports_ != nullptr && ports_->any_to_come_back())
        bring_back(
            came.error(), [this] { return attempt(operator_config_, {}); },
            [this](uint16_t port) { follow_link(port); });
    return came;
}

result<bool> controller::learn(state::learned now) noexcept {
    const bool reclaims = to_learn_.has_value();
    if (reclaims && !reclaim_learning()) return false;
    if (not_learned_) return tl::unexpected<error>(*std::exchange(not_learned_, std::nullopt));
    state::learned before = std::exchange(learned_, std::move(now));
    size_t changed = 0;
    bool is_direct = learn_routes(before, changed);
    if (!is_direct && !routing_->make_groups_ahead(learned_)) {
        std::swap(learned_, before);
        return false;
    }
    if (!is_direct && routing_->groups().has_ahead()) is_direct = learn_routes(before, changed);
    if (!is_direct && !reclaims && leaves_to_management(changed)) {
        std::swap(learned_, before);
        to_learn_.emplace(std::move(before));
        // A long transaction on control is no more than a twentieth of its time.
        learn_by_ms_ = slow_path_context_->now_ms +
                       std::max(management_patience_ms, 20 * transaction_us(changed) / 1000);
        learn_due_.store(true, std::memory_order_release);
        return false;
    }
    ++learned_batches_.all;
    if (is_direct) return true;
    ++learned_batches_.transactions;
    const auto came = apply(operator_config_);
    if (came) return true;
    std::swap(learned_, before);
    return tl::unexpected<error>(came.error());
}

/// How long a transaction takes, about.
uint64_t controller::transaction_us(size_t changed_routes) const noexcept {
    constexpr uint64_t interface_us = 100, route_us = 1;
    return interface_us * running_->interfaces.size() + route_us * changed_routes;
}

/// Whether a transaction would hold up ARP, ND and BFD.
bool controller::leaves_to_management(size_t changed_routes) const noexcept {
    constexpr uint64_t limit_us = 5000, limit_if_late_us = 100'000;
    const bool is_late = management_late_.load(std::memory_order_relaxed);
    return managed_ && transaction_us(changed_routes) > (is_late ? limit_if_late_us : limit_us);
}

/// Changes that wait for management too long are control's again: packets would be sent by withdrawn routes.
/// Returns  false: management applies them, or still has time to begin
bool controller::reclaim_learning() noexcept {
    if (learning_ || slow_path_context_->now_ms < learn_by_ms_) return false;
    learn_due_.store(false, std::memory_order_relaxed);
    to_learn_.reset();
    if (!management_late_.exchange(true, std::memory_order_relaxed))
        observe::log(observe::log_level::warning,
                     "a request, or access to a file, keeps the management thread busy: the "
                     "control thread applies the kernel's changes itself");
    return true;
}

/// Called before management's transaction: the kernel's state that it applies is the learned one now.
/// Returns  false: control has reclaimed it
bool controller::begin_to_learn() noexcept {
    if (!to_learn_) return false;
    if (!std::exchange(learning_, true)) std::swap(learned_, *to_learn_);
    return true;
}

void controller::end_learning(const result<state::changes>& came) noexcept {
    if (!std::exchange(learning_, false)) return;
    learn_due_.store(false, std::memory_order_relaxed);
    if (came) {
        ++learned_batches_.all;
        ++learned_batches_.transactions;
    } else {
        std::swap(learned_, *to_learn_);
        not_learned_ = came.error();
    }
    to_learn_.reset();
}

void controller::set_managed(bool on) noexcept {
    managed_ = on;
    if (on) return;
    if (std::exchange(learning_, false)) std::swap(learned_, *to_learn_);
    to_learn_.reset();
}

/// Where only routes change, their tables are written: no other object depends on them.
/// changed  as of routing::learn
/// Returns  whether all changes are applied
bool controller::learn_routes(const state::learned& before, size_t& changed) noexcept {
    if (!running_->control_plane.netlink || incomplete() ||
        before.addresses != learned_.addresses || before.neighbours != learned_.neighbours ||
        before.admin_down != learned_.admin_down)
        return false;
    return routing_->learn({.config = *running_,
                            .ifindexes = interfaces_->indexes(),
                            .can_send =
                                [this](const datapath::next_hop& nexthop) {
                                    return has_link(snapshot_->interfaces[nexthop.out.interface]);
                                }},
                           *followed_, before, learned_, changed);
}

result<state::changes> controller::attempt(std::shared_ptr<const state::configuration> config,
                                           const to_retry& again) noexcept {
    try {
        transaction_steps u(std::move(config));
        auto done = compare(u, again);
        if (done) done = prepare_owners(u, config_handlers_.size());
        if (done && u.c && u.c->open_rest) done = exchange(u);
        if (done) done = finish(u);
        if (!done) return tl::unexpected<error>(done.error());
        settle(u, true);
        return std::move(u.what);
    } catch (...) {
        return tl::unexpected<error>(error_of_exception());
    }
}

/// Before the loan: nothing of control's is read but what the call copies.
result<void> controller::compile_beside(control_calls& calls, transaction_steps& u) const {
    std::shared_ptr<const state::configuration> now;
    acls::bound_lists bound;
    // Control may replace a list meanwhile, and its tables are freed by control.
    const struct released {
        control_calls& calls;
        acls::bound_lists& lists;
        ~released() {
            calls.run([this] { lists = {}; });
        }
    } afterwards{calls, bound};
    calls.run([&] {
        now = operator_config_;
        bound = acls_->bound();
    });
    auto made = acls_->compile_changed(bound, *now, *u.operators);
    if (!made) return tl::unexpected<error>(made.error());
    u.compiled = std::move(*made);
    return {};
}

/// The number of owners up to the workers, whose rings control reads during a loan.
size_t controller::after_rings() const noexcept {
    return static_cast<size_t>(
               std::find(config_handlers_.begin(), config_handlers_.end(), workers_.get()) -
               config_handlers_.begin()) +
           1;
}

/// During the loan. Control handles packets by the published snapshot meanwhile; it reads the workers' rings, so it prepares
/// these itself.
result<void> controller::prepare_beside(control_calls& calls, transaction_steps& u,
                                        const to_retry& again) {
    if (auto done = compare(u, again); !done || u.nothing) return done;
    u.c->beside = &calls;
    if (auto done = prepare_owners(u, after_rings() - 1); !done) return done;
    if (auto done = calls.run([&] { return prepare_owners(u, after_rings()); }); !done) return done;
    if (auto done = prepare_owners(u, config_handlers_.size()); !done) return done;
    return u.c->open_rest ? exchange(u) : result<void>{};
}

/// Ends the loan, with the transaction or without it.
/// so_far  the outcome of its preparation; u: empty if there was no memory for it, and afterwards if it failed
result<state::changes> controller::finish_beside(std::optional<transaction_steps>& u,
                                                 result<void> so_far) noexcept {
    end_loan();
    try {
        if (so_far) so_far = finish(*u);
    } catch (...) {
        so_far = tl::unexpected<error>(error_of_exception());
    }
    if (!so_far) {
        u.reset();
        handle_pending();
        return tl::unexpected<error>(std::move(so_far.error()));
    }
    operator_config_ = u->operators;
    handle_pending();
    return std::move(u->what);
}

/// During the loan, which a failed preparation leaves as it was.
/// Answers  the differences; then, or if ports were closed for a change that failed, the tables are lent again at once: no
///          other transaction may come before the rest is done
result<state::changes> controller::attempt_beside(control_calls& calls,
                                                  std::optional<transaction_steps>& u,
                                                  result<void> so_far,
                                                  const to_retry& again) noexcept {
    try {
        if (so_far) so_far = prepare_beside(calls, *u, again);
    } catch (...) {
        so_far = tl::unexpected<error>(error_of_exception());
    }
    if (!so_far && u) u->undo_from(after_rings());  // closes devices
    auto came = calls.run([&] {
        auto out = finish_beside(u, std::move(so_far));
        lend();
        return out;
    });
    if (!u) return came;
    settle(*u, false);
    u.reset();  // closes removed ports, and frees replaced objects
    return came;
}

result<state::changes> controller::apply_beside(
    control_calls& calls, const std::shared_ptr<const state::configuration>& config,
    const to_retry& again) noexcept {
    if (!calls.connected()) return apply(config, again);
    std::optional<transaction_steps> u;
    result<void> done;
    try {
        u.emplace(config);
        done = compile_beside(calls, *u);
        host_->wait_for_upkeep();
        links_.wait();
    } catch (...) {
        done = tl::unexpected<error>(error_of_exception());
    }
    calls.run([this] { lend(); });
    links_.conclude();
    vanished_.clear();  // a change may open the device again
    auto came = attempt_beside(calls, u, std::move(done), again);
    if (!came && ports_->any_to_come_back())
        bring_back(
            came.error(), [&] { return reopen_beside(calls); },
            [&](uint16_t port) { calls.run([&] { follow_link(port); }); });
    calls.run([this] {
        end_loan();
        handle_pending();
    });
    return came;
}

/// Opens the ports with `to_come_back` by a transaction of the running configuration, during the loan.
result<state::changes> controller::reopen_beside(control_calls& calls) noexcept {
    std::optional<transaction_steps> u;
    result<void> so_far;
    try {
        u.emplace(operator_config_);
    } catch (...) {
        so_far = tl::unexpected<error>(error_of_exception());
    }
    return attempt_beside(calls, u, std::move(so_far), {});
}

result<void> controller::check_buffers(const state::configuration& config) const {
    const uint32_t least = buffers_least(config);
    if (pool_facts_.buffers >= least) return {};
    return fail(ENOMEM, config.file,
                "the ports' receive rings alone would hold " + std::to_string(least) + " of the " +
                    std::to_string(pool_facts_.buffers) +
                    " buffers in the pool; restart, or use fewer descriptors");
}

/// Empty: the current profiles stay.
result<std::vector<pcie::nic_profile>> controller::pcie_profiles_for(
    const state::changes& what, const state::configuration& config) const {
    if (what.ports.empty() && running_->pcie_profiles == config.pcie_profiles)
        return std::vector<pcie::nic_profile>{};
    return pcie_profiles(config);
}

std::unique_ptr<datapath::snapshot> controller::new_snapshot(
    const state::configuration& config) const {
    // Tunnels' interfaces have no link: their packets follow routes.
    static const datapath::port_state always_up{true};
    auto snapshot = std::make_unique<datapath::snapshot>();
    snapshot->port[datapath::tunnel_port].state = &always_up;
    snapshot->nexthops = nexthops_->table();
    snapshot->ipv4_sum = ipv4_sum_->function;
    snapshot->fast_ipv4 = fast_ipv4_->function;
    snapshot->fast_ipv6 = fast_ipv6_->function;
    snapshot->drain_cycles = rte_get_tsc_hz() / 1'000'000 * config.sending.drain_us;
    snapshot->sleep_us = config.idle.sleep_us;
    for (size_t c = 0; c < datapath::punt_classes; ++c) {
        const auto of = static_cast<datapath::punt_class>(c);
        snapshot->punt[c] =
            token_rate::per_second(config.punt_rate.of[c], rte_get_tsc_hz(),
                                   std::clamp(config.punt_rate.of[c] / 10, 1U, burst_limit(of)));
    }
    snapshot->call_cycles = rte_get_tsc_hz() / 1000 * rxtx::tx_call_ms;
    return snapshot;
}

/// Prepare the owners before this one that have nothing prepared yet.
result<void> controller::prepare_owners(transaction_steps& u, size_t until) {
    while (!u.nothing && u.ready.size() < until) {
        u.ready.reserve(config_handlers_.size());
        auto prepared = config_handlers_[u.ready.size()]->prepare(*u.c);
        if (!prepared) return tl::unexpected<error>(prepared.error());
        u.ready.push_back(std::move(*prepared));
    }
    if (!u.nothing && u.ready.size() == config_handlers_.size())
        datapath::complete_paths(*u.c->snapshot);
    return {};
}

/// All owners have prepared, except for ports whose devices are still in use: these are closed, and the others are opened.
result<void> controller::exchange(transaction_steps& u) {
    transaction& c = *u.c;
    u.before_exchange = withdraw(c.closes_first);
    for (const auto& port : c.closes_first) port->to_come_back = true;
    const auto same_addresses = c.open_rest();
    if (!same_addresses) return tl::unexpected<error>(same_addresses.error());
    if (*same_addresses) return {};
    // Prepare again the owners that depend on a device's MAC address.
    const auto ports = std::find(config_handlers_.begin(), config_handlers_.end(), ports_.get());
    u.undo_from(static_cast<size_t>(ports - config_handlers_.begin()) + 1);
    auto snapshot = new_snapshot(c.after);
    snapshot->queues = c.snapshot->queues;
    snapshot->one_buffer = c.snapshot->one_buffer;
    snapshot->min_tx_bytes = c.snapshot->min_tx_bytes;
    for (size_t port_index = 0; port_index < datapath::max_ports; ++port_index) {
        datapath::port_snapshot& to = snapshot->port[port_index];
        to = c.snapshot->port[port_index];
        // The interfaces owner sets the port's interfaces again.
        to.untagged = 0;
        to.in_front = 0;
        to.by_vlan = nullptr;
        to.tag_type = packet::ether_type_vlan;
    }
    c.snapshot = std::move(snapshot);
    c.ifindex_of.clear();
    c.derived.clear();
    c.vrf_index_of.clear();
    return prepare_owners(u, config_handlers_.size());
}

/// Find the differences to the running configuration.
result<void> controller::compare(transaction_steps& u, const to_retry& again) {
    // The kernel still has the operator's previous routes: a removed one is not a learned one.
    if (operator_config_ != nullptr)
        state::forget_removed(learned_, *operator_config_, *u.operators);
    u.config = state::with_interfaces(*u.operators, learned_);
    if (u.config == nullptr) u.config = u.operators;
    u.learned = std::make_unique<state::followed>(state::follow(*u.config, learned_));
    auto what = state::diff(*running_, *u.config);
    if (!what) return tl::unexpected<error>(what.error());
    u.what = std::move(*what);
    state::add_learned(u.what, *followed_, *u.learned);
    ports_->add_lost(u.what, *u.config, again);
    // running_ stays the same object, which owners refer to, even if line numbers in the file
    // changed.
    u.nothing = u.what.empty() && snapshot_ != nullptr && !incomplete() && !again.left_out;
    if (u.nothing) return {};
    auto profiles = pcie_profiles_for(u.what, *u.config);
    if (!profiles) return tl::unexpected<error>(profiles.error());
    u.profiles = std::move(*profiles);
    if (auto good = check_buffers(*u.config); !good) return good;
    u.c.emplace(transaction{.before = *running_,
                            .after = *u.config,
                            .what = u.what,
                            .learned = *u.learned,
                            .running = snapshot_.get(),
                            .operators_before = operator_config_,
                            .operators_after = u.operators,
                            .snapshot = new_snapshot(*u.config),
                            .retries = again.left_out});
    u.c->compiled = std::move(u.compiled);
    return {};
}

/// All owners have prepared.
result<void> controller::finish(transaction_steps& u) {
    if (u.nothing) return {};
    transaction& c = *u.c;
    std::unique_ptr<datapath::snapshot> between;
    if (!c.hand_over.empty()) {
        between = std::make_unique<datapath::snapshot>(*c.snapshot);
        between->queues = std::move(c.hand_over);
    }
    punt_counts_->make_room(c.ifindex_of);
    // Nothing fails from here on.
    if (!u.profiles.empty()) pcie_profiles_.swap(u.profiles);
    message_rate_.set(u.config->limits.rate);
    // In reverse order: neighbours remove host routes from the tables before the routes change.
    for (auto s = u.ready.rbegin(); s != u.ready.rend(); ++s) (*s)->commit();
    icmp_errors_->set_rate(u.config->messages.rate);
    local_->set_rate(u.config->messages.rate);
    redirects_->set_rate(u.config->messages.rate);
    std::unique_ptr<datapath::snapshot> before = std::move(snapshot_);
    if (between != nullptr) {
        published_.store(between.get(), std::memory_order_release);
        wait_for_grace_period();
    }
    publish(std::move(c.snapshot));
    control_tx_->sample_drops_in(snapshot_->sampling);
    const std::shared_ptr<const state::configuration> was = std::exchange(running_, u.config);
    followed_.swap(u.learned);
    wait_for_grace_period();
    for (auto s = u.ready.rbegin(); s != u.ready.rend(); ++s) (*s)->retire();
    punt_counts_->follow(interfaces_->indexes());
    announce_changed(*was, before.get());
    ++changes_;
    return {};
}

/// After finish(): requests to the kernel and to devices, for which no worker waits. Drivers program filters of kernel
/// interfaces under RTNL: after a transaction of control's own, management does.
void controller::settle(transaction_steps& u, bool by_control) noexcept {
    for (const auto& s : u.ready) s->settle();
    if (!by_control || !managed_) return ports_->listen(*snapshot_);
    if (!ports_->have_filters(*snapshot_)) listen_due_.store(true, std::memory_order_release);
}

void controller::listen_beside(control_calls& calls) {
    if (!listen_due_.exchange(false, std::memory_order_acquire)) return;
    with_loan(calls, [this] { ports_->listen(*snapshot_); });
}

/// Remove ports from the workers' snapshot, and close them.
/// devices  gets the devices, which are to be closed; null: they are closed here
/// Answers  the previous snapshot
std::unique_ptr<datapath::snapshot> controller::withdraw(
    const std::vector<std::shared_ptr<open_port>>& some, std::vector<rxtx::port>* devices) {
    if (devices != nullptr) devices->reserve(devices->size() + some.size());
    auto next = std::make_unique<datapath::snapshot>(*snapshot_);
    for (datapath::worker_queues& q : next->queues)
        for (const auto& port : some) {
            std::erase_if(q.rx, [&](const auto& rx) { return rx.port == port->port_index; });
            q.tx[port->port_index] = -1;
        }
    std::unique_ptr<datapath::snapshot> before = std::move(snapshot_);
    publish(std::move(next));
    wait_for_grace_period();
    for (const auto& port : some) {
        rxtx::port device = port->lose();
        if (devices != nullptr) devices->push_back(std::move(device));
    }
    return before;
}

/// The change failed after ports were closed for it: reopen each with the old configuration, or
/// mark it lost.
/// reopen  a transaction that opens the ports with `to_come_back`; went_down: of a port that stays without a device
void controller::bring_back(error& why, const std::function<result<state::changes>()>& reopen,
                            const std::function<void(uint16_t port)>& went_down) noexcept {
    try {
        std::string again, lost;
        const auto closed = ports_->release_closed();
        for (const auto& port : closed) {
            port->to_come_back = true;
            const auto came = reopen();
            port->to_come_back = false;
            if (came) {
                --changes_;  // no difference to the running configuration
                again += (again.empty() ? "'" : ", '") + port->name + "'";
                continue;
            }
            went_down(port->port_index);
            lost += "; port '" + port->name +
                    "' has no device now, since it could not be reopened: " + came.error().text;
        }
        if (!again.empty())
            again = "; the running configuration stays, with reopened ports: " + again;
        why.text += again + lost;
    } catch (const std::bad_alloc&) {  // out of memory: the text is incomplete
    }
}

/// A rollback ran out of memory: rebuild the tables of the running configuration.
void controller::complete() {
    static_cast<void>(
        apply(std::make_unique<const state::configuration>(*operator_config_), {.left_out = true}));
}

/// Once for each such change, and once when all is restored.
void controller::log_incomplete() {
    const bool now = incomplete();
    if (now == logged_incomplete_) return;
    logged_incomplete_ = now;
    observe::log(now ? observe::log_level::error : observe::log_level::notice,
                 now ? "out of memory: a refused change is not rolled back completely; retrying"
                     : "routes and ACLs are restored after the refused change");
}

bool controller::incomplete() const noexcept {
    return routing_->tables().incomplete() || acls_->incomplete();
}

void controller::publish(std::unique_ptr<datapath::snapshot> next) noexcept {
    snapshot_ = std::move(next);
    published_.store(snapshot_.get(), std::memory_order_release);
}

/// An iteration that began with the old snapshot may end the first grace period; in its next iteration
/// a worker adopts the new snapshot and flushes packets for ports and queues that are removed.
void controller::wait_for_grace_period() noexcept {
    rcu_->synchronize();
    rcu_->synchronize();
}

}  // namespace turnpike::control
