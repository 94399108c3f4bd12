// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/captures.hpp"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

namespace turnpike::control {

using datapath::max_ports;

captures::~captures() { close(); }

result<uint64_t> captures::begin(std::shared_ptr<capture_session> s, owned_fd&& to,
                                 uint64_t connection) {
    remove_ended();
    const auto on =
        std::ranges::count_if(all_, [](const auto& one) { return !one.second.ended(); });
    if (static_cast<size_t>(on) >= datapath::capture_tap::max_captures)
        return fail(
            EBUSY, "capture",
            "there are " + std::to_string(on) + " captures already; end one of `show captures`");
    entry one{s, connection, true, {}};
    for (size_t i = 0; i < s->ports.size(); ++i) {
        one.port.push_back(s->ports[i].index);
        s->follow(s->ports[i].index, i);
    }
    const auto at = all_.emplace(last_ + 1, std::move(one)).first;
    if (auto done = write_capture(std::move(s), std::move(to)); !done) {
        all_.erase(at);
        return tl::unexpected<error>(done.error());
    }
    ++last_;
    try {
        publish();
    } catch (const std::bad_alloc&) {  // with nothing changed
        at->second.on = false;
        at->second.session->stop.store(true, std::memory_order_relaxed);
        throw;
    }
    forget_ended();
    return last_;
}

/// Requires  workers copy for none of them: a grace period has passed since they ended
void captures::forget_ended() {
    auto beyond = std::ranges::count_if(all_, [](const auto& one) { return one.second.ended(); }) -
                  static_cast<ptrdiff_t>(max_ended);
    for (auto at = all_.begin(); at != all_.end() && beyond > 0;) {
        const bool forgotten = at->second.ended();
        at = forgotten ? all_.erase(at) : std::next(at);
        beyond -= forgotten ? 1 : 0;
    }
}

void captures::end(uint64_t number) {
    const auto at = all_.find(number);
    if (at == all_.end()) return;
    turn_off(at->second);
    // Workers stop copying first: the thread then writes the rest.
    if (differs_) publish();
    at->second.session->stop.store(true, std::memory_order_relaxed);
}

void captures::forget(uint64_t connection) noexcept {
    bool any = differs_;
    for (auto& [number, one] : all_)
        if (one.connection == connection) any |= turn_off(one) || !retired_.empty();
    try {
        if (any) publish();
    } catch (const std::bad_alloc&) {  // the workers copy for it until the next change
        return;
    }
    std::erase_if(all_, [&](const auto& one) {
        if (one.second.connection != connection) return false;
        one.second.session->stop.store(true, std::memory_order_relaxed);
        return true;
    });
}

const capture_session* captures::find(uint64_t number) const noexcept {
    const auto at = all_.find(number);
    return at == all_.end() ? nullptr : at->second.session.get();
}

std::vector<uint64_t> captures::numbers() const {
    std::vector<uint64_t> out;
    for (const auto& [number, one] : all_) out.push_back(number);
    return out;
}

void captures::remove_ended(bool waits) {
    for (auto& [number, one] : all_)
        if (one.session->done.load(std::memory_order_acquire)) turn_off(one);
    if (differs_) publish(waits);
}

void captures::tick(const ports& of) noexcept {
    constexpr uint64_t times_per_s = 100;
    if (tap_ == nullptr) return;
    try {
        remove_ended(false);
        const uint64_t now = rte_rdtsc();
        if (now - clocks_given_ < rte_get_tsc_hz() / times_per_s) return;
        clocks_given_ = now;
        for (auto& [number, one] : all_)
            if (one.on) one.session->set_clocks(of.known_clocks());
    } catch (const std::bad_alloc&) {  // in the next iteration
    }
}

/// Returns  whether it was on
bool captures::turn_off(entry& one) noexcept {
    const bool was = std::exchange(one.on, false);
    differs_ |= was;
    return was;
}

void captures::publish(bool waits) {
    retired_.reserve(retired_.size() + 1);
    auto next = std::make_unique<datapath::capture_tap>();
    for (const auto& [number, one] : all_)
        if (one.on) next->on[next->count++] = &one.session->packets;
    if (next->count == 0) next.reset();
    for (const auto& slot : workers_.all()) slot->worker.capture_for(next.get());
    out_.capture_for(next.get());
    retired_.push_back(std::exchange(tap_, std::move(next)));
    differs_ = false;
    if (!waits) return;
    rcu_.synchronize();
    retired_.clear();
}

void captures::close() noexcept {
    try {
        for (auto& [number, one] : all_) turn_off(one);
        if (tap_ != nullptr || !retired_.empty()) publish();
    } catch (const std::bad_alloc&) {  // workers have stopped, or are stopped next
    }
    for (auto& [number, one] : all_) one.session->stop.store(true, std::memory_order_relaxed);
    constexpr int steps = 100;
    for (int i = 0; i < steps; ++i) {
        if (std::all_of(all_.begin(), all_.end(),
                        [](const auto& one) { return one.second.session->done.load(); }))
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    all_.clear();
}

class captures::prepared_captures : public prepared_change {
  public:
    prepared_captures(captures& of, const transaction& c) : of_(of), change_(c) {}
    /// The ports have prepared by now.
    void commit() noexcept override {
        for (auto& [number, one] : of_.all_) {
            datapath::packet_mask gone = 0, come = 0;
            for (size_t i = 0; i < one.port.size(); ++i) {
                if (one.port[i] == no_port) continue;  // a port that was removed does not come back
                const auto at = change_.port_index_of.find(one.session->ports[i].name);
                // A tunnel may have the name of a port that is gone.
                const uint16_t now = at == change_.port_index_of.end() || at->second >= max_ports
                                         ? no_port
                                         : at->second;
                if (now == one.port[i]) continue;
                gone |= datapath::packet_mask{1} << one.port[i];
                one.port[i] = now;
                if (now == no_port) continue;
                come |= datapath::packet_mask{1} << now;
                one.session->follow(now, i);
            }
            one.session->packets.remove_ports(gone);
            one.session->packets.add_ports(come);
            if (one.on && one.session->packets.ports() == 0) {
                one.session->end_because("its ports are removed");
                one.session->stop.store(true, std::memory_order_relaxed);
            }
        }
        for (const auto& slot : of_.workers_.all()) slot->worker.capture_for(of_.tap_.get());
    }

  private:
    captures& of_;
    const transaction& change_;
};

result<std::unique_ptr<prepared_change>> captures::prepare(transaction& c) {
    return std::make_unique<prepared_captures>(*this, c);
}

}  // namespace turnpike::control
