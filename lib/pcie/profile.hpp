// SPDX-License-Identifier: BSD-3-Clause
// A NIC's and its driver's PCIe accesses per packet, as policies: nic_profile.
//
// Source: section 3 of "Understanding PCIe performance for end host networking" for the paper's
// three; for the poll-mode drivers, the thresholds that DPDK 22.11's drivers program. A driver
// cannot observe a NIC's descriptor prefetch and write-back coalescing: those are assumptions, and
// each profile lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::pcie {

/// Number of descriptors per fetch.
enum class fetch_policy {
    full_batch,  ///< always fetch.batch: the device waits until that many are posted (the paper)
    as_posted,   ///< descriptors posted together, up to fetch.batch
};

/// Descriptor reads by the device.
struct fetch {
    uint32_t bytes = 16;       ///< per descriptor; 0: the device reads none
    uint32_t batch = 1;        ///< maximum descriptors per fetch
    uint32_t index_bytes = 0;  ///< per descriptor, in a separate array (virtio's avail ring)
    fetch_policy policy = fetch_policy::as_posted;
};

enum class write_back_policy {
    none,        ///< the driver reads a register instead
    per_packet,  ///< a write per entry
    every,       ///< one entry per `packets` packets (RS bit, completion request)
    batch,       ///< `packets` entries per write
    by_line,  ///< coalesced within a 64-byte line: `full_line_share` of the entries are written as whole
              ///< lines, the others with `partial_entries` per write
};

/// Completion entries that the device writes to host memory.
struct write_back {
    write_back_policy policy = write_back_policy::per_packet;
    uint32_t bytes = 16;         ///< per entry: a descriptor or a completion
    uint32_t index_bytes = 0;    ///< additional write elsewhere per write (virtio's used.idx)
    uint32_t packets = 1;        ///< for `every` and `batch`
    double full_line_share = 0;  ///< for by_line: 0 to 1
    double partial_entries = 1;  ///< for by_line: a mean; at least 1, fewer than fill a line
};

enum class doorbell_policy {
    none,       ///< no register write (a record in host memory, or suppressed)
    every,      ///< one per `packets` packets, independent of bursts
    per_burst,  ///< one per burst, or per `packets` packets of a longer burst (0: never split)
    burst_end,  ///< at the end of a burst, once at least `packets` packets are pending
};

/// Tail register writes by the driver.
struct doorbell {
    doorbell_policy policy = doorbell_policy::every;
    uint32_t packets = 1;
    uint32_t bytes = 4;  ///< width of the write
};

/// Receive or transmit.
struct direction_profile {
    pcie::fetch fetch{};
    pcie::write_back write_back{};
    pcie::doorbell doorbell{};
    uint32_t refill_packets = 1;             ///< receive: buffers that the driver refills at once
    uint32_t packets_per_interrupt = 0;      ///< 0: none
    uint32_t packets_per_register_read = 0;  ///< 0: none; registers are 4 bytes wide
    uint32_t prefix_bytes = 0;  ///< before each frame, in the same buffer (virtio-net header)
    bool carries_fcs = false;   ///< the frame check sequence crosses PCIe too
};

struct nic_profile {
    std::string name;
    std::string summary;  ///< one line
    std::vector<std::string>
        drivers;  ///< values of rte_eth_dev_info's driver_name that select this profile
    double ethernet_gbps = 0;  ///< the port's usual speed; 0: none
    direction_profile rx;
    direction_profile tx;
    std::vector<std::string> known;        ///< facts from the driver's source or a paper
    std::vector<std::string> assumptions;  ///< assumptions that cannot be verified
};

/// The built-in profiles, in the order of the documentation. Threads: any.
[[nodiscard]] std::span<const nic_profile> builtin_profiles();

/// Find a profile by name.
///
/// among   profiles to search; a user's own profiles may precede the built-in ones
/// Errors  EINVAL: unknown name; the text lists the known ones
[[nodiscard]] result<nic_profile> find_profile(std::string_view name,
                                               std::span<const nic_profile> among);
[[nodiscard]] result<nic_profile> find_profile(std::string_view name);

/// Find a profile by DPDK's driver name ("net_ixgbe").
///
/// Errors  EINVAL: no profile lists that driver; the text lists the profiles
[[nodiscard]] result<nic_profile> profile_for_driver(std::string_view driver,
                                                     std::span<const nic_profile> among);
[[nodiscard]] result<nic_profile> profile_for_driver(std::string_view driver);

/// Errors  EINVAL, `object` names the field ("tx.fetch.batch")
[[nodiscard]] result<void> validate(const nic_profile& profile);

}  // namespace turnpike::pcie
