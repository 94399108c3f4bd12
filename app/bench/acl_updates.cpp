// SPDX-License-Identifier: BSD-3-Clause
#include "acl_updates.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "acl/acl.hpp"
#include "acl/acl_dpdk.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::bench {

void measure_updates(harness& h, const rule_set& set) {
    auto domain = *rcu::qsbr::create("bench", 1);
    auto config = acl::eal_config("updates", SOCKET_ID_ANY);
    config.defer_free = domain->hook();
    auto table = *acl::classifier4::create(config);
    if (!table->build(set.rules)) return;
    const auto headers = make_headers(set, "rules", 1 << 14);
    std::vector<const acl::key4*> keys;
    for (size_t i = 0; i < headers.size() / sizeof(acl::key4); ++i)
        keys.push_back(reinterpret_cast<const acl::key4*>(headers.data()) + i);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> classified{0};
    std::thread reader([&] {
        leave_main_core();
        domain->online(0);
        std::vector<uint32_t> results(64);
        for (size_t at = 0; !stop; at = (at + 64) % keys.size()) {
            table->classify(std::span(keys).subspan(at, 64), results);
            domain->quiescent(0);
            classified.store(classified.load(std::memory_order_relaxed) + 64,
                             std::memory_order_relaxed);
        }
        domain->offline(0);
    });
    std::mt19937_64 random(1);
    std::vector<acl::rule_id> ids(set.rules.size());
    for (acl::rule_id i = 0; i < ids.size(); ++i) ids[i] = i;
    const double hz = static_cast<double>(rte_get_tsc_hz());
    const uint64_t slice = static_cast<uint64_t>(hz * (h.quick() ? 0.1 : 0.3));
    std::vector<double> rates;
    const uint64_t rebuilds = table->stats().rebuilds;
    for (unsigned r = 0; r < h.repetitions(); ++r) {
        const uint64_t start = rte_rdtsc();
        uint64_t done = 0;
        while (rte_rdtsc() - start < slice) {
            const size_t i = random() % ids.size();
            if (!table->remove(ids[i])) break;
            ids[i] = *table->add(set.rules[i]);
            done += 2;
        }
        rates.push_back(static_cast<double>(done) * hz / static_cast<double>(rte_rdtsc() - start));
    }
    stop = true;
    reader.join();
    domain->synchronize();
    std::sort(rates.begin(), rates.end());
    const double median = rates[rates.size() / 2];
    h.print(fmt::format("{:9} {:.0f} updates/s with a reader, {} rebuilds", set.name, median,
                        table->stats().rebuilds - rebuilds));
    auto& summary = h.summary();
    summary["updates"][set.name] = median;
    if (!summary.contains("updates_per_s") || summary["updates_per_s"].get<double>() > median)
        summary["updates_per_s"] = median;
}

}  // namespace turnpike::bench
