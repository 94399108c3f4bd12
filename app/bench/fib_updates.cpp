// SPDX-License-Identifier: BSD-3-Clause
#include "fib_updates.hpp"

#include <rte_cycles.h>
#include <rte_memory.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/cache_line.hpp"
#include "fib/fib4.hpp"
#include "fib/fib_dpdk.hpp"
#include "rcu/qsbr.hpp"
#include "seconds.hpp"

namespace turnpike::bench {
namespace {

/// A reader that looks up bursts of 64 until stopped, with a quiescent state after each.
class reader {
  public:
    reader(const fib::fib4& table, rcu::qsbr& domain, const std::vector<uint32_t>& traffic)
        : thread_([&, this] {
              leave_main_core();
              domain.online(0);
              std::vector<uint64_t> nexthop(64);
              for (size_t at = 0; !stop_; at = (at + 64) % (traffic.size() - 64)) {
                  table.lookup_bulk(std::span(traffic).subspan(at, 64), nexthop);
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
    alignas(cache_line_bytes) std::atomic<uint64_t> looked_up_{0};
    std::thread thread_;
};

uint32_t address_of(const fib::entry& route) {
    return static_cast<uint32_t>(route.prefix.high >> 32);
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

double own_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// A table that changes while one reader runs.
class updated_table {
  public:
    updated_table(harness& h, const routes& table) : h_(h), table_(table) {
        auto config = fib::eal_config("updates", SOCKET_ID_ANY);
        config.defer_free = domain_->hook();
        fib_ = *fib::fib4::create(config);
        std::vector<fib::route4> all;
        for (const auto& r : table) all.push_back({address_of(r), r.length, r.next_hop});
        loaded_ = fib_->load(all).has_value();
        for (const auto& a : make_traffic(table, 4, "prefix", 1 << 20))
            traffic_.push_back(static_cast<uint32_t>(a.high >> 32));
    }
    ~updated_table() { domain_->synchronize(); }
    bool loaded() const noexcept { return loaded_; }

    void measure_rates();
    void measure_wide();
    void measure_burst();

  private:
    static constexpr size_t together = 128;

    const fib::entry& any_route() { return table_[random_() % table_.size()]; }
    uint64_t any_next_hop() { return 1 + random_() % 60'000; }
    uint64_t flap_one();
    uint64_t flap_some();

    harness& h_;
    const routes& table_;
    std::unique_ptr<rcu::qsbr> domain_ = *rcu::qsbr::create("bench", 1);
    std::unique_ptr<fib::fib4> fib_;
    std::vector<uint32_t> traffic_;
    std::vector<fib::change4> some_;
    std::mt19937_64 random_{1};
    bool loaded_ = false;
};

/// Withdraw a route and announce it again with another next hop. Returns 2, the number of updates.
uint64_t updated_table::flap_one() {
    const auto& route = any_route();
    (void)fib_->remove(address_of(route), route.length);
    (void)fib_->add(address_of(route), route.length, any_next_hop());
    return 2;
}

/// The same with as many routes as a few messages of a routing protocol carry.
uint64_t updated_table::flap_some() {
    some_.clear();
    for (size_t i = 0; i < together; ++i) {
        const auto& route = any_route();
        some_.push_back({address_of(route), route.length, std::nullopt});
    }
    (void)fib_->exchange(some_);
    for (fib::change4& c : some_) c.next_hop = any_next_hop();
    (void)fib_->exchange(some_);
    return 2 * together;
}

void updated_table::measure_rates() {
    std::vector<double> one, some, slowdowns;
    const double slice = h_.quick() ? 0.2 : 0.5;
    reader looks(*fib_, *domain_, traffic_);
    // Uses the writer's own CPU time, without time of other processes.
    const auto run = [&](auto update, double& reads) {
        const uint64_t before = looks.looked_up(), start = rte_rdtsc();
        const double own = own_seconds();
        uint64_t done = 0;
        while (seconds_since(start) < slice) done += update();
        reads = static_cast<double>(looks.looked_up() - before) / seconds_since(start);
        return static_cast<double>(done) / (own_seconds() - own);
    };
    for (unsigned r = 0; r < h_.repetitions(); ++r) {
        double alone, beside;
        run([] { return 0; }, alone);
        one.push_back(run([&] { return flap_one(); }, beside));
        some.push_back(run([&] { return flap_some(); }, beside));
        slowdowns.push_back(1 - beside / alone);
    }
    h_.summary()["updates_per_s"] = median(some);
    h_.summary()["single_updates_per_s"] = median(one);
    h_.summary()["reader_slowdown"] = median(slowdowns);
}

/// Change the next hop of a /8 that covers addresses without longer routes: each block below it is
/// rebuilt.
void updated_table::measure_wide() {
    std::vector<double> took;
    reader looks(*fib_, *domain_, traffic_);
    for (unsigned i = 0; i < 8 * h_.repetitions(); ++i) {
        const uint32_t net = static_cast<uint32_t>(1 + random_() % 222) << 24;
        const auto before = fib_->get(net, 8);
        for (const uint64_t nexthop : {any_next_hop(), any_next_hop()}) {
            const uint64_t start = rte_rdtsc();
            (void)fib_->add(net, 8, nexthop);
            took.push_back(1e3 * seconds_since(start));
        }
        (void)(before ? fib_->add(net, 8, *before) : fib_->remove(net, 8));
    }
    h_.summary()["wide_update_ms"] = median(took);
    h_.summary()["wide_update_max_ms"] = *std::max_element(took.begin(), took.end());
}

/// Withdraw 100,000 routes at once, as when a routing session ends, and announce them again: 1,000
/// per transaction, since a control thread has other work in between.
void updated_table::measure_burst() {
    constexpr size_t all = 100'000, batch = 1'000;
    std::vector<fib::change4> changes;
    const size_t step = std::max<size_t>(table_.size() / all, 1);
    for (size_t i = 0; i < table_.size() && changes.size() < all; i += step)
        changes.push_back({address_of(table_[i]), table_[i].length, std::nullopt});
    std::vector<double> gone, back;
    double longest = 0;
    reader looks(*fib_, *domain_, traffic_);
    const auto make = [&](std::vector<double>& took) {
        const uint64_t start = rte_rdtsc();
        for (size_t at = 0; at < changes.size(); at += batch) {
            const uint64_t begun = rte_rdtsc();
            (void)fib_->exchange(
                std::span(changes).subspan(at, std::min(batch, changes.size() - at)));
            longest = std::max(longest, 1e3 * seconds_since(begun));
        }
        took.push_back(1e3 * seconds_since(start));
    };
    for (unsigned r = 0; r < h_.repetitions(); ++r) {
        make(gone);
        make(back);  // each change was replaced by its inverse
    }
    h_.summary()["burst_withdrawn_ms"] = median(gone);
    h_.summary()["burst_announced_ms"] = median(back);
    h_.summary()["burst_longest_batch_ms"] = longest;
}

}  // namespace

void measure_updates(harness& h, const routes& table) {
    updated_table t(h, table);
    if (!t.loaded()) return;
    t.measure_rates();
    t.measure_wide();
    t.measure_burst();
}

}  // namespace turnpike::bench
