// SPDX-License-Identifier: BSD-3-Clause
#include "fib_updates.hpp"

#include <rte_cycles.h>
#include <rte_memory.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "fib/fib4.hpp"
#include "fib/fib_dpdk.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::bench {
namespace {

/// A reader that looks up bursts of 64 until stopped, quiescent after each.
class reader {
  public:
    reader(const fib::fib4& table, rcu::qsbr& domain, const std::vector<uint32_t>& traffic)
        : thread_([&, this] {
              leave_main_core();
              domain.online(0);
              std::vector<uint64_t> hop(64);
              for (size_t at = 0; !stop_; at = (at + 64) % (traffic.size() - 64)) {
                  table.lookup_bulk(std::span(traffic).subspan(at, 64), hop);
                  domain.quiescent(0);
                  looked_up_.store(looked_up_.load(std::memory_order_relaxed) + 64,
                                   std::memory_order_relaxed);
              }
              domain.offline(0);
          }) {}
    ~reader() {
        stop_ = true;
        thread_.join();
    }
    uint64_t looked_up() const { return looked_up_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<uint64_t> looked_up_{0};
    std::thread thread_;
};

/// Withdraw a route and announce it again with another next hop. Two updates.
void flap(fib::fib4& table, const fib::entry& route, uint64_t next_hop) {
    const auto prefix = static_cast<uint32_t>(route.prefix.high >> 32);
    (void)table.remove(prefix, route.length);
    (void)table.add(prefix, route.length, next_hop);
}

}  // namespace

void measure_updates(harness& h, const routes& table) {
    auto domain = *rcu::qsbr::create("bench", 1);
    auto config = fib::eal_config("updates", SOCKET_ID_ANY);
    config.defer_free = domain->hook();
    auto fib = *fib::fib4::create(config);
    std::vector<fib::route4> all;
    for (const auto& r : table)
        all.push_back({static_cast<uint32_t>(r.prefix.high >> 32), r.length, r.next_hop});
    if (!fib->load(all)) return;
    std::vector<uint32_t> traffic;
    for (const auto& a : make_traffic(table, 4, "prefix", 1 << 20))
        traffic.push_back(static_cast<uint32_t>(a.high >> 32));

    std::mt19937_64 random(1);
    std::vector<double> updates, slowdowns;
    const double hz = static_cast<double>(rte_get_tsc_hz());
    const uint64_t slice = static_cast<uint64_t>(hz * (h.quick() ? 0.2 : 0.5));
    {
        reader looks(*fib, *domain, traffic);
        for (unsigned r = 0; r < h.repetitions(); ++r) {
            double rate[2];
            for (const bool updating : {false, true}) {
                const uint64_t before = looks.looked_up(), start = rte_rdtsc();
                uint64_t done = 0;
                while (rte_rdtsc() - start < slice) {
                    if (!updating) continue;
                    const auto& route = table[random() % table.size()];
                    flap(*fib, route, 1 + random() % 60'000);
                    done += 2;
                }
                const double seconds = static_cast<double>(rte_rdtsc() - start) / hz;
                rate[updating] = static_cast<double>(looks.looked_up() - before) / seconds;
                if (updating) updates.push_back(static_cast<double>(done) / seconds);
            }
            slowdowns.push_back(1 - rate[1] / rate[0]);
        }
    }
    domain->synchronize();
    const auto median = [](std::vector<double>& v) {
        std::sort(v.begin(), v.end());
        return v[v.size() / 2];
    };
    h.summary()["updates_per_s"] = median(updates);
    h.summary()["reader_slowdown"] = median(slowdowns);
}

}  // namespace turnpike::bench
