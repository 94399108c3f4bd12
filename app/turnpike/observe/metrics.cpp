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
    {"packets", counter, "packets", "packets received",
     [](const worker_report& w) -> metric_value { return w.packets; }},
    {"pps", gauge, "packets per second", "packets received per second, mean of the whole run",
     [](const worker_report& w) -> metric_value { return w.pps(); }},
    {"busy_cycles", counter, "cycles", "TSC cycles of poll rounds that got a packet",
     [](const worker_report& w) -> metric_value { return w.busy_cycles; }},
    {"slept_cycles", counter, "cycles", "TSC cycles asleep while idle",
     [](const worker_report& w) -> metric_value { return w.slept_cycles; }},
    {"total_cycles", counter, "cycles", "TSC cycles of all poll rounds and of sleep",
     [](const worker_report& w) -> metric_value { return w.total_cycles; }},
    {"cpp", gauge, "cycles", "busy cycles per packet",
     [](const worker_report& w) -> metric_value {
         return w.packets == 0 ? metric_value{} : metric_value(w.cpp());
     }},
    {"utilisation", gauge, "ratio", "busy cycles / total cycles",
     [](const worker_report& w) -> metric_value { return w.utilisation(); }},
    {"headroom_pps", gauge, "packets per second", "packet rate available in addition to pps",
     [](const worker_report& w) -> metric_value {
         return w.packets == 0 ? metric_value{} : metric_value(w.headroom_pps());
     }},
    {"core_cycles", counter, "cycles",
     "core cycles (PMU), including empty poll rounds; no sample: not counted",
     [](const worker_report& w) { return count_of_core(w, "cycles"); }},
    {"instructions", counter, "instructions",
     "retired instructions (PMU), including empty poll rounds; no sample: not counted",
     [](const worker_report& w) { return count_of_core(w, "instructions"); }},
    {"ipc", gauge, "instructions per cycle",
     "instructions per core cycle, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "ipc"); }},
    {"ipp", gauge, "instructions", "instructions per received packet, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "ipp"); }},
    {"core_cpp", gauge, "cycles", "core cycles per received packet, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "core_cpp"); }},
    {"core_ghz", gauge, "GHz", "mean core frequency while not halted",
     [](const worker_report& w) { return of_core(w, "core_ghz"); }},
};

constexpr rows<port_report> of_ports[] = {
    {"rx_packets", counter, "packets", "returned by rx_burst",
     [](const port_report& p) -> metric_value { return p.totals.rx_packets; }},
    {"tx_packets", counter, "packets", "accepted by tx_burst",
     [](const port_report& p) -> metric_value { return p.totals.tx_packets; }},
    {"rx_bytes", counter, "bytes", "bytes received, without FCS",
     [](const port_report& p) -> metric_value { return p.totals.rx_bytes; }},
    {"tx_bytes", counter, "bytes", "bytes sent, without FCS",
     [](const port_report& p) -> metric_value { return p.totals.tx_bytes; }},
    {"rx_missed", counter, "packets",
     "packets dropped by the device for lack of receive descriptors or buffers (imissed)",
     [](const port_report& p) -> metric_value { return p.rx_missed; }},
    {"originated", counter, "packets", "packets originated by turnpike",
     [](const port_report& p) -> metric_value { return p.totals.originated; }},
    {"consumed", counter, "packets", "packets consumed by turnpike or the kernel",
     [](const port_report& p) -> metric_value { return p.totals.consumed; }},
};

constexpr rows<mempool_report> of_mempool[] = {
    {"overhead", gauge, "ratio", "memory overhead per buffer relative to a packed layout",
     [](const mempool_report& m) -> metric_value { return m.overhead; }},
    {"low_water", gauge, "buffers", "minimum number of free buffers observed",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.low_water}; }},
    {"buffers", gauge, "buffers", "total buffers",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.buffers}; }},
    {"buffer_size", gauge, "bytes", "size of a buffer, including headroom",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.buffer_size}; }},
    {"in_use_at_start", gauge, "buffers", "buffers in use before the first port was opened",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.in_use_at_start}; }},
    {"in_use", gauge, "buffers", "buffers in use",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.in_use}; }},
    {"kept_by_drivers", gauge, "buffers", "buffers in use that a closed driver is known to leak",
     [](const mempool_report& m) -> metric_value { return uint64_t{m.kept_by_drivers}; }},
};

constexpr rows<acl_report> of_acls[] = {
    {"permitted", counter, "packets",
     "packets permitted by the ACL, including earlier versions of it",
     [](const acl_report& a) -> metric_value { return a.permitted; }},
    {"denied", counter, "packets", "packets denied by the ACL, including earlier versions of it",
     [](const acl_report& a) -> metric_value { return a.denied; }},
    {"table_bytes", gauge, "bytes", "memory of the lookup table",
     [](const acl_report& a) -> metric_value { return a.bytes; }},
};

constexpr rows<punt_report> of_punt[] = {
    {"punted", counter, "packets", "packets of the class for the control thread",
     [](const punt_report& p) -> metric_value { return p.punted; }},
    {"dropped", counter, "packets", "packets of the class over its rate on the interface",
     [](const punt_report& p) -> metric_value { return p.dropped; }},
};

constexpr rows<balance> of_balance[] = {
    {"rx", counter, "packets", "packets received",
     [](const balance& b) -> metric_value { return b.rx; }},
    {"originated", counter, "packets", "packets originated by turnpike",
     [](const balance& b) -> metric_value { return b.originated; }},
    {"tx", counter, "packets", "packets sent",
     [](const balance& b) -> metric_value { return b.tx; }},
    {"consumed", counter, "packets", "packets consumed by turnpike or the kernel",
     [](const balance& b) -> metric_value { return b.consumed; }},
    {"drops", counter, "packets", "packets dropped, with a drop reason",
     [](const balance& b) -> metric_value { return b.drops; }},
    {"held", gauge, "packets", "packets pending neighbour resolution",
     [](const balance& b) -> metric_value { return b.held; }},
};

}  // namespace

std::span<const metric<worker_report>> worker_metrics() noexcept { return of_workers; }
std::span<const metric<port_report>> port_metrics() noexcept { return of_ports; }
std::span<const metric<mempool_report>> mempool_metrics() noexcept { return of_mempool; }
std::span<const metric<acl_report>> acl_metrics() noexcept { return of_acls; }
std::span<const metric<punt_report>> punt_metrics() noexcept { return of_punt; }
std::span<const metric<balance>> balance_metrics() noexcept { return of_balance; }

}  // namespace turnpike::observe
