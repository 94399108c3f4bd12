// SPDX-License-Identifier: BSD-3-Clause
// The machine's own counters beside the bill (lib/pmu): of each worker's core, and of the PCIe root in
// front of each port.
//
// Counters are opened when a worker or a port is first looked at, and count from then on; control reads
// them. A worker reads one itself, the instructions of its CPU, at the ends of stages that are sampled.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "observe/report.hpp"
#include "pmu/measurement.hpp"

namespace turnpike::control {

struct counters_choice {
    bool off = false;
    std::string
        recorded{};  ///< counts out of this file (lib/pmu/replay_source.hpp), not the kernel's
    std::string sysfs = "/sys";
};

/// Threads  control
class measuring {
  public:
    explicit measuring(counters_choice chosen) : chosen_(std::move(chosen)) {}

    /// Count from now on: the table of this CPU, and who counts.
    void begin() noexcept;
    /// Nothing more is read: what was read last stays.
    void end() noexcept { ended_ = true; }

    /// r's workers and its counters; packets as they are since the start.
    void fill_workers(observe::report& r);
    /// What an lcore reads its own instructions by; null: nothing. It stays as long as this is here.
    [[nodiscard]] const cost::own_counter* instructions_of(unsigned lcore) const noexcept;
    /// What was counted for a port, since it was first asked about; null: `why` says why not.
    struct port_counts {
        const pmu::measurement* what = nullptr;
        pmu::given_values given{};
        uint64_t rx_packets = 0, tx_packets = 0;  ///< since then
        std::string why{};
    };
    [[nodiscard]] port_counts of_port(const observe::port_report& port,
                                      const std::string& pci_address, double duration_s);

  private:
    struct core {
        std::unique_ptr<pmu::measurement> what;
        std::unique_ptr<const cost::own_counter> instructions{};
        std::string why{};
        uint64_t packets_before = 0;
    };
    struct root {
        std::unique_ptr<pmu::measurement> what;
        std::string why{};
        uint64_t rx_before = 0, tx_before = 0;
        double begun_s = 0;
    };
    [[nodiscard]] core open_core(const observe::worker_report& w) const;
    [[nodiscard]] root open_root(const observe::port_report& p, const std::string& address,
                                 double now_s) const;
    [[nodiscard]] pmu::machine on() const { return {chosen_.sysfs, source_.get(), &table_}; }

    counters_choice chosen_;
    std::string why_ = "nothing has been forwarded yet";  // empty: counted
    pmu::table table_{};
    std::unique_ptr<pmu::counter_source> source_{};
    std::map<unsigned, core> cores_{};  // by lcore
    std::map<uint64_t, root> roots_{};  // by a port's life
    bool ended_ = false;
};

}  // namespace turnpike::control
