// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/queues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace turnpike::control {

using datapath::max_ports, datapath::rx_queue, datapath::worker_queues;

queue_plan::queue_plan(const std::vector<transaction::worker>& workers,
                       const datapath::snapshot* running, bool even_out)
    : workers_(workers), running_(running), even_out_(even_out), after_(workers.size()) {
    for (worker_queues& q : after_) q.tx.fill(-1);
}

bool queue_plan::polled(size_t worker, const rx_queue& q) const noexcept {
    if (running_ == nullptr || worker >= running_->queues.size()) return false;
    const auto& had = running_->queues[worker].rx;
    return std::find(had.begin(), had.end(), q) != had.end();
}

bool queue_plan::polled_by_another(size_t worker, const rx_queue& q) const noexcept {
    for (size_t w = 0; w < workers_.size(); ++w)
        if (w != worker && polled(w, q)) return true;
    return false;
}

int32_t queue_plan::sent_by(size_t worker, uint16_t port_index) const noexcept {
    const bool there = running_ != nullptr && worker < running_->queues.size() &&
                       running_->port[port_index].state != nullptr;
    return there ? running_->queues[worker].tx[port_index] : -1;
}

/// -1: no worker is on the node.
int queue_plan::node_with_workers(int node) const noexcept {
    const bool any =
        std::any_of(workers_.begin(), workers_.end(),
                    [&](const transaction::worker& w) { return w.forwards && w.node == node; });
    return any ? node : -1;
}

/// The worker on the node with the fewest RX queues; -1: on any node. Requires that there is one.
size_t queue_plan::fewest(int node) const noexcept {
    size_t best = workers_.size();
    for (size_t w = 0; w < workers_.size(); ++w)
        if (workers_[w].forwards && (node < 0 || workers_[w].node == node) &&
            (best == workers_.size() || after_[w].rx.size() < after_[best].rx.size()))
            best = w;
    return best;
}

/// The worker that rx_workers assigns to a queue.
result<size_t> queue_plan::named(const port& p, uint16_t queue) const {
    const unsigned lcore = p.config->rx_workers[queue % p.config->rx_workers.size()];
    const auto at =
        std::find_if(workers_.begin(), workers_.end(),
                     [&](const transaction::worker& w) { return w.lcore == lcore && w.forwards; });
    if (at == workers_.end())
        return fail(
            EINVAL, p.config->where.text,
            fmt::format("port '{}': rx_workers names lcore {}, which is none of the workers",
                        p.name, lcore));
    return static_cast<size_t>(at - workers_.begin());
}

result<void> queue_plan::share_rx(std::span<const port> ports) {
    std::vector<std::pair<rx_queue, int>> unassigned;
    std::vector<movable> free;
    for (const port& p : ports) {
        if (p.config->shutdown) continue;
        const int node = node_with_workers(p.node);
        for (uint16_t q = 0; q < p.config->rx_queues; ++q) {
            const rx_queue queue{p.port_index, q};
            if (!p.config->rx_workers.empty()) {
                const auto worker = named(p, q);
                if (!worker) return tl::unexpected<error>(worker.error());
                after_[*worker].rx.push_back(queue);
                continue;
            }
            size_t w = 0;
            while (w < workers_.size() && !(workers_[w].forwards && polled(w, queue))) ++w;
            if (w == workers_.size()) {
                unassigned.emplace_back(queue, node);
                continue;
            }
            after_[w].rx.push_back(queue);
            free.push_back({w, queue, node});
        }
    }
    for (const auto& [queue, node] : unassigned) {
        const size_t w = fewest(node);
        after_[w].rx.push_back(queue);
        free.push_back({w, queue, node});
    }
    if (!even_out_) return {};
    std::set<int> nodes;
    for (const movable& m : free) nodes.insert(m.node);
    for (const int node : nodes) even_out(free, node);
    return {};
}

