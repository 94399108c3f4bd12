// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/machine_counters.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>

#include <algorithm>
#include <utility>

#include "observe/log.hpp"
#include "pmu/perf_source.hpp"
#include "pmu/replay_source.hpp"
#include "pmu/shared_source.hpp"
#include "pmu/slots.hpp"

namespace turnpike::control {
namespace {

/// The CPU of an lcore; negative: it may run on several.
int cpu_of(unsigned lcore) noexcept {
    const rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
    if (CPU_COUNT(&cpus) != 1) return -1;
    int cpu = 0;
    while (!CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) ++cpu;
    return cpu;
}

/// The message without the errno.
std::string message_of(const error& e) {
    return printable(e.object.empty() ? e.text : e.object + ": " + e.text);
}

class user_instructions : public counters::own_counter {
  public:
    explicit user_instructions(pmu::user_counter count) noexcept : count_(std::move(count)) {}
    [[nodiscard]] std::optional<uint64_t> read() const noexcept override { return count_.read(); }

  private:
    pmu::user_counter count_;
};

/// All of the core's metrics that have a value, and its pipeline slots.
observe::core_report core_report_of(const pmu::measurement& m, const pmu::given_values& given) {
    observe::core_report out;
    for (const char* const event : {"cycles", "instructions"})
        if (const auto value = m.value(event, given)) out.values[event] = value->value;
    for (const pmu::metric* const asked : m.metrics()) {
        const auto value = m.value(asked->name, given);
        if (!value) continue;
        out.values[asked->name] = value->value;
        out.counted_share = std::min(out.counted_share, value->share);
        if (asked->level != 0)
            out.where.push_back({.name = asked->name,
                                 .parent = asked->parent,
                                 .unit = asked->unit,
                                 .says = asked->says,
                                 .level = asked->level,
                                 .share = value->value,
                                 .over = asked->over});
    }
    std::vector<pmu::slot_share> shares;
    for (const auto& s : out.where)
        shares.push_back({.name = s.name,
                          .parent = s.parent,
                          .level = s.level,
                          .share = s.share,
                          .over = s.over,
                          .says = s.says});
    const pmu::slot_share* const most = pmu::telling(shares);
    out.says = pmu::sentence(most);
    out.bound = most == nullptr ? "" : std::string(most->name);
    return out;
}

}  // namespace

void machine_counters::begin() noexcept {
    try {
        why_ = "they are off (--counters off)";
        if (chosen_.off) return;
        auto model = pmu::read_cpu_model(chosen_.sysfs);
        auto table = model ? pmu::table_for(*model)
                           : result<pmu::table>(tl::unexpected<error>(model.error()));
        if (!table) {
            why_ = message_of(table.error());
            return;
        }
        table_ = std::move(*table);
        if (chosen_.recorded.empty()) {
            source_ = std::make_unique<pmu::shared_source>(std::make_unique<pmu::perf_source>());
        } else {
            auto replay = pmu::replay_source::load(chosen_.recorded);
            if (!replay) {
                why_ = message_of(replay.error());
                return;
            }
            source_ = std::make_unique<pmu::replay_source>(std::move(*replay));
        }
        why_.clear();
    } catch (const std::exception& e) {  // out of memory
        why_ = e.what();
    }
}

machine_counters::core machine_counters::open_core(const observe::worker_report& w) const {
    core c{.what = nullptr, .packets_before = w.packets, .packets = w.packets};
    const int cpu = cpu_of(w.lcore);
    if (cpu < 0) {
        c.why = fmt::format("lcore {} may run on several CPUs; pin it to one (--lcores {}@CPU)",
                            w.lcore, w.lcore);
        return c;
    }
    c.what = std::make_unique<pmu::measurement>(pmu::measurement::of_core(on(), {.cpu = cpu}));
    if (const error* const none = c.what->why()) {
        c.why = message_of(*none);
        c.what.reset();
        return c;
    }
    c.what->start();
    if (auto count = c.what->readable("instructions"))
        c.instructions = std::make_unique<user_instructions>(std::move(*count));
    return c;
}

const counters::own_counter* machine_counters::instructions_of(unsigned lcore) const noexcept {
    const auto at = cores_.find(lcore);
    return at == cores_.end() ? nullptr : at->second.instructions.get();
}

void machine_counters::fill_workers(observe::report& r, bool since_clear) {
    r.counters = why_.empty() ? table_.family : "";
    r.counters_why = why_;
    if (!why_.empty()) return;
    std::string why;
    bool any = false;
    for (observe::worker_report& w : r.workers) {
        auto at = cores_.find(w.lcore);
        if (at == cores_.end() && !ended_ && w.forwards)
            at = cores_.emplace(w.lcore, open_core(w)).first;
        if (at == cores_.end()) continue;
        core& c = at->second;
        if (c.what == nullptr) {
            w.core.why = why = c.why;
            continue;
        }
        if (!ended_) read_core(c, w);
        c.what->show_since_mark(since_clear);
        const uint64_t packets = c.counted_packets() - (since_clear ? c.packets_cleared : 0);
        pmu::given_values given{{"smt", pmu::smt_active(chosen_.sysfs) ? 1.0 : 0.0},
                                {"tsc_ghz", static_cast<double>(w.tsc_hz) / 1e9}};
        if (packets != 0) given["packets"] = static_cast<double>(packets);
        w.core = core_report_of(*c.what, given);
        any = true;
    }
    // The same reason for all workers: report it once.
    if (!any && !why.empty()) r.counters_why = why;
}

void machine_counters::root::clear() {
    if (what == nullptr) return;
    what->mark();
    cleared = last;
}

void machine_counters::clear() {
    for (auto& [lcore, c] : cores_) {
        if (c.what == nullptr) continue;
        c.what->mark();
        c.packets_cleared = c.counted_packets();
    }
    for (auto& [life, r] : roots_) r.clear();
}

void machine_counters::clear_port(uint64_t life) {
    if (const auto at = roots_.find(life); at != roots_.end()) at->second.clear();
}

/// A removed worker keeps its last values: its CPU may run anything meanwhile.
void machine_counters::read_core(core& c, const observe::worker_report& w) {
    if (!w.forwards) {
        c.paused = true;
        return;
    }
    if (std::exchange(c.paused, false)) {
        c.what->resume();
        c.packets_before += w.packets - std::min(w.packets, c.packets);
    }
    c.what->read();
    c.packets = w.packets;
}

/// Payload of the port's link. The stack counts for all links below its root bus: none, if devices of another bus share it.
std::optional<observe::pcie_payload> machine_counters::payload_of(const pmu::measurement& m,
                                                                  const pmu::given_values& given) {
    const auto& stack = m.iio_stack();
    const auto seconds = given.find("seconds");
    if (!stack || seconds == given.end()) return {};
    const auto bus_of = [](std::string_view address) {
        return address.substr(0, address.rfind(':'));
    };
    // Devices on the root bus itself (VT-d, IOAPIC) have no link.
    for (const std::string& other : stack->shared)
        if (bus_of(other) != m.pci().root_bus && bus_of(other) != bus_of(m.pci().address))
            return {};
    const auto count = [&](const char* name) -> std::optional<double> {
        const pmu::metric* const metric = m.source_table().find_metric(name);
        if (metric == nullptr || metric->of != pmu::scope::stack) return {};
        const auto value = m.value(name, given);
        return value ? std::optional(value->value) : std::nullopt;
    };
    const auto read = count("dma_read_bytes"), written = count("dma_written_bytes");
    if (!read || !written) return {};
    return observe::pcie_payload{.seconds = seconds->second,
                                 .read_bytes = *read,
                                 .written_bytes = *written,
                                 .register_reads = count("prd").value_or(0),
                                 .register_writes = count("wil").value_or(0)};
}

void machine_counters::keep_ports(const std::vector<observe::port_report>& ports) {
    if (ended_) return;
    std::erase_if(roots_, [&](const auto& entry) {
        return std::none_of(ports.begin(), ports.end(),
                            [&](const auto& p) { return p.life == entry.first; });
    });
}

machine_counters::root machine_counters::open_root(const observe::port_report& p,
                                                   const std::string& address, double now_s) const {
    root made{.what = nullptr, .begun = {p.totals.rx_packets, p.totals.tx_packets, now_s}};
    made.cleared = made.begun;
    auto m = pmu::measurement::of_device(on(), address);
    if (!m) {
        made.why = message_of(m.error());
        return made;
    }
    made.what = std::make_unique<pmu::measurement>(std::move(*m));
    if (const error* const none = made.what->why()) {
        made.why = message_of(*none);
        made.what.reset();
        return made;
    }
    made.what->start();
    return made;
}

machine_counters::port_counts machine_counters::of_port(const observe::port_report& port,
                                                        const std::string& pci_address,
                                                        double duration_s, bool since_clear) {
    port_counts out;
    if (!why_.empty()) {
        out.why = why_;
        return out;
    }
    if (pci_address.empty()) {
        out.why = "the device is on no PCI bus: there is no PCIe root that could count for it";
        return out;
    }
    auto at = roots_.find(port.life);
    if (at == roots_.end() && !ended_)
        at = roots_.emplace(port.life, open_root(port, pci_address, duration_s)).first;
    if (at == roots_.end() || at->second.what == nullptr) {
        out.why = at == roots_.end() ? "it was not counted" : at->second.why;
        return out;
    }
    root& r = at->second;
    if (!ended_) r.what->read();
    r.what->show_since_mark(since_clear);
    r.last = {port.totals.rx_packets, port.totals.tx_packets, duration_s};
    const root::point& from = since_clear ? r.cleared : r.begun;
    out.what = r.what.get();
    out.rx_packets = r.last.rx - std::min(r.last.rx, from.rx);
    out.tx_packets = r.last.tx - std::min(r.last.tx, from.tx);
    if (duration_s > from.s) out.given["seconds"] = duration_s - from.s;
    const uint64_t packets = std::max(out.rx_packets, out.tx_packets);
    if (packets != 0) out.given["packets"] = static_cast<double>(packets);
    if (r.what->pci().max_mb_s > 0) out.given["link_max_mb_s"] = r.what->pci().max_mb_s;
    out.payload = payload_of(*r.what, out.given);
    return out;
}

}  // namespace turnpike::control
