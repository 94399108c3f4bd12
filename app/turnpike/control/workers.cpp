// SPDX-License-Identifier: BSD-3-Clause
#include "control/workers.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <time.h>

#include <array>

namespace turnpike::control {
namespace {

constexpr long nap_ns = 200'000;

struct launch {
    datapath::worker* worker;
    const std::atomic<bool>* stop;
};

int run_worker(void* argument) {
    const auto* l = static_cast<const launch*>(argument);
    l->worker->run(*l->stop);
    return 0;
}

}  // namespace

result<std::vector<unsigned>> choose_lcores(const std::vector<unsigned>& named,
                                            const std::string& file) {
    const unsigned main = rte_get_main_lcore();
    std::vector<unsigned> lcores = named;
    if (lcores.empty()) {
        unsigned lcore;
        RTE_LCORE_FOREACH_WORKER(lcore) lcores.push_back(lcore);
        if (lcores.empty()) lcores.push_back(main);
    }
    for (const unsigned lcore : lcores) {
        if (lcore >= RTE_MAX_LCORE || rte_lcore_is_enabled(lcore) == 0)
            return fail(EINVAL, file,
                        fmt::format("workers names lcore {}, which EAL was not given (-l)", lcore));
        if (lcore == main && lcores.size() > 1)
            return fail(
                EINVAL, file,
                fmt::format("workers names lcore {}, the main lcore, which runs control; it "
                            "can only be a worker when it is the only one",
                            lcore));
    }
    return lcores;
}

/// A ring between control and one worker.
result<rte_ring*> workers::make_ring(const char* what, size_t worker) {
    const std::string name = fmt::format("{}{}", what, worker);
    rings_.reserve(rings_.size() + 1);
    rte_ring* ring = rte_ring_create(name.c_str(), control_ring_packets + 1, SOCKET_ID_ANY,
                                     RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) return fail(rte_errno, name, "no memory for the ring");
    rings_.push_back(ring);
    return ring;
}

result<std::unique_ptr<workers>> workers::create(
    const std::vector<unsigned>& lcores, const std::atomic<const datapath::view*>& published,
    rcu::qsbr& rcu) {
    std::unique_ptr<workers> made(new workers(published));
    for (size_t i = 0; i < lcores.size(); ++i) {
        datapath::worker_parts parts{.lcore = lcores[i],
                                     .number = static_cast<uint32_t>(i),
                                     .published = &published,
                                     .dry = &made->dry_,
                                     .rcu = &rcu};
        const std::pair<rte_ring**, const char*> rings[control_rings] = {
            {&parts.from_control, "from_control"},
            {&parts.to_control, "to_control"},
            {&parts.neighbours_to_control, "neighbours"}};
        for (auto [ring, what] : rings) {
            auto ready = made->make_ring(what, i);
            if (!ready) return tl::unexpected<error>(ready.error());
            *ring = *ready;
        }
        made->workers_.push_back(std::make_unique<datapath::worker>(parts));
    }
    return made;
}

workers::~workers() {
    for (rte_ring* ring : rings_) rte_ring_free(ring);
}

void workers::run(const std::function<bool()>& done, const std::function<void()>& between) {
    if (workers_.size() == 1 && workers_[0]->parts().lcore == rte_get_main_lcore()) {
        // One lcore: control between rounds, when the worker holds nothing.
        datapath::worker& only = *workers_[0];
        const uint64_t nap = rte_get_tsc_hz() / 1'000'000 * (nap_ns / 1000);
        uint64_t next = 0;
        only.start();
        while (!done()) {
            only.poll();
            if (rte_rdtsc() < next) continue;
            only.pause();
            between();
            only.resume();
            next = rte_rdtsc() + nap;
        }
        only.finish();
        return;
    }
    stop_.store(false, std::memory_order_relaxed);
    std::vector<launch> launches;
    for (const auto& w : workers_) launches.push_back({w.get(), &stop_});
    for (launch& l : launches) rte_eal_remote_launch(run_worker, &l, l.worker->parts().lcore);
    // Whatever happens in control, workers are stopped in order.
    struct stopper {
        std::atomic<bool>& stop;
        ~stopper() {
            stop.store(true, std::memory_order_relaxed);
            rte_eal_mp_wait_lcore();
        }
    } at_the_end{stop_};
    while (!done()) {
        between();
        const timespec nap{0, nap_ns};
        nanosleep(&nap, nullptr);
    }
}

rte_ring* workers::ring_to(uint16_t port) const noexcept {
    const datapath::view* v = published_.load(std::memory_order_relaxed);
    if (v == nullptr) return nullptr;
    for (const auto& w : workers_)
        if (v->queues[w->parts().number].tx[port] >= 0) return w->parts().from_control;
    return nullptr;
}

void workers::take_punted(const std::function<void(rte_mbuf*)>& take) {
    constexpr unsigned most = 256;
    std::array<rte_mbuf*, most> packets;
    for (const auto& w : workers_)
        for (rte_ring* ring : {w->parts().neighbours_to_control, w->parts().to_control}) {
            const unsigned n = rte_ring_sc_dequeue_burst(
                ring, reinterpret_cast<void**>(packets.data()), most, nullptr);
            for (unsigned i = 0; i < n; ++i) take(packets[i]);
        }
}

void workers::empty(const std::function<void(rte_mbuf*)>& punted,
                    const std::function<void(rte_mbuf*)>& unsent) {
    for (const auto& w : workers_) w->empty_receive_rings();
    for (const auto& w : workers_) {
        void* m = nullptr;
        for (rte_ring* ring : {w->parts().neighbours_to_control, w->parts().to_control})
            while (rte_ring_sc_dequeue(ring, &m) == 0) punted(static_cast<rte_mbuf*>(m));
        while (rte_ring_sc_dequeue(w->parts().from_control, &m) == 0)
            unsent(static_cast<rte_mbuf*>(m));
    }
}

observe::port_totals workers::counted(uint16_t place) const noexcept {
    observe::port_totals sum;
    for (const auto& w : workers_) sum.add(w->port(place));
    return sum;
}

}  // namespace turnpike::control
