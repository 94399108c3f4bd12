// SPDX-License-Identifier: BSD-3-Clause
// The controller's transactions: doc/design/0009-change-sets.md.
#include <rte_cycles.h>

#include <algorithm>

#include "control/controller.hpp"
#include "control/packet_pool.hpp"
#include "observe/log.hpp"
#include "rxtx/driver_facts.hpp"

namespace turnpike::control {

/// Maximum packets of a burst: half of a punt ring for a thousand new hosts at once, and for their answers.
constexpr uint32_t burst_limit(datapath::punt_class of) noexcept {
    using enum datapath::punt_class;
    return of == resolve || of == neighbours ? 1024 : 256;
}

result<state::changes> controller::apply(std::shared_ptr<const state::configuration> wanted,
                                         const lost_ports& lost) noexcept {
    auto came = attempt(wanted, lost);
    if (came) said_ = std::move(wanted);
    if (!came && ports_ != nullptr && ports_->any_to_come_back()) bring_back(came.error());
    return came;
}

result<void> controller::learn(const state::learned& now) noexcept {
    state::learned before;
    try {
        before = std::exchange(learned_, now);
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "nothing changed");
    }
    const auto came = apply(said_);
    if (came) return {};
    std::swap(learned_, before);
    return tl::unexpected<error>(came.error());
}

result<state::changes> controller::attempt(std::shared_ptr<const state::configuration> wanted,
                                           const lost_ports& lost) noexcept {
    try {
        return try_apply(std::move(wanted), lost);
    } catch (const std::exception&) {
        // Short texts, which need no allocation.
        return fail(ENOMEM, {}, "nothing changed");
    }
}

/// A transaction in progress. Uncommitted parts are rolled back in reverse order.
struct controller::under_way {
    change c;
    std::unique_ptr<datapath::snapshot>
        before_exchange{};  ///< the snapshot that the owners prepared with
    std::vector<std::unique_ptr<staged>> ready{};

    void undo_from(size_t owner) noexcept {
        while (ready.size() > owner) ready.pop_back();
    }
    ~under_way() { undo_from(0); }
};

result<void> controller::check_buffers(const state::configuration& wanted) const {
    const uint32_t least = buffers_least(wanted);
    if (pool_facts_.buffers >= least) return {};
    return fail(ENOMEM, wanted.file,
                "the ports' receive rings alone would hold " + std::to_string(least) + " of the " +
                    std::to_string(pool_facts_.buffers) +
                    " buffers in the pool; restart, or use fewer descriptors");
}

/// Empty: the current profiles stay.
result<std::vector<pcie::nic_profile>> controller::pcie_profiles_for(
    const state::changes& what, const state::configuration& wanted) const {
    if (what.ports.empty() && running_->pcie_profiles == wanted.pcie_profiles)
        return std::vector<pcie::nic_profile>{};
    return pcie_profiles(wanted);
}

std::unique_ptr<datapath::snapshot> controller::new_snapshot(
    const state::configuration& wanted) const {
    // Tunnels' interfaces have no link: their packets follow routes.
    static const datapath::port_state always_up{true};
    auto snapshot = std::make_unique<datapath::snapshot>();
    snapshot->port[datapath::tunnel_port].state = &always_up;
    snapshot->hops = hops_->table();
    snapshot->ipv4_sum = ipv4_sum_->function;
    snapshot->plain_ipv4 = plain_ipv4_->function;
    snapshot->drain_cycles = rte_get_tsc_hz() / 1'000'000 * wanted.sending.drain_us;
    snapshot->sleep_us = wanted.idle.sleep_us;
    for (size_t c = 0; c < datapath::punt_classes; ++c) {
        const auto of = static_cast<datapath::punt_class>(c);
        snapshot->punt[c] =
            token_rate::per_second(wanted.punt_rate.of[c], rte_get_tsc_hz(),
                                   std::clamp(wanted.punt_rate.of[c] / 10, 1U, burst_limit(of)));
    }
    snapshot->call_cycles = rte_get_tsc_hz() / 1000 * rxtx::tx_call_ms;
    return snapshot;
}

/// Prepare the owners that have nothing prepared yet.
result<void> controller::prepare(under_way& u) {
    while (u.ready.size() < owners_.size()) {
        u.ready.reserve(owners_.size());
        auto prepared = owners_[u.ready.size()]->prepare(u.c);
        if (!prepared) return tl::unexpected<error>(prepared.error());
        u.ready.push_back(std::move(*prepared));
    }
    return {};
}

/// All owners have prepared, except for ports whose devices are still in use.
result<void> controller::exchange(under_way& u) {
    u.before_exchange = take_out(u.c.closes_first);
    for (const auto& port : u.c.closes_first) port->to_come_back = true;
    const auto same_addresses = u.c.open_rest();
    if (!same_addresses) return tl::unexpected<error>(same_addresses.error());
    if (*same_addresses) return {};
    // Prepare again the owners that depend on a device's MAC address.
    const auto ports = std::find(owners_.begin(), owners_.end(), ports_.get());
    u.undo_from(static_cast<size_t>(ports - owners_.begin()) + 1);
    auto snapshot = new_snapshot(u.c.after);
    snapshot->queues = u.c.snapshot->queues;
    for (size_t port_index = 0; port_index < datapath::max_ports; ++port_index) {
        datapath::port_snapshot& to = snapshot->port[port_index];
        to = u.c.snapshot->port[port_index];
        // The interfaces owner sets the port's interfaces again.
        to.untagged = 0;
        to.by_vlan = nullptr;
        to.tag_type = packet::ether_type_vlan;
    }
    u.c.snapshot = std::move(snapshot);
    u.c.ifindex_of.clear();
    u.c.tables.clear();
    u.c.out = {};
    u.c.vrf_index_of.clear();
    return prepare(u);
}

