// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/workers.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "control/forwarding/ring_compat.hpp"
#include "eal/simd_bitwidth.hpp"

namespace turnpike::control {
namespace {

constexpr long nap_ns = 200'000;

int run_worker(void* argument) {
    auto& s = *static_cast<workers::worker_slot*>(argument);
    // `stop` also hands the worker's objects over: EAL's own synchronization is in a library that TSan does not see into.
    (void)s.stop.load(std::memory_order_acquire);
    s.worker.run(s.stop);
    // Return the mbufs in this lcore's mempool cache.
    if (rte_mempool_cache* cache = rte_mempool_default_cache(s.pool, rte_lcore_id()))
        rte_mempool_cache_flush(cache, s.pool);
    s.stop.store(true, std::memory_order_release);
    return 0;
}

/// A ring between control and a worker.
result<rte_ring*> make_ring(const char* what, uint32_t packets, size_t worker) {
    const std::string name = fmt::format("{}{}", what, worker);
    rte_ring* ring =
        rte_ring_create(name.c_str(), packets + 1, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) return fail(rte_errno, name, "no memory for the ring");
    return ring;
}

/// A ring of learnt stations.
result<rte_ring*> make_learnt_ring(size_t worker) {
    constexpr unsigned most = 4096;
    const std::string name = fmt::format("learnt{}", worker);
    rte_ring* ring = create_ring_of(name.c_str(), sizeof(datapath::learnt_fdb_entry), most,
                                    SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) return fail(rte_errno, name, "no memory for the ring");
    return ring;
}

constexpr size_t punt_ring_kinds = 4;

/// In the order in which they are polled.
std::array<rte_ring*, punt_ring_kinds> punt_rings(const datapath::worker_parts& parts) noexcept {
    return {parts.routing_to_control, parts.sessions_to_control, parts.neighbours_to_control,
            parts.to_control};
}

void free_rings(const datapath::worker_parts& parts) noexcept {
    for (rte_ring* ring : {parts.from_control, parts.to_control, parts.neighbours_to_control,
                           parts.sessions_to_control, parts.routing_to_control})
        rte_ring_free(ring);
}

}  // namespace

result<std::vector<unsigned>> choose_lcores(const std::vector<unsigned>& named,
                                            const std::string& where) {
    const unsigned main = rte_get_main_lcore();
    std::vector<unsigned> lcores = named;
    if (lcores.empty()) {
        unsigned lcore;
        RTE_LCORE_FOREACH_WORKER(lcore) lcores.push_back(lcore);
        if (lcores.empty()) lcores.push_back(main);
    }
    for (const unsigned lcore : lcores) {
        if (lcore >= RTE_MAX_LCORE || rte_lcore_is_enabled(lcore) == 0)
            return fail(EINVAL, where,
                        fmt::format("workers names lcore {}, which EAL was not given (-l)", lcore));
        if (lcore == main && lcores.size() > 1)
            return fail(
                EINVAL, where,
                fmt::format("workers names lcore {}, the main lcore, which runs control; it "
                            "can only be a worker when it is the only one",
                            lcore));
    }
    return lcores;
}

uint32_t max_workers() noexcept { return std::max(rte_lcore_count(), 2U) - 1; }

/// A worker without queues.
result<void> workers::make_slot(unsigned lcore) {
    datapath::worker_parts parts{.lcore = lcore,
                                 .number = static_cast<uint32_t>(slots_.size()),
                                 .published = &published_,
                                 .pool_exhausted = &pool_exhausted_,
                                 .rcu = &rcu_};
    const struct {
        rte_ring** ring;
        const char* name;
        uint32_t packets;
    } rings[] = {{&parts.from_control, "from_control", inject_ring_packets},
                 {&parts.to_control, "to_control", punt_ring_packets},
                 {&parts.neighbours_to_control, "neighbours", neighbour_ring_packets},
                 {&parts.sessions_to_control, "sessions", routing_ring_packets},
                 {&parts.routing_to_control, "routing", routing_ring_packets}};
    struct undo {
        datapath::worker_parts& parts;
        bool done = false;
        ~undo() {
            if (!done) free_rings(parts);
        }
    } at_the_end{parts};
    for (const auto& [ring, name, packets] : rings) {
        auto ready = make_ring(name, packets, parts.number);
        if (!ready) return tl::unexpected<error>(ready.error());
        *ring = *ready;
    }
    auto learnt = make_learnt_ring(parts.number);
    if (!learnt) return tl::unexpected<error>(learnt.error());
    std::unique_ptr<rte_ring, free_ring> learnt_ring(*learnt);
    const auto find = tunnel::choose_find(eal::max_simd_bitwidth());
    if (!find) return tl::unexpected<error>(find.error());
    slots_.push_back(std::make_unique<worker_slot>(parts, std::move(learnt_ring), *find, pool_));
    at_the_end.done = true;
    return {};
}

void workers::drop_slots_from(size_t number) noexcept {
    while (slots_.size() > number) {
        free_rings(slots_.back()->worker.parts());
        slots_.pop_back();
    }
}

void workers::free_ring::operator()(rte_ring* r) const noexcept { rte_ring_free(r); }

workers::~workers() { drop_slots_from(0); }

class workers::prepared_workers : public prepared_change {
  public:
    explicit prepared_workers(workers& of) : of_(of), were_(of.slots_.size()) {}
    ~prepared_workers() override {
        if (!committed_) of_.drop_slots_from(were_);
    }

