// SPDX-License-Identifier: BSD-3-Clause
// Load of a port's PCIe link: bytes of TLPs in each direction, of the traffic of an interval.
//
// up is from device to host, down from host to device (lib/pcie/link.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "observe/port_totals.hpp"
#include "pcie/cost.hpp"

namespace turnpike::observe {

/// Bytes on the link, headers included.
struct tlp_bytes {
    double up = 0, down = 0;
};

/// Payload on the link below a PCIe root, as its counters have it (lib/pmu).
struct pcie_payload {
    double seconds = 0;                              ///< that the counters cover
    double read_bytes = 0, written_bytes = 0;        ///< of host memory, by devices
    double register_reads = 0, register_writes = 0;  ///< by cores

    /// The increase since an earlier reading.
    [[nodiscard]] pcie_payload since(const pcie_payload& then) const noexcept;
};

/// The model's inputs and the counters of a port's link.
struct pcie_facts {
    std::optional<pcie::link> link{};            ///< as negotiated, or configured; none: unknown
    std::optional<pcie::nic_profile> profile{};  ///< of the driver, for the model
    std::optional<pcie_payload> payload{};       ///< none: not measured, or with other links
};

/// The traffic priced by the model. A direction without packets has the load of the other.
///
/// Errors  ENODATA: no packets; those of pcie::cost()
[[nodiscard]] result<pcie::bill> bill_of(const port_totals& traffic,
                                         const pcie::nic_profile& profile, const pcie::link& link);

/// TLPs by the model.
[[nodiscard]] tlp_bytes modelled_tlps(const port_totals& traffic, const pcie::bill& by) noexcept;
/// TLPs by the driver's counters (xstats pcie_bytes_*), none: it has no such counters.
/// then  earlier counters; empty: none
[[nodiscard]] std::optional<tlp_bytes> counted_tlps(const std::map<std::string, uint64_t>& now,
                                                    const std::map<std::string, uint64_t>& then);
/// TLPs that carry the measured payload: of the mean sizes of the model's TLPs for this traffic, or, without a bill,
/// of the largest ones (MPS, MRRS).
[[nodiscard]] tlp_bytes measured_tlps(const pcie_payload& moved, const pcie::link& link,
                                      const port_totals& traffic, const pcie::bill* by) noexcept;

}  // namespace turnpike::observe
