// SPDX-License-Identifier: BSD-3-Clause
// The metric registry: every number reported for a worker, port, mempool or ACL, with name, kind, unit and
// meaning. JSON, the table's columns and OpenMetrics are generated from these rows; a new metric is a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "observe/report.hpp"

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
};

[[nodiscard]] std::span<const metric<worker_report>> worker_metrics() noexcept;
[[nodiscard]] std::span<const metric<port_report>> port_metrics() noexcept;
[[nodiscard]] std::span<const metric<mempool_report>> mempool_metrics() noexcept;
[[nodiscard]] std::span<const metric<acl_report>> acl_metrics() noexcept;
[[nodiscard]] std::span<const metric<punt_report>> punt_metrics() noexcept;
[[nodiscard]] std::span<const metric<balance>> balance_metrics() noexcept;

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