    result<void> choose(transaction& c) {
        const auto lcores = choose_lcores(c.after.workers, c.after.workers_where.text);
        if (!lcores) return tl::unexpected<error>(lcores.error());
        if (were_ != 0)
            if (auto good = check_main(*lcores, c.after.workers_where.text); !good) return good;
        forward_.assign(were_, false);
        for (const unsigned lcore : *lcores) {
            const auto at = std::find_if(of_.slots_.begin(), of_.slots_.end(), [&](const auto& s) {
                return s->worker.parts().lcore == lcore;
            });
            const auto number = static_cast<size_t>(at - of_.slots_.begin());
            if (at == of_.slots_.end()) {
                if (auto made = of_.make_slot(lcore); !made) return made;
                forward_.push_back(false);
            }
            forward_[number] = true;
            if (of_.running_ && !of_.slots_[number]->launched &&
                rte_eal_get_lcore_state(lcore) != WAIT)
                return fail(EBUSY, c.after.workers_where.text,
                            fmt::format("workers: lcore {} does something else already", lcore));
        }
        for (size_t w = 0; w < forward_.size(); ++w)
            c.workers.push_back(
                {of_.slots_[w]->worker.parts().lcore, forward_[w],
                 static_cast<int>(rte_lcore_to_socket_id(of_.slots_[w]->worker.parts().lcore))});
        return {};
    }

    void commit() noexcept override {
        committed_ = true;
        for (size_t w = 0; w < forward_.size(); ++w) {
            worker_slot& s = *of_.slots_[w];
            s.forwards = forward_[w];
            if (s.forwards && of_.running_) of_.launch(s);
        }
    }
    void retire() noexcept override {
        for (const auto& s : of_.slots_)
            if (!s->forwards) end(*s);
    }

  private:
    /// A worker on the main lcore runs in turns with control: no other worker may run beside it.
    result<void> check_main(const std::vector<unsigned>& lcores, const std::string& where) const {
        const unsigned main = rte_get_main_lcore();
        const bool was = of_.slots_[0]->worker.parts().lcore == main, is = lcores[0] == main;
        if (was == is) return {};
        return fail(EBUSY, where,
                    fmt::format("workers: lcore {} {} control; only a restart can change that",
                                main, was ? "forwards beside" : "cannot forward while it runs"));
    }

    workers& of_;
    const size_t were_;
    std::vector<bool> forward_;
    bool committed_ = false;
};

result<std::unique_ptr<prepared_change>> workers::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_workers>(*this);
    if (auto done = ready->choose(c); !done) return tl::unexpected<error>(done.error());
    return ready;
}

