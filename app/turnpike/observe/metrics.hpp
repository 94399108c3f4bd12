// SPDX-License-Identifier: BSD-3-Clause
// The metric registry: every number with name, kind, unit and meaning. JSON, the table's columns and the pages for
// Prometheus (open_metrics.hpp) are generated from these rows; a new metric is a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
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
    size_t number = 0;  ///< from 1; 0: the default action
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

[[nodiscard]] std::span<const metric<worker_report>> worker_metrics() noexcept;
[[nodiscard]] std::span<const metric<port_report>> port_metrics() noexcept;
[[nodiscard]] std::span<const metric<mempool_report>> mempool_metrics() noexcept;
[[nodiscard]] std::span<const metric<acl_report>> acl_metrics() noexcept;
[[nodiscard]] std::span<const metric<punt_report>> punt_metrics() noexcept;
[[nodiscard]] std::span<const metric<balance>> balance_metrics() noexcept;
// Not in the report's JSON by these names.
[[nodiscard]] std::span<const metric<port_report>> link_metrics() noexcept;
[[nodiscard]] std::span<const metric<process_sample>> process_metrics() noexcept;
[[nodiscard]] std::span<const metric<stage_sample>> stage_metrics() noexcept;
[[nodiscard]] std::span<const metric<drop_sample>> drop_metrics() noexcept;
[[nodiscard]] std::span<const metric<rule_sample>> rule_metrics() noexcept;
[[nodiscard]] std::span<const metric<neighbour_sample>> neighbour_metrics() noexcept;
[[nodiscard]] std::span<const metric<resource_sample>> resource_metrics() noexcept;
[[nodiscard]] std::span<const metric<interface_report>> interface_metrics() noexcept;
[[nodiscard]] std::span<const metric<route_sample>> route_metrics() noexcept;
[[nodiscard]] std::span<const metric<source_report>> source_metrics() noexcept;
[[nodiscard]] std::span<const metric<fib_report>> fib_metrics() noexcept;
[[nodiscard]] std::span<const metric<bridge_report>> bridge_metrics() noexcept;
[[nodiscard]] std::span<const metric<tunnel_report>> tunnel_metrics() noexcept;
[[nodiscard]] std::span<const metric<sflow_report>> sflow_metrics() noexcept;
[[nodiscard]] std::span<const metric<mirror_report>> mirror_metrics() noexcept;
[[nodiscard]] std::span<const metric<host_interface_report>> host_interface_metrics() noexcept;
[[nodiscard]] std::span<const metric<table_report>> table_metrics() noexcept;
[[nodiscard]] std::span<const metric<netlink_report>> netlink_metrics() noexcept;
[[nodiscard]] std::span<const metric<left_out_report>> left_out_metrics() noexcept;
[[nodiscard]] std::span<const metric<not_followed_report>> not_followed_metrics() noexcept;

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
template <class T>
[[nodiscard]] const metric<T>& find_metric(std::span<const metric<T>> rows,
                                           std::string_view name) noexcept {
    const metric<T>* found = nullptr;
    for (const metric<T>& m : rows)
        if (m.name == name) found = &m;
    return *found;
}

}  // namespace turnpike::observe
