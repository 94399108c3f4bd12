// SPDX-License-Identifier: BSD-3-Clause
#include "observe/baseline.hpp"

#include <algorithm>

namespace turnpike::observe {
namespace {

/// Subtracts without wrapping below 0.
template <class T>
void take(T& from, const T& what) noexcept {
    from -= std::min(from, what);
}

port_totals difference(const port_totals& now, const port_totals& then) noexcept {
    port_totals d;
    d.add(now, then);
    return d;
}

}  // namespace

baseline::baseline(const report& now) : start_(false), duration_s_(now.duration_s) {
    for (const port_report& p : now.ports) {
        if (p.life == 0)
            removed_ = p.totals;
        else
            ports_.emplace(p.life, port{p.rx_missed, p.totals, p.pcie.counts});
    }
    for (const worker_report& w : now.workers) workers_.emplace(w.lcore, w);
    for (const acl_report& a : now.acls) lists_.emplace(a.life, list{a, {}});
    for (const punt_report& p : now.punt) punt_.emplace(std::pair(p.life, p.of), p);
}

void baseline::clear_port(const port_report& now) {
    ports_.insert_or_assign(now.life, port{now.rx_missed, now.totals, now.pcie.counts});
}

void baseline::take_off(report& now) const {
    take(now.duration_s, duration_s_);
    // Counters of ports removed since the baseline are now part of the sum of removed ports.
    port_totals gone = removed_;
    for (const auto& [life, then] : ports_)
        if (std::none_of(now.ports.begin(), now.ports.end(),
                         [l = life](const port_report& p) { return p.life == l; }))
            gone.add(then.totals, {});
    for (port_report& p : now.ports) {
        if (p.life == 0)
            p.totals = difference(p.totals, gone);
        else
            take_off_port(p);
    }
    for (worker_report& w : now.workers) take_off_worker(w);
    for (acl_report& a : now.acls) take_off_list(a);
    for (punt_report& p : now.punt) {
        const auto at = punt_.find(std::pair(p.life, p.of));
        if (at == punt_.end()) continue;
        take(p.punted, at->second.punted);
        take(p.dropped, at->second.dropped);
    }
}

void baseline::take_off_port(port_report& now) const {
    const auto then = ports_.find(now.life);
    if (then == ports_.end()) return;
    take(now.rx_missed, then->second.rx_missed);
    now.totals = difference(now.totals, then->second.totals);
    for (auto& [name, n] : now.pcie.counts)
        if (const auto at = then->second.pcie.find(name); at != then->second.pcie.end())
            take(n, at->second);
}

void baseline::take_off_worker(worker_report& now) const {
    take(now.duration_s, duration_s_);
    const auto at = workers_.find(now.lcore);
    if (at == workers_.end()) return;
    const worker_report& then = at->second;
    take(now.packets, then.packets);
    take(now.busy_cycles, then.busy_cycles);
    take(now.slept_cycles, then.slept_cycles);
    take(now.total_cycles, then.total_cycles);
    for (size_t i = 0; i < now.bursts.size(); ++i) take(now.bursts[i], then.bursts[i]);
    for (size_t i = 0; i < std::min(now.stages.size(), then.stages.size()); ++i) {
        take(now.stages[i].packets, then.stages[i].packets);
        take(now.stages[i].cycles, then.stages[i].cycles);
        take(now.stages[i].counted_packets, then.stages[i].counted_packets);
        take(now.stages[i].instructions, then.stages[i].instructions);
    }
}

void baseline::take_off_list(acl_report& now) const {
    const auto at = lists_.find(now.life);
    if (at == lists_.end()) return;
    const list& then_list = at->second;
    take(now.permitted, then_list.counted.permitted);
    take(now.denied, then_list.counted.denied);
    // Most rules are where they were, or all behind an edit moved by the same number; the map is for the others.
    const auto& rules = then_list.counted.rules;
    auto& position = then_list.position;
    size_t next = now.first_rule;
    const auto find = [&](uint64_t life) -> const acl_rule_report* {
        if (next < rules.size() && rules[next].life == life) return &rules[next++];
        if (position.empty())
            for (size_t i = 0; i < rules.size(); ++i) position.emplace(rules[i].life, i);
        const auto there = position.find(life);
        if (there == position.end()) return nullptr;
        next = there->second + 1;
        return &rules[there->second];
    };
    for (acl_rule_report& r : now.rules) {
        const acl_rule_report* const then = find(r.life);
        if (then == nullptr) continue;
        take(r.packets, then->packets);
        take(r.bytes, then->bytes);
        for (size_t w = 0; w < std::min(r.by_worker.size(), then->by_worker.size()); ++w)
            take(r.by_worker[w], then->by_worker[w]);
    }
}

}  // namespace turnpike::observe
