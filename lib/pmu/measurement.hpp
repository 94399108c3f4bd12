// SPDX-License-Identifier: BSD-3-Clause
// A table's metrics of a CPU, of a thread, or of a device and what stands behind it: opens the counters
// that they need, and says what they are, or why they are not.
//
//   measurement m = measurement::of_device({"/sys", *source, *table}, "0000:3b:00.0");
//   m.start();  ...  m.read();
//   auto latency = m.value("read_latency_ns", {{"seconds", 1.0}});
//   if (!latency) say(latency.error().message());
//
// Nothing is guessed: a count that is not there makes every metric over it an error that says why, and
// one that did not run all the time is scaled, with its share.
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
        1;  ///< of the time, that the least of its counters counted: below 1 it is scaled
};

using given_values = std::map<std::string, double, std::less<>>;

class measurement {
  public:
    /// The core metrics of a CPU or thread.
    [[nodiscard]] static measurement of_core(const machine& on, target whose);
    /// The metrics of the PCIe root in front of a device, and those of its socket.
    /// Errors  ENODEV, ENOENT, ENOTSUP: no such device, or nothing that counts there
    [[nodiscard]] static result<measurement> of_device(const machine& on, std::string_view address);
    /// The metrics of a socket.
    [[nodiscard]] static measurement of_socket(const machine& on, unsigned package);

    /// Count from now on.
    void start() { take(&group::first); }
    /// Until now.
    void read() { take(&group::last); }

    /// A metric or an event since start(), until read().
    /// of     for a metric of scope instance: the PMU's name in sysfs
    /// Errors ENOENT: this measurement has no such; the reason that a counter could not be opened or
    ///        read; ENODATA: its counters never ran; ERANGE: nothing happened that it is a share of
    [[nodiscard]] result<measured> value(std::string_view name, const given_values& given,
                                         std::string_view of = {}) const;

    /// An event for whoever runs on the CPU that is counted.
    /// Errors  ENOENT: this measurement has no such; ENOTSUP: it can be read by read() only
    [[nodiscard]] result<user_counter> readable(std::string_view event) const;

    /// The table's metrics that this measures, in their order.
    [[nodiscard]] const std::vector<const metric*>& metrics() const noexcept { return metrics_; }
    [[nodiscard]] const table& source_table() const noexcept { return *on_.table; }
    /// The PMUs of a kind of which something was asked.
    [[nodiscard]] std::vector<std::string> instances(std::string_view kind) const;
    /// What stands in front of the device, of of_device where sysfs says so.
    [[nodiscard]] const result<stack>& iio_stack() const noexcept { return stack_; }
    [[nodiscard]] const pci_device& pci() const noexcept { return pci_; }
    /// Nothing could be counted, and this is why: the first reason, which is that of most.
    [[nodiscard]] const error* why() const noexcept;
    /// Nothing of this scope could be counted, and this is why.
    [[nodiscard]] const error* why(scope of) const noexcept;

  private:
    struct group {
        std::string device;
        std::vector<const event*> events;
        std::unique_ptr<counter_group> counters;  ///< null: `wrong` says why
        error wrong{};
        std::vector<reading> first{}, last{};
    };
    explicit measurement(const machine& on)
        : on_(on), stack_(tl::unexpected<error>(error{ENOENT, "", "not asked for"})) {}

    [[nodiscard]] std::set<const event*> events_of(const metric& m) const;
    void want(std::initializer_list<scope> scopes);
    void open_all(target whose, unsigned package);
    void open(const std::string& device, const std::vector<const event*>& events, target whose,
              unsigned package, const pmu_kind& kind);
    void open_group(const pmu::device& of, std::vector<const event*> events, target whose);
    void take(std::vector<reading> group::*into);
    [[nodiscard]] result<measured> count(const event& e, std::string_view of) const;

    machine on_;
    std::vector<const metric*> metrics_{};
    std::vector<group> groups_{};
    pci_device pci_{};
    result<stack> stack_;
};

}  // namespace turnpike::pmu