result<state::changes> controller::try_apply(std::shared_ptr<const state::configuration> wanted,
                                             const lost_ports& lost) {
    // The kernel still has the operator's previous routes: a removed one is not a learned one.
    if (said_ != nullptr) state::take_back(learned_, *said_, *wanted);
    const std::shared_ptr<const state::configuration> operators = wanted;
    size_t neighbours_left_out = 0;
    wanted = state::with_learned(std::move(wanted), learned_, &neighbours_left_out);
    auto what = state::diff(*running_, *wanted);
    if (!what) return what;
    ports_->add_lost(*what, *wanted, lost);
    // running_ stays the same object, which owners refer to, even if line numbers in the file
    // changed.
    if (what->empty() && snapshot_ != nullptr && !incomplete() && !retries_left_out_) return what;
    auto profiles = pcie_profiles_for(*what, *wanted);
    if (!profiles) return tl::unexpected<error>(profiles.error());
    if (auto good = check_buffers(*wanted); !good) return tl::unexpected<error>(good.error());
    under_way u{.c = {.before = *running_,
                      .after = *wanted,
                      .what = *what,
                      .running = snapshot_.get(),
                      .operators_before = said_,
                      .operators_after = operators,
                      .snapshot = new_snapshot(*wanted)}};
    u.c.retries = retries_left_out_;
    if (auto done = prepare(u); !done) return tl::unexpected<error>(done.error());
    if (u.c.open_rest)
        if (auto done = exchange(u); !done) return tl::unexpected<error>(done.error());
    std::unique_ptr<datapath::snapshot> between;
    if (!u.c.hand_over.empty()) {
        between = std::make_unique<datapath::snapshot>(*u.c.snapshot);
        between->queues = std::move(u.c.hand_over);
    }
    if (!profiles->empty()) pcie_profiles_.swap(*profiles);
    message_rate_.set(wanted->limits.rate);
    // In reverse order: neighbours remove host routes from the tables before the routes change.
    for (auto s = u.ready.rbegin(); s != u.ready.rend(); ++s) (*s)->commit();
    icmp_errors_->set_rate(wanted->messages.rate);
    local_->set_rate(wanted->messages.rate);
    redirects_->set_rate(wanted->messages.rate);
    std::unique_ptr<datapath::snapshot> before = std::move(snapshot_);
    if (between != nullptr) {
        published_.store(between.get(), std::memory_order_release);
        wait_for_grace_period();
    }
    publish(std::move(u.c.snapshot));
    const std::shared_ptr<const state::configuration> was =
        std::exchange(running_, std::move(wanted));
    wait_for_grace_period();
    for (auto s = u.ready.rbegin(); s != u.ready.rend(); ++s) (*s)->retire();
    ports_->listen(*snapshot_);
    left_out_ = u.c.out;
    left_out_.permanent += neighbours_left_out;
    left_out_.fib = tables_->left_out();
    hops_when_left_out_ = hops_->in_use();
    punt_counts_->follow(interfaces_->indexes());
    introduce_changed(*what, *was, before.get());
    ++changes_;
    return what;
}

/// Remove ports from the workers' snapshot, and close them.
/// Answers  the previous snapshot
std::unique_ptr<datapath::snapshot> controller::take_out(
    const std::vector<std::shared_ptr<open_port>>& some) {
    auto next = std::make_unique<datapath::snapshot>(*snapshot_);
    for (datapath::worker_queues& q : next->queues)
        for (const auto& port : some) {
            std::erase_if(q.rx, [&](const auto& rx) { return rx.port == port->port_index; });
            q.tx[port->port_index] = -1;
        }
    std::unique_ptr<datapath::snapshot> before = std::move(snapshot_);
    publish(std::move(next));
    wait_for_grace_period();
    for (const auto& port : some) port->lose();
    return before;
}

/// The change failed after ports were closed for it: reopen each with the old configuration, or
/// mark it lost.
void controller::bring_back(error& why) noexcept {
    try {
        std::string again, lost;
        const auto closed = ports_->give_up();
        for (const auto& port : closed) {
            port->to_come_back = true;
            const auto came = attempt(running_, {});
            port->to_come_back = false;
            if (came) {
                --changes_;  // no difference to the running configuration
                again += (again.empty() ? "'" : ", '") + port->name + "'";
                continue;
            }
            link_changed(port->port_index, false);
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
    const bool done = apply(std::make_unique<const state::configuration>(*said_)).has_value();
    observe::log(done ? observe::log_level::notice : observe::log_level::error,
                 done ? "routes and ACLs are restored after the refused change"
                      : "out of memory: a refused change is not rolled back completely; retrying");
}

bool controller::incomplete() const noexcept {
    return tables_->incomplete() || acls_->incomplete();
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
