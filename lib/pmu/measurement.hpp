// SPDX-License-Identifier: BSD-3-Clause
// Measures a table's metrics for a CPU, a thread, or a device and its PCIe root: opens the required
// counters and computes values, or errors with a reason.
//
//   measurement m = measurement::of_device({"/sys", *source, *table}, "0000:3b:00.0");
//   m.start();  ...  m.read();
//   auto latency = m.value("read_latency_ns", {{"seconds", 1.0}});
//   if (!latency) log(latency.error().message());
//
// Nothing is guessed: a missing count makes every metric that uses it an error with the reason, and
// a count that did not run all the time is scaled, with its share.
// Threads  one at a time
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pmu/counter_source.hpp"
#include "pmu/table.hpp"

namespace turnpike::pmu {

struct machine {
    std::filesystem::path sysfs;
    counter_source* source;
    const pmu::table* table;
};

struct measured {
    double value = 0;
    double share =
        1;  ///< smallest share of the time that a counter ran: below 1, the value is scaled
};

using given_values = std::map<std::string, double, std::less<>>;

class measurement {
  public:
    /// The core metrics of a CPU or thread.
    [[nodiscard]] static measurement of_core(const machine& on, target whose);
    /// The metrics of the PCIe root port stack above a device, and the metrics of its socket.
    ///
    /// Errors  ENODEV, ENOENT, ENOTSUP: no such device, or no counters there
    [[nodiscard]] static result<measurement> of_device(const machine& on, std::string_view address);
    /// The metrics of a socket.
    [[nodiscard]] static measurement of_socket(const machine& on, unsigned package);

    /// Start the measurement.
    void start();
    /// End the measurement, until the next call. The counts of each period between two calls are scaled by the share of the
    /// period in which their counter ran, so that they never fall.
    void read();
    /// Continue a measurement: counts since the last read() are excluded.
    void resume();
    /// Remember the counts until the last read().
    void mark();
    /// Whether values are from here on of the time since mark(), if there was one, instead of since start().
    void show_since_mark(bool on) noexcept { since_mark_ = on; }

    /// The value of a metric or event between start(), or mark(), and read().
    /// of     for a metric of scope instance: the PMU's name in sysfs
    /// Errors ENOENT: not in this measurement; the error of opening or reading a counter; ENODATA:
    ///        its counters never ran; ERANGE: division by 0
    [[nodiscard]] result<measured> value(std::string_view name, const given_values& given,
                                         std::string_view of = {}) const;

    /// An event for user-space reads on the measured CPU.
    ///
    /// Errors  ENOENT: not in this measurement; ENOTSUP: only read() is available
    [[nodiscard]] result<user_counter> readable(std::string_view event) const;

    /// The measured metrics, in the table's order.
    [[nodiscard]] const std::vector<const metric*>& metrics() const noexcept { return metrics_; }
    [[nodiscard]] const table& source_table() const noexcept { return *on_.table; }
    /// The PMUs of a kind that this measurement uses.
    [[nodiscard]] std::vector<std::string> instances(std::string_view kind) const;
    /// The IIO stack above the device of of_device(), if sysfs describes it.
    [[nodiscard]] const result<stack>& iio_stack() const noexcept { return stack_; }
    [[nodiscard]] const pci_device& pci() const noexcept { return pci_; }
    /// The first error, if no metric could be measured at all.
    [[nodiscard]] const error* why() const noexcept;
    /// The first error, if no metric of this scope could be measured.
    [[nodiscard]] const error* why(scope of) const noexcept;

  private:
    /// Sum over all periods.
    struct total {
        double value = 0;  ///< scaled
        uint64_t enabled_ns = 0, running_ns = 0;
        uint64_t unscaled_ns = 0;  ///< enabled time since the counter ran last
    };
    struct group {
        std::string device;
        std::vector<const event*> events;
        std::unique_ptr<counter_group> counters;  ///< null: `wrong` has the error
        error wrong{};
        std::vector<reading> last{};
        std::vector<total> totals{}, marked{};
    };
    explicit measurement(const machine& on)
        : on_(on), stack_(tl::unexpected<error>(error{ENOENT, "", "not requested"})) {}

    [[nodiscard]] std::set<const event*> events_of(const metric& m) const;
    void want(std::initializer_list<scope> scopes);
    void open_all(target whose, unsigned package);
    void open(const std::string& device, const std::vector<const event*>& events, target whose,
              unsigned package, const pmu_kind& kind);
    void open_group(const pmu::device& of, std::vector<const event*> events, target whose);
    static bool read_group(group& g);
    [[nodiscard]] result<measured> count(const event& e, std::string_view of) const;

    machine on_;
    std::vector<const metric*> metrics_{};
    std::vector<group> groups_{};
    pci_device pci_{};
    result<stack> stack_;
    bool since_mark_ = false;
};

}  // namespace turnpike::pmu
