// SPDX-License-Identifier: BSD-3-Clause
// The metric registry: every number that is reported of a worker, a port, the pool or a list, with its
// name, kind, unit and meaning. JSON, the table's columns and OpenMetrics are renderings of these rows;
// a new metric is a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "observe/report.hpp"

namespace turnpike::observe {

enum class metric_kind : uint8_t { counter, gauge };

/// monostate: there is none, as cycles per packet without a packet; never 0 for that.
using metric_value = std::variant<std::monostate, uint64_t, double>;

template <class T>
struct metric {
    std::string_view name;  ///< in JSON
    metric_kind kind;
    std::string_view unit;  ///< empty: a plain number
    std::string_view help;
    metric_value (*read)(const T&);
};

[[nodiscard]] std::span<const metric<worker_report>> worker_metrics() noexcept;
[[nodiscard]] std::span<const metric<port_report>> port_metrics() noexcept;
[[nodiscard]] std::span<const metric<mempool_report>> mempool_metrics() noexcept;
[[nodiscard]] std::span<const metric<acl_report>> acl_metrics() noexcept;
[[nodiscard]] std::span<const metric<balance>> balance_metrics() noexcept;

/// The row of that name; it must be there.
template <class T>
[[nodiscard]] const metric<T>& find_metric(std::span<const metric<T>> rows,
                                           std::string_view name) noexcept {
    const metric<T>* found = nullptr;
    for (const metric<T>& m : rows)
        if (m.name == name) found = &m;
    return *found;
}

}  // namespace turnpike::observe
