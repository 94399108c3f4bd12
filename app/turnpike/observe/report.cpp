// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report.hpp"

#include <algorithm>
#include <atomic>

namespace turnpike::observe {

uint64_t new_life() noexcept {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void worker_report::add(const counters::meter& from, const std::vector<std::string_view>& names) {
    packets += from.packets.read();
    injected += from.injected.read();
    busy_cycles += from.busy_cycles.read();
    slept_cycles += from.slept_cycles.read();
    control_cycles += from.control_cycles.read();
    total_cycles += from.total_cycles.read();
    for (size_t i = 0; i < counters::burst_bins; ++i) bursts[i] += from.bursts[i].read();
    stages.resize(names.size());
    for (size_t i = 0; i < names.size(); ++i) {
        stages[i].name = names[i];
        stages[i].packets += from.sampled[i].packets.read();
        stages[i].cycles += from.sampled[i].cycles.read();
        stages[i].counted_packets += from.sampled[i].counted_packets.read();
        stages[i].instructions += from.sampled[i].instructions.read();
    }
}

double worker_report::stage_cycles::cycles_per_packet() const noexcept {
    return packets == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(packets);
}

std::optional<double> worker_report::stage_cycles::instructions_per_packet() const noexcept {
    if (counted_packets == 0) return std::nullopt;
    return static_cast<double>(instructions) / static_cast<double>(counted_packets);
}

std::vector<worker_report::group> worker_report::groups() const {
    // Every packet of a sampled burst passes the first stage.
    if (stages.empty() || stages.front().packets == 0) return {};
    const auto of_all = static_cast<double>(stages.front().packets);
    const auto of_counted = static_cast<double>(stages.front().counted_packets);
    group io{.name = io_group}, processing{.name = processing_group}, other{.name = other_group};
    for (const stage_cycles& s : stages) {
        group& its = s.name == "rx" || s.name == "tx" ? io : processing;
        its.cycles += static_cast<double>(s.cycles) / of_all;
        if (of_counted > 0)
            its.instructions =
                its.instructions.value_or(0) + static_cast<double>(s.instructions) / of_counted;
    }
    other.cycles = std::max(0.0, cpp() - io.cycles - processing.cycles);
    if (const double* const ipp = core.find("ipp"); ipp != nullptr && io.instructions)
        other.instructions =
            std::max(0.0, *ipp - *io.instructions - processing.instructions.value_or(0));
    return {io, processing, other};
}

double worker_report::cpp() const noexcept {
    return processed() == 0 ? 0
                            : static_cast<double>(busy_cycles) / static_cast<double>(processed());
}

double worker_report::utilisation() const noexcept {
    const uint64_t available = total_cycles - std::min(total_cycles, control_cycles);
    return available == 0 ? 0 : static_cast<double>(busy_cycles) / static_cast<double>(available);
}

double worker_report::pps() const noexcept {
    if (total_cycles == 0) return 0;
    return static_cast<double>(packets) * static_cast<double>(tsc_hz) /
           static_cast<double>(total_cycles);
}

double worker_report::headroom_pps() const noexcept {
    if (processed() == 0 || busy_cycles == 0) return 0;
    const double rate = static_cast<double>(processed()) * static_cast<double>(tsc_hz) /
                        static_cast<double>(total_cycles);
    return std::max(0.0, rate / utilisation() - rate);
}

balance report::total() const {
    balance b;
    b.held = held;
    for (const auto& p : ports) {
        b.rx += p.totals.rx_packets;
        b.tx += p.totals.tx_packets;
        b.originated += p.totals.originated;
        b.consumed += p.totals.consumed;
        b.drops += p.totals.all_drops();
    }
    return b;
}

std::vector<std::string> report::crossings() const {
    std::vector<std::string> out;
    for (const worker_report& w : workers) {
        if (!w.forwards || w.node < 0) continue;
        const std::string who =
            "worker " + std::to_string(w.lcore) + " on node " + std::to_string(w.node);
        for (const port_report& p : ports)
            if (p.node >= 0 && p.node != w.node &&
                std::find(w.polls.begin(), w.polls.end(), p.name) != w.polls.end())
                out.push_back(who + " polls port " + p.name + " on node " + std::to_string(p.node) +
                              ": assign lcores of that node to the port (workers, rx_workers), or "
                              "move the device to another slot");
        if (mempool.node >= 0 && mempool.node != w.node)
            out.push_back(who + " uses mbufs and tables on node " + std::to_string(mempool.node) +
                          ": they are allocated on the main lcore's node; choose one on the "
                          "workers' node (eal: "
                          "--main-lcore)");
    }
    return out;
}

std::map<std::string, uint64_t> drops_of(const port_totals& p) {
    std::map<std::string, uint64_t> out;
    for (size_t i = 0; i < p.drops.size(); ++i)
        if (p.drops[i] != 0) out[std::string(datapath::drop_texts[i].name)] = p.drops[i];
    return out;
}

std::map<std::string, uint64_t> report::drops() const {
    std::map<std::string, uint64_t> all;
    for (const auto& p : ports)
        for (const auto& [name, n] : drops_of(p.totals)) all[name] += n;
    return all;
}

std::string_view link_of(const port_report& p) noexcept {
    return p.removed ? "removed" : p.link_up ? "up" : "down";
}

}  // namespace turnpike::observe
