// SPDX-License-Identifier: BSD-3-Clause
// The metric registry: every number with name, kind, unit and meaning. JSON, the table's columns and the pages for
// Prometheus (open_metrics.hpp) are generated from these rows; a new metric is a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "observe/inventory.hpp"
#include "observe/report.hpp"
#include "observe/verdict.hpp"

namespace turnpike::observe {

enum class metric_kind : uint8_t { counter, gauge };

/// monostate: undefined, e.g. cycles per packet without packets; never 0 instead.
using metric_value = std::variant<std::monostate, uint64_t, double>;

template <class T>
struct metric {
    std::string_view name;  ///< JSON member
    metric_kind kind;
    std::string_view unit;  ///< empty: dimensionless
    std::string_view help;
    metric_value (*read)(const T&);
    /// Name on the pages for Prometheus, without `turnpike_` and the object; empty: name, and its unit if it does not
    /// end in that; derived: no sample, since a query calculates it from others.
    std::string_view exported{};
};
inline constexpr std::string_view derived = "-";

// Elements of lists within the report, and with their owner's labels.
struct process_sample {
    const scraped* all = nullptr;
};
struct stage_sample {
    unsigned lcore = 0;
    const worker_report::stage_cycles* stage = nullptr;
};
struct drop_sample {
    std::string_view port{}, reason{};
    uint64_t packets = 0, bytes = 0;
};
struct rule_sample {
    const acl_report* of = nullptr;
    const acl_rule_report* rule = nullptr;
};
struct neighbour_sample {
    std::string_view state{};
    uint64_t entries = 0;
};
struct route_sample {
    std::string_view vrf{}, family{};
    uint64_t routes = 0;
};
struct resource_sample {
    const headroom* of = nullptr;
    bool limits = false;
};

template <class Class, class Member>
Class class_of(Member Class::*);

template <auto... Path, class Of>
metric_value number_at(const Of& of) noexcept;
template <auto First, auto... Rest, class Of>
metric_value number_beyond(const Of& of) noexcept {
    return number_at<Rest...>(std::invoke(First, of));
}
template <auto... Path, class Of>
metric_value number_at(const Of& of) noexcept {
    if constexpr (requires { *of; })
        return of ? number_at<Path...>(*of) : metric_value{};
    else if constexpr (sizeof...(Path) != 0)
        return number_beyond<Path...>(of);
    else if constexpr (std::is_floating_point_v<Of>)
        return double{of};
    else
        return uint64_t{of};
}
/// The number to which a path of members leads, by pointers too; undefined if an optional on it is empty.
template <auto First, auto... Rest>
metric_value at(const decltype(class_of(First))& of) noexcept {
    return number_at<First, Rest...>(of);
}

/// The rows of each kind of object.
namespace metrics {

using enum metric_kind;

inline metric_value of_core(const worker_report& w, std::string_view name) noexcept {
    const double* const value = w.core.find(name);
    return value == nullptr ? metric_value{} : metric_value(*value);
}
inline metric_value count_of_core(const worker_report& w, std::string_view name) noexcept {
    const double* const value = w.core.find(name);
    return value == nullptr ? metric_value{} : metric_value(static_cast<uint64_t>(*value));
}

inline constexpr metric<worker_report> workers[] = {
    {"packets", counter, "packets", "packets received", at<&worker_report::packets>},
    {"injected", counter, "packets", "packets from control: originated, released or of the kernel",
     at<&worker_report::injected>},
    {"pps", gauge, "packets per second",
     "packets received per second, mean of the time that the worker ran", at<&worker_report::pps>,
     derived},
    {"busy_cycles", counter, "cycles",
     "TSC cycles of poll rounds that got a packet, received or injected",
     at<&worker_report::busy_cycles>},
    {"slept_cycles", counter, "cycles", "TSC cycles asleep while idle",
     at<&worker_report::slept_cycles>},
    {"control_cycles", counter, "cycles", "TSC cycles of control on the worker's lcore",
     at<&worker_report::control_cycles>},
    {"total_cycles", counter, "cycles", "TSC cycles of all poll rounds, of sleep and of control",
     at<&worker_report::total_cycles>, "elapsed_cycles"},
    {"cpp", gauge, "cycles", "busy cycles per packet, received or injected",
     [](const worker_report& w) -> metric_value {
         return w.processed() == 0 ? metric_value{} : metric_value(w.cpp());
     },
     derived},
    {"utilisation", gauge, "ratio", "busy cycles / (total cycles - control cycles)",
     at<&worker_report::utilisation>, derived},
    {"headroom_pps", gauge, "packets per second", "packet rate available in addition",
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

inline constexpr metric<port_report> ports[] = {
    {"rx_packets", counter, "packets", "returned by rx_burst",
     at<&port_report::totals, &port_totals::rx_packets>},
    {"tx_packets", counter, "packets", "accepted by tx_burst",
     at<&port_report::totals, &port_totals::tx_packets>},
    {"rx_bytes", counter, "bytes", "bytes received, without FCS",
     at<&port_report::totals, &port_totals::rx_bytes>},
    {"tx_bytes", counter, "bytes", "bytes sent, without FCS",
     at<&port_report::totals, &port_totals::tx_bytes>},
    {"rx_missed", counter, "packets",
     "packets dropped by the device for lack of receive descriptors (imissed)",
     at<&port_report::rx_missed>},
    {"rx_no_buffer", counter, "",
     "failed allocations of receive buffers by the driver (rx_nombuf); may be repeated for one "
     "packet",
     at<&port_report::rx_no_buffer>},
    {"originated", counter, "packets", "packets originated by turnpike",
     at<&port_report::totals, &port_totals::originated>},
    {"consumed", counter, "packets", "packets consumed by turnpike or the kernel",
     at<&port_report::totals, &port_totals::consumed>},
};

inline constexpr metric<port_report> links[] = {
    {"admin_up", gauge, "", "0: the port has `shutdown` in its configuration",
     [](const port_report& p) -> metric_value { return uint64_t{p.admin_up}; }},
    {"up", gauge, "", "1: the link is up",
     [](const port_report& p) -> metric_value { return uint64_t{p.link_up && !p.removed}; }},
    {"speed", gauge, "bytes_per_second", "link speed reported by the device",
     [](const port_report& p) {
         return p.link_mbps == 0 ? metric_value{} : metric_value(p.link_mbps * 125000.0);
     }},
};

inline constexpr metric<mempool_report> mempool[] = {
    {"overhead", gauge, "ratio", "memory overhead per buffer relative to a packed layout",
     at<&mempool_report::overhead>},
    {"low_water", gauge, "buffers", "minimum number of free buffers observed",
     at<&mempool_report::low_water>},
    {"buffers", gauge, "buffers", "total buffers", at<&mempool_report::buffers>},
    {"buffer_size", gauge, "bytes", "size of a buffer, including headroom",
     at<&mempool_report::buffer_size>},
    {"in_use_at_start", gauge, "buffers", "buffers in use before the first port was opened",
     at<&mempool_report::in_use_at_start>},
    {"in_use", gauge, "buffers", "buffers in use", at<&mempool_report::in_use>},
    {"kept_by_drivers", gauge, "buffers", "buffers in use that a closed driver is known to leak",
     at<&mempool_report::kept_by_drivers>},
};

inline constexpr metric<acl_report> acls[] = {
    {"permitted", counter, "packets",
     "packets permitted by the ACL, including earlier versions of it", at<&acl_report::permitted>},
    {"denied", counter, "packets", "packets denied by the ACL, including earlier versions of it",
     at<&acl_report::denied>},
    {"table_bytes", gauge, "bytes", "memory of the ACL's lookup table, which all its places share",
     at<&acl_report::bytes>},
};

inline constexpr metric<punt_report> punt[] = {
    {"punted", counter, "packets", "packets of the class for the control thread",
     at<&punt_report::punted>},
    {"dropped", counter, "packets", "packets of the class over its rate on the interface",
     at<&punt_report::dropped>},
};

inline constexpr metric<balance> totals[] = {
    {"rx", counter, "packets", "packets received", at<&balance::rx>},
    {"originated", counter, "packets", "packets originated by turnpike", at<&balance::originated>},
    {"tx", counter, "packets", "packets sent", at<&balance::tx>},
    {"consumed", counter, "packets", "packets consumed by turnpike or the kernel",
     at<&balance::consumed>},
    {"drops", counter, "packets", "packets dropped, with a drop reason", at<&balance::drops>},
    {"held", gauge, "packets", "packets pending neighbour resolution", at<&balance::held>},
};

inline constexpr metric<process_sample> process[] = {
    {"duration", gauge, "seconds", "time since turnpike began to forward",
     at<&process_sample::all, &scraped::numbers, &report::duration_s>},
    {"configuration_changes", counter, "", "applied configurations, including the first",
     at<&process_sample::all, &scraped::numbers, &report::changes>},
    {"configuration_unsaved", gauge, "", "1: the running configuration differs from the file",
     [](const process_sample& p) -> metric_value { return uint64_t{p.all->unfinished.unsaved}; }},
    {"configuration_unconfirmed", gauge, "",
     "1: the last change is undone unless it is confirmed in time",
     [](const process_sample& p) -> metric_value {
         return uint64_t{p.all->unfinished.unconfirmed};
     }},
    {"tsc_frequency", gauge, "hertz", "rate of the cycles of workers and stages",
     at<&process_sample::all, &scraped::numbers, &report::tsc_hz>},
    {"gather", gauge, "seconds", "time that the control thread took to collect these numbers",
     at<&process_sample::all, &scraped::objects, &inventory::gather_s>},
};

inline constexpr metric<stage_sample> stages[] = {
    {"sampled_packets", counter, "packets", "packets through the stage, of one burst in 64",
     at<&stage_sample::stage, &worker_report::stage_cycles::packets>},
    {"sampled_cycles", counter, "cycles", "TSC cycles of the stage for these packets",
     at<&stage_sample::stage, &worker_report::stage_cycles::cycles>},
};

inline constexpr metric<drop_sample> drops[] = {
    {"dropped", counter, "packets", "packets dropped, by drop reason (doc/drops.md)",
     at<&drop_sample::packets>},
    {"dropped", counter, "bytes",
     "bytes of dropped packets, as they were at the drop, by drop reason", at<&drop_sample::bytes>},
};

inline constexpr metric<rule_sample> rules[] = {
    {"matched", counter, "packets", "packets that matched the rule",
     at<&rule_sample::rule, &acl_rule_report::packets>},
    {"matched", counter, "bytes", "bytes that matched the rule",
     at<&rule_sample::rule, &acl_rule_report::bytes>},
};

inline constexpr metric<neighbour_sample> neighbours[] = {
    {"entries", gauge, "", "neighbour entries by state (RFC 4861)", at<&neighbour_sample::entries>},
};

inline constexpr metric<route_sample> routes[] = {
    {"routes", gauge, "", "routes in the FIB, including networks and neighbours",
     at<&route_sample::routes>},
};

inline constexpr metric<source_report> sources[] = {
    {"routes", gauge, "", "routes by source: operator, or the protocol of a routing daemon",
     at<&source_report::routes>},
};

inline constexpr metric<fib_report> fibs[] = {
    {"size", gauge, "bytes", "memory of the FIB", at<&fib_report::bytes>},
};

inline constexpr metric<interface_report> interfaces[] = {
    {"up", gauge, "", "1: the interface has a link", at<&interface_report::up>},
    {"mtu", gauge, "bytes", "MTU: bytes of the Ethernet payload", at<&interface_report::mtu>},
    {"rx", counter, "packets", "packets received by the interface, where it is counted",
     at<&interface_report::counted, &traffic::rx_packets>},
    {"rx", counter, "bytes", "bytes received by the interface, without its VLAN tag",
     at<&interface_report::counted, &traffic::rx_bytes>},
    {"tx", counter, "packets", "packets sent by the interface, where it is counted",
     at<&interface_report::counted, &traffic::tx_packets>},
    {"tx", counter, "bytes", "bytes sent by the interface, without its VLAN tag",
     at<&interface_report::counted, &traffic::tx_bytes>},
};

inline constexpr metric<bridge_report> bridges[] = {
    {"fdb_entries", gauge, "", "learned FDB entries", at<&bridge_report::entries>},
    {"fdb_max_entries", gauge, "", "limit of learned FDB entries",
     [](const bridge_report& b) {
         return b.max_entries == 0 ? metric_value{} : metric_value(b.max_entries);
     }},
    {"fdb_learned", counter, "", "MAC addresses learned", at<&bridge_report::learned>},
    {"fdb_moved", counter, "", "moves of a MAC address to another member",
     at<&bridge_report::moved>},
    {"fdb_aged", counter, "", "FDB entries deleted by ageing", at<&bridge_report::aged>},
    {"fdb_dampened", counter, "", "MAC addresses dampened for moving too often",
     at<&bridge_report::dampened>},
    {"fdb_refused", counter, "", "MAC addresses not learned for a limit",
     at<&bridge_report::refused>},
    {"rx", counter, "packets", "packets received in the bridge, of all VLANs",
     at<&bridge_report::rx_packets>},
    {"rx", counter, "bytes", "bytes received in the bridge, of all VLANs",
     at<&bridge_report::rx_bytes>},
    {"tx", counter, "packets", "packets sent in the bridge, flood copies included",
     at<&bridge_report::tx_packets>},
    {"flooded", counter, "packets", "packets flooded", at<&bridge_report::flooded>},
};

inline constexpr metric<tunnel_report> tunnels[] = {
    {"rx", counter, "packets", "inner frames received from the remote VTEP",
     at<&tunnel_report::inner, &traffic::rx_packets>},
    {"rx", counter, "bytes", "bytes of inner frames received from the remote VTEP",
     at<&tunnel_report::inner, &traffic::rx_bytes>},
    {"tx", counter, "packets", "inner frames sent to the remote VTEP",
     at<&tunnel_report::inner, &traffic::tx_packets>},
    {"tx", counter, "bytes", "bytes of inner frames sent to the remote VTEP",
     at<&tunnel_report::inner, &traffic::tx_bytes>},
};

inline constexpr metric<mirror_report> mirrors[] = {
    {"copied", counter, "packets", "copies sent to the mirror's destination",
     at<&mirror_report::packets>},
    {"copied", counter, "bytes", "bytes of these copies, without the mirror's VLAN tag or headers",
     at<&mirror_report::bytes>},
    {"lost", counter, "packets", "copies not made for lack of a buffer", at<&mirror_report::lost>},
    {"unreachable", counter, "packets",
     "copies not made for lack of a path to the mirror's remote address",
     at<&mirror_report::unreachable>},
};

inline constexpr metric<sflow_report> sflow[] = {
    {"datagrams", counter, "", "datagrams sent to collectors", at<&sflow_report::datagrams>},
    {"unsent_datagrams", counter, "", "datagrams that the kernel did not send",
     at<&sflow_report::unsent>},
    {"samples", counter, "", "samples of packets", at<&sflow_report::samples>},
    {"drop_notifications", counter, "", "notifications of dropped packets",
     at<&sflow_report::drops>},
    {"lost_samples", counter, "", "samples that found the exporter's ring full",
     at<&sflow_report::lost_samples>},
    {"lost_drop_notifications", counter, "",
     "dropped packets without a notification, for its rate or the ring",
     at<&sflow_report::lost_drops>},
};

inline constexpr metric<host_interface_report> host_interfaces[] = {
    {"admin_up", gauge, "", "0: the interface is set down in the kernel, after turnpike set it up",
     at<&host_interface_report::admin_up>},
    {"carrier", gauge, "", "1: the kernel sees a carrier", at<&host_interface_report::carrier>},
    {"to_kernel", counter, "packets", "packets written to the kernel",
     at<&host_interface_report::to_kernel>},
    {"from_kernel", counter, "packets", "packets sent for the kernel",
     at<&host_interface_report::from_kernel>},
    {"lost", counter, "packets",
     "packets of the kernel that turnpike could not send: longer than the MTU allows, or no buffer",
     at<&host_interface_report::lost>},
};

inline constexpr metric<table_report> tables[] = {
    {"entries", gauge, "", "entries of the table", at<&table_report::entries>},
    {"max_entries", gauge, "", "limit of the table", at<&table_report::max_entries>},
};

inline constexpr metric<netlink_report> netlink[] = {
    {"messages", counter, "", "netlink messages received from the kernel",
     at<&netlink_report::messages>},
    {"refused_messages", counter, "", "netlink messages that turnpike could not read",
     at<&netlink_report::refused>},
    {"overruns", counter, "", "overruns of the netlink socket, each followed by a new dump",
     at<&netlink_report::overruns>},
    {"synchronizing", gauge, "", "1: a dump of the kernel's tables is in progress",
     at<&netlink_report::synchronizing>},
};

inline constexpr metric<left_out_report> left_out[] = {
    {"no_room", gauge, "", "routes, next hops and neighbours of the kernel that find no room",
     at<&left_out_report::objects>},
};

inline constexpr metric<not_followed_report> not_followed[] = {
    {"not_followed_routes", gauge, "",
     "prefixes whose packets are dropped, because turnpike cannot forward by the kernel's route",
     at<&not_followed_report::routes>},
};

inline constexpr metric<resource_sample> resources[] = {
    {"limits", gauge, "", "1: the resource limits forwarding; all 0: none does",
     at<&resource_sample::limits>},
    {"used", gauge, "ratio", "utilisation of the resource, mean of the whole run",
     at<&resource_sample::of, &headroom::used>},
    {"headroom", gauge, "packets_per_second", "packet rate that the resource allows in addition",
     at<&resource_sample::of, &headroom::more_pps>},
};

}  // namespace metrics

/// A histogram of the packets that calls of rx_burst returned, by worker.
inline constexpr std::string_view burst_histogram = "worker_rx_burst_packets",
                                  burst_histogram_help =
                                      "calls of rx_burst by number of packets returned, without "
                                      "empty ones";

/// A histogram of the times of sampled packets, by pair of ports.
inline constexpr std::string_view latency_histogram = "latency_seconds",
                                  latency_histogram_help =
                                      "time of sampled packets from rx_burst to tx_burst";

/// Facts as labels of a constant 1.
struct info_family {
    std::string_view name, help;
};
inline constexpr info_family build_info{"build", "version of turnpike, and the selected kernels"},
    port_info{"port", "driver and NUMA node of a port"},
    interface_info{"interface", "kind and relations of an interface"},
    tunnel_info{"tunnel", "VNI and remote VTEP of a tunnel"},
    acl_info{"acl_rule", "action and place in the configuration of a rule of an ACL"};

/// The metric of that name, which must exist.
template <class T, size_t N>
[[nodiscard]] const metric<T>& find_metric(const metric<T> (&rows)[N],
                                           std::string_view name) noexcept {
    const metric<T>* found = nullptr;
    for (const metric<T>& m : rows)
        if (m.name == name) found = &m;
    return *found;
}

}  // namespace turnpike::observe