/// Move one queue at a time from the worker with the most to the one with the fewest, preferably of
/// a port of which the former has several: so each worker gets a share of each port. Per NUMA node;
/// queues on a worker of another node move back first.
void queue_plan::even_out(std::vector<movable>& free, int node) {
    const auto astray = [&](const movable& m) {
        return node >= 0 && m.node == node && workers_[m.worker].node != node;
    };
    for (movable& m : free)
        if (astray(m)) {
            const size_t home = fewest(node);
            std::erase(after_[m.worker].rx, m.queue);
            after_[home].rx.push_back(m.queue);
            m.worker = home;
        }
    const auto of_port = [&](size_t worker, uint16_t port_index) {
        return std::count_if(after_[worker].rx.begin(), after_[worker].rx.end(),
                             [&](const rx_queue& q) { return q.port == port_index; });
    };
    for (;;) {
        const size_t to = fewest(node);
        const auto weight = [&](const movable& m) {
            return std::tuple(m.node == node, after_[m.worker].rx.size(),
                              of_port(m.worker, m.queue.port) - of_port(to, m.queue.port));
        };
        const auto from = std::max_element(
            free.begin(), free.end(),
            [&](const movable& a, const movable& b) { return weight(a) < weight(b); });
        if (from == free.end() || from->node != node ||
            after_[from->worker].rx.size() <= after_[to].rx.size() + 1)
            return;
        std::erase(after_[from->worker].rx, from->queue);
        after_[to].rx.push_back(from->queue);
        from->worker = to;
    }
}

std::vector<size_t> queue_plan::senders(const std::function<bool(uint16_t)>& reaches) const {
    std::vector<size_t> out;
    for (size_t w = 0; w < after_.size(); ++w)
        if (std::any_of(after_[w].rx.begin(), after_[w].rx.end(),
                        [&](const rx_queue& rx) { return reaches(rx.port); }))
            out.push_back(w);
    return out;
}

result<void> queue_plan::share_tx(const port& p, uint16_t queues,
                                  const std::vector<size_t>& senders) {
    if (queues >= workers_.size()) {
        for (size_t w = 0; w < workers_.size(); ++w)
            if (workers_[w].forwards) after_[w].tx[p.port_index] = static_cast<int32_t>(w);
        return {};
    }
    if (senders.size() > queues)
        return fail(EBUSY, p.config->where.text,
                    fmt::format("port '{}' was opened with {} TX queues, and {} workers may send "
                                "there now; delete the port first, or restart",
                                p.name, queues, senders.size()));
    std::vector<bool> kept(queues), had(queues);
    for (size_t w = 0; w < workers_.size(); ++w)
        if (const int32_t q = sent_by(w, p.port_index); q >= 0) had[static_cast<size_t>(q)] = true;
    for (const size_t w : senders) {
        const int32_t q = sent_by(w, p.port_index);
        if (q < 0) continue;
        after_[w].tx[p.port_index] = q;
        kept[static_cast<size_t>(q)] = true;
    }
    for (const size_t w : senders) {
        if (after_[w].tx[p.port_index] >= 0) continue;
        // Prefer a queue that no worker has to release first.
        auto q = std::find(had.begin(), had.end(), false) - had.begin();
        if (q == queues) q = std::find(kept.begin(), kept.end(), false) - kept.begin();
        had[static_cast<size_t>(q)] = kept[static_cast<size_t>(q)] = true;
        after_[w].tx[p.port_index] = static_cast<int32_t>(q);
    }
    return {};
}

std::vector<worker_queues> queue_plan::hand_over() const {
    std::vector<worker_queues> out = after_;
    bool differs = false;
    for (size_t w = 0; w < out.size(); ++w) {
        bool waits = false;
        for (uint16_t port_index = 0; port_index < max_ports; ++port_index) {
            int32_t& queue = out[w].tx[port_index];
            for (size_t other = 0; other < out.size() && queue >= 0; ++other)
                if (other != w && sent_by(other, port_index) == queue) queue = -1;
            waits = waits || queue != after_[w].tx[port_index];
        }
        const size_t all = out[w].rx.size();
        std::erase_if(out[w].rx,
                      [&](const rx_queue& q) { return waits || polled_by_another(w, q); });
        differs = differs || waits || out[w].rx.size() != all;
    }
    return differs ? out : std::vector<worker_queues>{};
}

}  // namespace turnpike::control
