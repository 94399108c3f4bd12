// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/latency_samples.hpp"

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "control/controller.hpp"
#include "control/management/inventory.hpp"
#include "control/management/show.hpp"

namespace turnpike::control {
namespace {

using counters::latency_histogram;

/// Bit of the mbufs of sampled packets.
/// Errors  none is free
result<uint64_t> sampled_flag() {
    static const int bit = [] {
        rte_mbuf_dynflag wanted{};
        constexpr std::string_view name = "turnpike_latency_sample";
        name.copy(wanted.name, sizeof wanted.name - 1);
        return rte_mbuf_dynflag_register(&wanted);
    }();
    if (bit < 0) return fail(ENOSPC, "latency", "no flag of mbufs is free for sampled packets");
    return uint64_t{1} << bit;
}

std::vector<std::string> names_of_ports(const transaction& c) {
    std::vector<std::string> out;
    for (const auto& [name, port] : c.after.ports) {
        const uint16_t index = c.port_index_of.at(name);
        if (out.size() <= index) out.resize(index + size_t{1});
        out[index] = name;
    }
    return out;
}

}  // namespace

class latency_samples::prepared_samples : public prepared_change {
  public:
    prepared_samples(latency_samples& of, std::shared_ptr<session> next, uint32_t one_in)
        : of_(of), session_(std::move(next)), one_in_(one_in) {}
    /// This object now has the previous session, and is destroyed after a grace period.
    void commit() noexcept override {
        if (session_ != nullptr)
            session_->samplers.one_in.store(one_in_, std::memory_order_relaxed);
        of_.session_.swap(session_);
    }
    void settle() noexcept override {
        session* const now = of_.session_.get();
        if (now == nullptr || now->before == nullptr) return;
        try {
            now->earlier = now->before->counted();
            now->before.reset();
        } catch (const std::bad_alloc&) {  // the session stays
        }
    }

  private:
    latency_samples& of_;
    std::shared_ptr<session> session_;
    uint32_t one_in_;
};

result<std::unique_ptr<prepared_change>> latency_samples::prepare(transaction& c) {
    const uint32_t one_in = c.after.latency_sample;
    std::shared_ptr<session> next;
    if (one_in != 0) {
        const auto flag = sampled_flag();
        if (!flag) return tl::unexpected<error>(flag.error());
        auto ports = names_of_ports(c);
        const bool goes_on = session_ != nullptr && session_->ports == ports &&
                             session_->samplers.of_worker.size() == c.workers.size();
        if (goes_on) {
            next = session_;
        } else {
            next = std::make_shared<session>();
            next->ports = std::move(ports);
            next->before = session_;
            for (size_t w = 0; w < c.workers.size(); ++w)
                next->samplers.of_worker.push_back(std::make_unique<datapath::latency_sampler>(
                    static_cast<uint16_t>(next->ports.size()), *flag,
                    1e9 / static_cast<double>(rte_get_tsc_hz()), rte_rdtsc() + w));
        }
        c.snapshot->latency = &next->samplers;
        for (datapath::port_snapshot& port : c.snapshot->port)
            if (port.state != nullptr) port.in_front |= bit(datapath::stage::stamp);
    }
    return std::make_unique<prepared_samples>(*this, std::move(next), one_in);
}

std::vector<observe::latency_report> latency_samples::counted() const {
    return session_ != nullptr ? session_->counted() : std::vector<observe::latency_report>{};
}

std::vector<observe::latency_report> latency_samples::session::counted() const {
    std::vector<observe::latency_report> out;
    std::map<std::pair<std::string, std::string>, observe::latency_report> sums;
    for (const auto& row : before != nullptr ? before->counted() : earlier)
        sums.emplace(std::pair(row.in, row.out), row);
    for (uint16_t in = 0; in < ports.size(); ++in)
        for (uint16_t to = 0; to < ports.size(); ++to) {
            observe::latency_report& sum =
                sums.try_emplace(
                        {ports[in], ports[to]},
                        observe::latency_report{.in = ports[in], .out = ports[to], .life = life})
                    .first->second;
            sum.bins.resize(latency_histogram::bins);
            for (const auto& worker : samplers.of_worker) {
                const latency_histogram& one = worker->of(in, to);
                for (size_t bin = 0; bin < sum.bins.size(); ++bin) {
                    const uint64_t n = one.samples[bin].read();
                    sum.bins[bin] += n;
                    sum.samples += n;
                }
                sum.sum_ns += one.sum_ns.read();
                sum.max_ns = std::max(sum.max_ns, one.max_ns.read());
            }
            if (sum.samples != 0) out.push_back(std::move(sum));
        }
    return out;
}

nlohmann::json show_latency(controller& c, const request_fields&) {
    using nlohmann::json;
    json pairs = json::array();
    const observe::inventory all = shown_objects(c, add_latencies);
    for (const observe::latency_report& one : all.latencies) {
        if (one.samples == 0) continue;
        pairs.push_back(
            {{"in", one.in},
             {"out", one.out},
             {"samples", one.samples},
             {"mean_ns", static_cast<double>(one.sum_ns) / static_cast<double>(one.samples)},
             {"p50_ns", one.quantile_ns(0.5)},
             {"p99_ns", one.quantile_ns(0.99)},
             {"p999_ns", one.quantile_ns(0.999)},
             {"max_ns", one.max_ns}});
    }
    const uint32_t one_in = c.running().latency_sample;
    return with_period(c, {{"sample", one_in}, {"latency", std::move(pairs)}});
}

}  // namespace turnpike::control
