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
     [](const worker_report& w) -> metric_value { return w.pps(); }, derived},
    {"busy_cycles", counter, "cycles", "TSC cycles of poll rounds that got a packet",
     [](const worker_report& w) -> metric_value { return w.busy_cycles; }},
    {"slept_cycles", counter, "cycles", "TSC cycles asleep while idle",
     [](const worker_report& w) -> metric_value { return w.slept_cycles; }},
    {"total_cycles", counter, "cycles", "TSC cycles of all poll rounds and of sleep",
     [](const worker_report& w) -> metric_value { return w.total_cycles; }, "elapsed_cycles"},
    {"cpp", gauge, "cycles", "busy cycles per packet",
     [](const worker_report& w) -> metric_value {
         return w.packets == 0 ? metric_value{} : metric_value(w.cpp());
     },
     derived},
    {"utilisation", gauge, "ratio", "busy cycles / total cycles",
     [](const worker_report& w) -> metric_value { return w.utilisation(); }, derived},
    {"headroom_pps", gauge, "packets per second", "packet rate available in addition to pps",
     [](const worker_report& w) -> metric_value {
         return w.knows_headroom() ? metric_value(w.headroom_pps()) : metric_value{};
     },
     "headroom_packets_per_second"},
    {"core_cycles", counter, "cycles",
     "core cycles (PMU), including empty poll rounds; no sample: not counted",
     [](const worker_report& w) { return count_of_core(w, "cycles"); }},
    {"instructions", counter, "instructions",
     "retired instructions (PMU), including empty poll rounds; no sample: not counted",
     [](const worker_report& w) { return count_of_core(w, "instructions"); }},
    {"ipc", gauge, "instructions per cycle",
     "instructions per core cycle, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "ipc"); }, derived},
    {"ipp", gauge, "instructions", "instructions per received packet, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "ipp"); }, derived},
    {"core_cpp", gauge, "cycles", "core cycles per received packet, including empty poll rounds",
     [](const worker_report& w) { return of_core(w, "core_cpp"); }, derived},
    {"core_ghz", gauge, "GHz", "mean core frequency while not halted",
     [](const worker_report& w) { return of_core(w, "core_ghz"); }, derived},
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

constexpr rows<port_report> of_links[] = {
    {"up", gauge, "", "1: the link is up",
     [](const port_report& p) -> metric_value { return uint64_t{p.link_up && !p.removed}; }},
    {"speed", gauge, "bytes_per_second", "link speed reported by the device",
     [](const port_report& p) {
         return p.link_mbps == 0 ? metric_value{} : metric_value(p.link_mbps * 125000.0);
     }},
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

constexpr rows<process_sample> of_process[] = {
    {"duration", gauge, "seconds", "time since turnpike began to forward",
     [](const process_sample& p) -> metric_value { return p.all->numbers.duration_s; }},
    {"configuration_changes", counter, "", "applied configurations, including the first",
     [](const process_sample& p) -> metric_value { return p.all->numbers.changes; }},
    {"tsc_frequency", gauge, "hertz", "rate of the cycles of workers and stages",
     [](const process_sample& p) -> metric_value { return p.all->numbers.tsc_hz; }},
    {"gather", gauge, "seconds", "time that the control thread took to collect these numbers",
     [](const process_sample& p) -> metric_value { return p.all->objects.gather_s; }},
};

constexpr rows<stage_sample> of_stages[] = {
    {"sampled_packets", counter, "packets", "packets through the stage, of one burst in 64",
     [](const stage_sample& s) -> metric_value { return s.stage->packets; }},
    {"sampled_cycles", counter, "cycles", "TSC cycles of the stage for these packets",
     [](const stage_sample& s) -> metric_value { return s.stage->cycles; }},
};

constexpr rows<drop_sample> of_drops[] = {
    {"dropped", counter, "packets", "packets dropped, by drop reason (doc/drops.md)",
     [](const drop_sample& d) -> metric_value { return d.packets; }},
    {"dropped", counter, "bytes",
     "bytes of dropped packets, as they were at the drop, by drop reason",
     [](const drop_sample& d) -> metric_value { return d.bytes; }},
};

constexpr rows<rule_sample> of_rules[] = {
    {"matched", counter, "packets", "packets that matched the rule",
     [](const rule_sample& r) -> metric_value { return r.rule->packets; }},
    {"matched", counter, "bytes", "bytes that matched the rule",
     [](const rule_sample& r) -> metric_value { return r.rule->bytes; }},
};

constexpr rows<neighbour_sample> of_neighbours[] = {
    {"entries", gauge, "", "neighbour entries by state (RFC 4861)",
     [](const neighbour_sample& n) -> metric_value { return n.entries; }},
};

constexpr rows<route_sample> of_routes[] = {
    {"routes", gauge, "", "routes in the FIB, including networks and neighbours",
     [](const route_sample& r) -> metric_value { return r.routes; }},
};

constexpr rows<source_report> of_sources[] = {
    {"routes", gauge, "", "routes by source: operator, or the protocol of a routing daemon",
     [](const source_report& s) -> metric_value { return s.routes; }},
};

constexpr rows<fib_report> of_fibs[] = {
    {"size", gauge, "bytes", "memory of the FIB",
     [](const fib_report& f) -> metric_value { return f.bytes; }},
};

template <uint64_t traffic::*Count>
metric_value count_of(const interface_report& i) {
    return i.counted ? metric_value((*i.counted).*Count) : metric_value{};
}
constexpr rows<interface_report> of_interfaces[] = {
    {"up", gauge, "", "1: the interface has a link",
     [](const interface_report& i) -> metric_value { return uint64_t{i.up}; }},
    {"mtu", gauge, "bytes", "MTU: bytes of the Ethernet payload",
     [](const interface_report& i) -> metric_value { return uint64_t{i.mtu}; }},
    {"rx", counter, "packets", "packets received by the interface, where it is counted",
     count_of<&traffic::rx_packets>},
    {"rx", counter, "bytes", "bytes received by the interface, without its VLAN tag",
     count_of<&traffic::rx_bytes>},
    {"tx", counter, "packets", "packets sent by the interface, where it is counted",
     count_of<&traffic::tx_packets>},
    {"tx", counter, "bytes", "bytes sent by the interface, without its VLAN tag",
     count_of<&traffic::tx_bytes>},
};

constexpr rows<bridge_report> of_bridges[] = {
    {"fdb_entries", gauge, "", "learned FDB entries",
     [](const bridge_report& b) -> metric_value { return b.entries; }},
    {"fdb_max_entries", gauge, "", "limit of learned FDB entries",
     [](const bridge_report& b) {
         return b.max_entries == 0 ? metric_value{} : metric_value(b.max_entries);
     }},
    {"fdb_learned", counter, "", "MAC addresses learned",
     [](const bridge_report& b) -> metric_value { return b.learned; }},
    {"fdb_moved", counter, "", "moves of a MAC address to another member",
     [](const bridge_report& b) -> metric_value { return b.moved; }},
    {"fdb_aged", counter, "", "FDB entries deleted by ageing",
     [](const bridge_report& b) -> metric_value { return b.aged; }},
    {"fdb_dampened", counter, "", "MAC addresses dampened for moving too often",
     [](const bridge_report& b) -> metric_value { return b.dampened; }},
    {"fdb_refused", counter, "", "MAC addresses not learned for a limit",
     [](const bridge_report& b) -> metric_value { return b.refused; }},
    {"rx", counter, "packets", "packets received in the bridge, of all VLANs",
     [](const bridge_report& b) -> metric_value { return b.rx_packets; }},
    {"rx", counter, "bytes", "bytes received in the bridge, of all VLANs",
     [](const bridge_report& b) -> metric_value { return b.rx_bytes; }},
    {"tx", counter, "packets", "packets sent in the bridge, flood copies included",
     [](const bridge_report& b) -> metric_value { return b.tx_packets; }},
    {"flooded", counter, "packets", "packets flooded",
     [](const bridge_report& b) -> metric_value { return b.flooded; }},
};

constexpr rows<tunnel_report> of_tunnels[] = {
    {"rx", counter, "packets", "inner frames received from the remote VTEP",
     [](const tunnel_report& t) -> metric_value { return t.inner.rx_packets; }},
    {"rx", counter, "bytes", "bytes of inner frames received from the remote VTEP",
     [](const tunnel_report& t) -> metric_value { return t.inner.rx_bytes; }},
    {"tx", counter, "packets", "inner frames sent to the remote VTEP",
     [](const tunnel_report& t) -> metric_value { return t.inner.tx_packets; }},
    {"tx", counter, "bytes", "bytes of inner frames sent to the remote VTEP",
     [](const tunnel_report& t) -> metric_value { return t.inner.tx_bytes; }},
};

constexpr rows<mirror_report> of_mirrors[] = {
    {"copied", counter, "packets", "copies sent to the mirror's destination",
     [](const mirror_report& m) -> metric_value { return m.packets; }},
    {"copied", counter, "bytes", "bytes of these copies, without the mirror's VLAN tag or headers",
     [](const mirror_report& m) -> metric_value { return m.bytes; }},
    {"lost", counter, "packets", "copies not made for lack of a buffer",
     [](const mirror_report& m) -> metric_value { return m.lost; }},
    {"unreachable", counter, "packets",
     "copies not made for lack of a path to the mirror's remote address",
     [](const mirror_report& m) -> metric_value { return m.unreachable; }},
};

constexpr rows<sflow_report> of_sflow[] = {
    {"datagrams", counter, "", "datagrams sent to collectors",
     [](const sflow_report& s) -> metric_value { return s.datagrams; }},
    {"unsent_datagrams", counter, "", "datagrams that the kernel did not send",
     [](const sflow_report& s) -> metric_value { return s.unsent; }},
    {"samples", counter, "", "samples of packets",
     [](const sflow_report& s) -> metric_value { return s.samples; }},
    {"drop_notifications", counter, "", "notifications of dropped packets",
     [](const sflow_report& s) -> metric_value { return s.drops; }},
    {"lost_samples", counter, "", "samples that found the exporter's ring full",
     [](const sflow_report& s) -> metric_value { return s.lost_samples; }},
    {"lost_drop_notifications", counter, "",
     "dropped packets without a notification, for its rate or the ring",
     [](const sflow_report& s) -> metric_value { return s.lost_drops; }},
};

constexpr rows<host_interface_report> of_host_interfaces[] = {
    {"admin_up", gauge, "", "0: the interface is set down in the kernel, after turnpike set it up",
     [](const host_interface_report& h) -> metric_value { return uint64_t{h.admin_up}; }},
    {"carrier", gauge, "", "1: the kernel sees a carrier",
     [](const host_interface_report& h) -> metric_value { return uint64_t{h.carrier}; }},
    {"to_kernel", counter, "packets", "packets written to the kernel",
     [](const host_interface_report& h) -> metric_value { return h.to_kernel; }},
    {"from_kernel", counter, "packets", "packets sent for the kernel",
     [](const host_interface_report& h) -> metric_value { return h.from_kernel; }},
    {"refused", counter, "packets", "packets that the kernel refused",
     [](const host_interface_report& h) -> metric_value { return h.refused; }},
};

constexpr rows<table_report> of_tables[] = {
    {"entries", gauge, "", "entries of the table",
     [](const table_report& t) -> metric_value { return t.entries; }},
    {"max_entries", gauge, "", "limit of the table",
     [](const table_report& t) -> metric_value { return t.max_entries; }},
};

constexpr rows<netlink_report> of_netlink[] = {
    {"messages", counter, "", "netlink messages received from the kernel",
     [](const netlink_report& n) -> metric_value { return n.messages; }},
    {"refused_messages", counter, "", "netlink messages that turnpike could not read",
     [](const netlink_report& n) -> metric_value { return n.refused; }},
    {"overruns", counter, "", "overruns of the netlink socket, each followed by a new dump",
     [](const netlink_report& n) -> metric_value { return n.overruns; }},
    {"synchronizing", gauge, "", "1: a dump of the kernel's tables is in progress",
     [](const netlink_report& n) -> metric_value { return uint64_t{n.synchronizing}; }},
};

constexpr rows<left_out_report> of_left_out[] = {
    {"no_room", gauge, "", "routes, next hops and neighbours of the kernel that find no room",
     [](const left_out_report& l) -> metric_value { return l.objects; }},
};

constexpr rows<not_followed_report> of_not_followed[] = {
    {"not_followed_routes", gauge, "",
     "prefixes whose packets are dropped, because turnpike cannot forward by the kernel's route",
     [](const not_followed_report& n) -> metric_value { return n.routes; }},
};

constexpr rows<resource_sample> of_resources[] = {
    {"limits", gauge, "", "1: the resource limits forwarding; all 0: none does",
     [](const resource_sample& r) -> metric_value { return uint64_t{r.limits}; }},
    {"used", gauge, "ratio", "utilisation of the resource, mean of the whole run",
     [](const resource_sample& r) {
         return r.of->used ? metric_value(*r.of->used) : metric_value{};
     }},
    {"headroom", gauge, "packets_per_second", "packet rate that the resource allows in addition",
     [](const resource_sample& r) {
         return r.of->more_pps ? metric_value(*r.of->more_pps) : metric_value{};
     }},
};

}  // namespace

std::span<const metric<worker_report>> worker_metrics() noexcept { return of_workers; }
std::span<const metric<port_report>> port_metrics() noexcept { return of_ports; }
std::span<const metric<mempool_report>> mempool_metrics() noexcept { return of_mempool; }
std::span<const metric<acl_report>> acl_metrics() noexcept { return of_acls; }
std::span<const metric<punt_report>> punt_metrics() noexcept { return of_punt; }
std::span<const metric<balance>> balance_metrics() noexcept { return of_balance; }
std::span<const metric<port_report>> link_metrics() noexcept { return of_links; }
std::span<const metric<process_sample>> process_metrics() noexcept { return of_process; }
std::span<const metric<stage_sample>> stage_metrics() noexcept { return of_stages; }
std::span<const metric<drop_sample>> drop_metrics() noexcept { return of_drops; }
std::span<const metric<rule_sample>> rule_metrics() noexcept { return of_rules; }
std::span<const metric<neighbour_sample>> neighbour_metrics() noexcept { return of_neighbours; }
std::span<const metric<route_sample>> route_metrics() noexcept { return of_routes; }
std::span<const metric<source_report>> source_metrics() noexcept { return of_sources; }
std::span<const metric<fib_report>> fib_metrics() noexcept { return of_fibs; }
std::span<const metric<interface_report>> interface_metrics() noexcept { return of_interfaces; }
std::span<const metric<bridge_report>> bridge_metrics() noexcept { return of_bridges; }
std::span<const metric<tunnel_report>> tunnel_metrics() noexcept { return of_tunnels; }
std::span<const metric<sflow_report>> sflow_metrics() noexcept { return of_sflow; }
std::span<const metric<mirror_report>> mirror_metrics() noexcept { return of_mirrors; }
std::span<const metric<host_interface_report>> host_interface_metrics() noexcept {
    return of_host_interfaces;
}
std::span<const metric<table_report>> table_metrics() noexcept { return of_tables; }
std::span<const metric<netlink_report>> netlink_metrics() noexcept { return of_netlink; }
std::span<const metric<left_out_report>> left_out_metrics() noexcept { return of_left_out; }
std::span<const metric<not_followed_report>> not_followed_metrics() noexcept {
    return of_not_followed;
}
std::span<const metric<resource_sample>> resource_metrics() noexcept { return of_resources; }

}  // namespace turnpike::observe
