// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metrics.hpp"

namespace turnpike::observe {
namespace {

using enum metric_kind;

template <class T>
using rows = metric<T>;

metric_value of_core(const worker_report& w, std::string_view name) {
    const double* const value = w.core.find(name);
    return value == nullptr ? metric_value{} : metric_value(*value);
}

metric_value count_of_core(const worker_report& w, std::string_view name) {
    const double* const value = w.core.find(name);
    return value == nullptr ? metric_value{} : metric_value(static_cast<uint64_t>(*value));
}

constexpr rows<worker_report> of_workers[] = {
    {"packets", counter, "packets", "received",
     [](const worker_report& w) -> metric_value { return w.packets; }},
    {"pps", gauge, "packets per second", "received, over the whole run",
     [](const worker_report& w) -> metric_value { return w.pps(); }},
    {"busy_cycles", counter, "cycles", "TSC cycles of poll rounds that got a packet",
     [](const worker_report& w) -> metric_value { return w.busy_cycles; }},
    {"slept_cycles", counter, "cycles", "TSC cycles asleep, as nothing came",
     [](const worker_report& w) -> metric_value { return w.slept_cycles; }},
    {"total_cycles", counter, "cycles", "TSC cycles of all poll rounds, and asleep",
     [](const worker_report& w) -> metric_value { return w.total_cycles; }},
    {"cpp", gauge, "cycles", "busy cycles per packet",
     [](const worker_report& w) -> metric_value {
         return w.packets == 0 ? metric_value{} : metric_value(w.cpp());
     }},
    {"utilisation", gauge, "ratio", "busy cycles over all",
     [](const worker_report& w) -> metric_value { return w.utilisation(); }},
    {"headroom_pps", gauge, "packets per second", "that would still fit",
     [](const worker_report& w) -> metric_value {
         return w.packets == 0 ? metric_value{} : metric_value(w.headroom_pps());
     }},
    {"core_cycles", counter, "cycles", "of the core itself, empty rounds too; none: not counted",
     [](const worker_report& w) { return count_of_core(w, "cycles"); }},
    {"instructions", counter, "instructions", "of the core, empty rounds too; none: not counted",
     [](const worker_report& w) { return count_of_core(w, "instructions"); }},
    {"ipc", gauge, "instructions per cycle", "of the core, empty rounds too",
     [](const worker_report& w) { return of_core(w, "ipc"); }},
    {"ipp", gauge, "instructions", "per packet received, empty rounds too",
     [](const worker_report& w) { return of_core(w, "ipp"); }},
    {"core_cpp", gauge, "cycles", "of the core per packet received, empty rounds too",
     [](const worker_report& w) { return of_core(w, "core_cpp"); }},
    {"core_ghz", gauge, "GHz", "the core's frequency while it worked",
     [](const worker_report& w) { return of_core(w, "core_ghz"); }},
};

constexpr rows<port_report> of_ports[] = {
    {"rx_packets", counter, "packets", "returned by rx_burst",
     [](const port_report& p) -> metric_value { return p.totals.rx_packets; }},
    {"tx_packets", counter, "packets", "accepted by tx_burst",
     [](const port_report& p) -> metric_value { return p.totals.tx_packets; }},
    {"rx_bytes", counter, "bytes", "received, without frame check sequences",
     [](const port_report& p) -> metric_value { return p.totals.rx_bytes; }},
    {"tx_bytes", counter, "bytes", "sent, without frame check sequences",
     [](const port_report& p) -> metric_value { return p.totals.tx_bytes; }},
    {"rx_missed", counter, "packets", "dropped by the device before anybody saw them",
     [](const port_report& p) -> metric_value { return p.rx_missed; }},
    {"originated", counter, "packets", "made by turnpike itself",
     [](const port_report& p) -> metric_value { return p.totals.originated; }},
    {"consumed", counter, "packets", "that were for turnpike",
     [](const port_report& p) -> metric_value { return p.totals.consumed; }},
};

constexpr rows<mempool_report> of_mempool[] = {
    {"overhead", gauge, "ratio", "memory a buffer takes, over buffers side by side, less 1",
     [](const mempool_report& m) -> metric_value { return m.overhead; }},
    {"low_water", gauge, "buffers", "fewest free ones seen",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.low_water}; }},
    {"buffers", gauge, "buffers", "in all",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.buffers}; }},
    {"buffer_size", gauge, "bytes", "of a buffer, headroom included",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.buffer_size}; }},
    {"in_use_at_start", gauge, "buffers", "out of the pool before the first port was opened",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.in_use_at_start}; }},
    {"in_use", gauge, "buffers", "out of the pool",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.in_use}; }},
    {"kept_by_drivers", gauge, "buffers",
     "of those, that a closed driver is known not to give back",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.kept_by_drivers}; }},
};

constexpr rows<acl_report> of_acls[] = {
    {"permitted", counter, "packets", "by this list and those before it",
     [](const acl_report& a) -> metric_value { return a.permitted; }},
    {"denied", counter, "packets", "by this list and those before it",
     [](const acl_report& a) -> metric_value { return a.denied; }},
    {"table_bytes", gauge, "bytes", "that workers read",
     [](const acl_report& a) -> metric_value { return a.bytes; }},
};

constexpr rows<balance> of_balance[] = {
    {"rx", counter, "packets", "received", [](const balance& b) -> metric_value { return b.rx; }},
    {"originated", counter, "packets", "made by turnpike itself",
     [](const balance& b) -> metric_value { return b.originated; }},
    {"tx", counter, "packets", "sent", [](const balance& b) -> metric_value { return b.tx; }},
    {"consumed", counter, "packets", "that were for turnpike",
     [](const balance& b) -> metric_value { return b.consumed; }},
    {"drops", counter, "packets", "freed under a reason",
     [](const balance& b) -> metric_value { return b.drops; }},
    {"held", gauge, "packets", "that wait for a neighbour",
     [](const balance& b) -> metric_value { return b.held; }},
};

}  // namespace

std::span<const metric<worker_report>> worker_metrics() noexcept { return of_workers; }
std::span<const metric<port_report>> port_metrics() noexcept { return of_ports; }
std::span<const metric<mempool_report>> mempool_metrics() noexcept { return of_mempool; }
std::span<const metric<acl_report>> acl_metrics() noexcept { return of_acls; }
std::span<const metric<balance>> balance_metrics() noexcept { return of_balance; }

}  // namespace turnpike::observe