void workers::launch(worker_slot& s) noexcept {
    if (s.launched) return;
    s.stop.store(false, std::memory_order_release);
    s.launched = rte_eal_remote_launch(run_worker, &s, s.worker.parts().lcore) == 0;
}

void workers::end(worker_slot& s) noexcept {
    if (!s.launched) return;
    s.stop.store(true, std::memory_order_relaxed);
    rte_eal_wait_lcore(s.worker.parts().lcore);
    (void)s.stop.load(std::memory_order_acquire);
    s.launched = false;
}

void workers::run(const std::function<bool()>& done, const std::function<void()>& between) {
    if (slots_[0]->worker.parts().lcore == rte_get_main_lcore()) {
        // One lcore: control runs between iterations, when the worker holds no reference.
        datapath::worker& only = slots_[0]->worker;
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
    // Stop workers on every exit from this function.

    struct stopper {
        workers& all;
        ~stopper() {
            all.running_ = false;
            for (const auto& s : all.slots_) s->stop.store(true, std::memory_order_relaxed);
            for (const auto& s : all.slots_) end(*s);
        }
    } at_the_end{*this};
    running_ = true;
    for (const auto& s : slots_)
        if (s->forwards) launch(*s);
    while (!done()) {
        between();
        const timespec nap{0, nap_ns};
        nanosleep(&nap, nullptr);
    }
}

rte_ring* workers::ring_to(const datapath::egress& by) const noexcept {
    const datapath::snapshot* v = published_.load(std::memory_order_relaxed);
    if (v == nullptr) return nullptr;
    const uint16_t bridge = v->interfaces[by.interface].bridge;
    const auto best_for = [&](uint32_t ports) {
        uint32_t most = 0;
        rte_ring* best = nullptr;
        for (size_t w = 0; w < v->queues.size(); ++w) {
            uint32_t sends = 0;
            datapath::for_each(ports, [&](uint32_t p) { sends += v->queues[w].tx[p] >= 0; });
            if (sends <= most) continue;
            most = sends;
            best = slots_[w]->worker.parts().from_control;
        }
        return best;
    };
    if (bridge == 0) return best_for(uint32_t{1} << by.port);
    const datapath::bridge_policy& b = v->bridges->bridges[bridge];
    rte_ring* const likely = best_for(b.ports);
    return likely != nullptr ? likely : best_for(b.possible_ports);
}

void workers::receive_punted(const std::function<void(rte_mbuf*)>& handle) {
    constexpr size_t most = 256, least_each = 32;  // of a ring: of all workers, and of one
    std::array<rte_mbuf*, most> packets;
    const auto each =
        static_cast<unsigned>(std::max(least_each, most / std::max<size_t>(slots_.size(), 1)));
    for (size_t of = 0; of < punt_ring_kinds; ++of)
        for (const auto& s : slots_) {
            const unsigned n =
                rte_ring_sc_dequeue_burst(punt_rings(s->worker.parts())[of],
                                          reinterpret_cast<void**>(packets.data()), each, nullptr);
            for (unsigned i = 0; i < n; ++i) handle(packets[i]);
        }
}

void workers::empty(const std::function<void(rte_mbuf*)>& punted,
                    const std::function<void(rte_mbuf*)>& unsent) {
    for (const auto& s : slots_)
        if (s->forwards) s->worker.empty_receive_rings();
    for (const auto& s : slots_) {
        const datapath::worker_parts& parts = s->worker.parts();
        void* m = nullptr;
        for (rte_ring* ring : punt_rings(parts))
            while (rte_ring_sc_dequeue(ring, &m) == 0) punted(static_cast<rte_mbuf*>(m));
        while (rte_ring_sc_dequeue(parts.from_control, &m) == 0) unsent(static_cast<rte_mbuf*>(m));
    }
}

observe::port_totals workers::counted(uint16_t port_index) const noexcept {
    observe::port_totals sum;
    for (const auto& s : slots_) sum.add(s->worker.port(port_index));
    return sum;
}

}  // namespace turnpike::control
