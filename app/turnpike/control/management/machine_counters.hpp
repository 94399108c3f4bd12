// SPDX-License-Identifier: BSD-3-Clause
// Hardware counters for the report (lib/pmu): of each worker's core, and of the PCIe root port above each
// port.
//
// Counters are opened when a worker or port is first reported, and count from then on; control
// reads them. A worker reads one itself, its CPU's instruction counter, at the ends of sampled
// stages.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/report.hpp"
#include "pmu/measurement.hpp"

namespace turnpike::control {

struct counters_choice {
    bool off = false;
    std::string
        /// replay of a recording (lib/pmu/replay_source.hpp) instead of the kernel's counters
        recorded{};
    std::string sysfs = "/sys";
};

/// Threads  control
class machine_counters {
  public:
    explicit machine_counters(counters_choice chosen) : chosen_(std::move(chosen)) {}

    /// Select this CPU's event table and open the counters.
    void begin() noexcept;
    /// Stop reading: the last values stay.
    void end() noexcept { ended_ = true; }

    /// Fills the report's workers and their counters; the report's packets count since the start.
    /// since_clear  values since clear(), where there was one
    void fill_workers(observe::report& r, bool since_clear = false);
    /// From the last reading on are the values since the clear: of all workers and ports, or of one port.
    void clear();
    void clear_port(uint64_t life);
    /// The instruction counter for an lcore; null: none. Valid as long as this object.
    [[nodiscard]] const counters::own_counter* instructions_of(unsigned lcore) const noexcept;
    /// Counts of a port since it was first reported; null: `why` has the reason.
    struct port_counts {
        const pmu::measurement* what = nullptr;
        pmu::given_values given{};
        std::optional<observe::pcie_payload> payload{};  ///< none: not of the port's link alone
        uint64_t rx_packets = 0, tx_packets = 0;         ///< packets since then
        std::string why{};
    };
    [[nodiscard]] port_counts of_port(const observe::port_report& port,
                                      const std::string& pci_address, double duration_s,
                                      bool since_clear = false);
    /// Close the counters of ports that are not among these.
    void keep_ports(const std::vector<observe::port_report>& ports);

  private:
    struct core {
        std::unique_ptr<pmu::measurement> what;
        std::unique_ptr<const counters::own_counter> instructions{};
        std::string why{};
        uint64_t packets_before = 0, packets = 0;  ///< at the first and the last reading
        uint64_t packets_cleared = 0;              ///< counted until the clear
        bool paused = false;                       ///< the worker is removed
        [[nodiscard]] uint64_t counted_packets() const noexcept {
            return packets - std::min(packets, packets_before);
        }
    };
    struct root {
        std::unique_ptr<pmu::measurement> what;
        std::string why{};
        /// Packets and time at a reading.
        struct point {
            uint64_t rx = 0, tx = 0;
            double s = 0;
        };
        point begun{}, last{}, cleared{};  ///< cleared: at the clear, or as begun
        void clear();
    };
    [[nodiscard]] core open_core(const observe::worker_report& w) const;
    static void read_core(core& c, const observe::worker_report& w);
    [[nodiscard]] static std::optional<observe::pcie_payload> payload_of(
        const pmu::measurement& m, const pmu::given_values& given);
    [[nodiscard]] root open_root(const observe::port_report& p, const std::string& address,
                                 double now_s) const;
    [[nodiscard]] pmu::machine on() const { return {chosen_.sysfs, source_.get(), &table_}; }

    counters_choice chosen_;
    std::string why_ = "nothing has been forwarded yet";  // empty: counters are open
    pmu::table table_{};
    std::unique_ptr<pmu::counter_source> source_{};
    std::map<unsigned, core> cores_{};  // by lcore
    std::map<uint64_t, root> roots_{};  // by a port's life
    bool ended_ = false;
};

}  // namespace turnpike::control
