// SPDX-License-Identifier: BSD-3-Clause
// What a NIC and its driver do over PCIe for a packet, as policies: nic_profile.
//
// Source: section 3 of "Understanding PCIe performance for end host networking" for the paper's
// three; for the poll-mode drivers, the thresholds that DPDK 22.11's drivers program. How far a NIC
// prefetches and when it coalesces write-backs cannot be seen from a driver: those are assumptions,
// and each profile says so in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::pcie {

/// How many descriptors one fetch brings.
enum class fetch_policy {
    full_batch,  ///< always fetch.batch: descriptors wait until so many are there (the paper)
    as_posted,   ///< what the driver made known at once, up to fetch.batch
};

/// The device reads descriptors.
struct fetch {
    uint32_t bytes = 16;       ///< one descriptor; 0: the device reads none
    uint32_t batch = 1;        ///< descriptors a fetch reads at most
    uint32_t index_bytes = 0;  ///< per descriptor, in an array of its own (virtio's avail ring)
    fetch_policy policy = fetch_policy::as_posted;
};

enum class write_back_policy {
    none,        ///< the driver reads a register instead
    per_packet,  ///< each entry in a write of its own
    every,       ///< one entry per `packets` packets (RS bit, completion request)
    batch,       ///< `packets` entries in one write
    by_line,  ///< coalesced within a 64-byte line: `full_line_share` of the entries leave in whole
              ///< lines, the others `partial_entries` to a write
};

/// The device tells the driver, in host memory, what it did.
struct write_back {
    write_back_policy policy = write_back_policy::per_packet;
    uint32_t bytes = 16;         ///< one entry: a descriptor or a completion
    uint32_t index_bytes = 0;    ///< beside each write, one more elsewhere (virtio's used.idx)
    uint32_t packets = 1;        ///< of `every` and `batch`
    double full_line_share = 0;  ///< of by_line: 0 to 1
    double partial_entries = 1;  ///< of by_line: a mean; at least 1, fewer than fill a line
};

enum class doorbell_policy {
    none,       ///< no register write (a record in host memory, or suppressed)
    every,      ///< one per `packets` packets, whatever the bursts
    per_burst,  ///< one per burst, or per `packets` of it where the burst is longer (0: never two)
    burst_end,  ///< at the end of a burst, once at least `packets` packets wait for it
};

/// The driver writes a tail register.
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
    uint32_t refill_packets = 1;             ///< receive: buffers that the driver replaces at once
    uint32_t packets_per_interrupt = 0;      ///< 0: none
    uint32_t packets_per_register_read = 0;  ///< 0: none; registers are 4 bytes wide
    uint32_t prefix_bytes = 0;  ///< in front of each frame, in the same buffer (virtio-net header)
    bool carries_fcs = false;   ///< the frame check sequence crosses PCIe too
};

struct nic_profile {
    std::string name;
    std::string summary;  ///< one line
    std::vector<std::string>
        drivers;               ///< rte_eth_dev_info's driver_name, where this is the default
    double ethernet_gbps = 0;  ///< the port's usual speed; 0: none
    direction_profile rx;
    direction_profile tx;
    std::vector<std::string> known;  ///< what the driver's source or a paper settles, in words
    std::vector<std::string> assumptions;  ///< what nobody can see, in words
};

/// The profiles that come with turnpike, in the order of the documentation. Threads: any.
[[nodiscard]] std::span<const nic_profile> builtin_profiles();

/// By name.
/// among   where to look; a user's own profiles may stand before the built-in ones
/// Errors  EINVAL: none has that name; the text lists those there are
[[nodiscard]] result<nic_profile> find_profile(std::string_view name,
                                               std::span<const nic_profile> among);
[[nodiscard]] result<nic_profile> find_profile(std::string_view name);

/// By the driver name that DPDK gives a port ("net_ixgbe").
/// Errors  EINVAL: no profile claims that driver; the text lists the profiles
[[nodiscard]] result<nic_profile> profile_for_driver(std::string_view driver,
                                                     std::span<const nic_profile> among);
[[nodiscard]] result<nic_profile> profile_for_driver(std::string_view driver);

/// Errors  EINVAL, `object` names the field ("tx.fetch.batch")
[[nodiscard]] result<void> validate(const nic_profile& profile);

}  // namespace turnpike::pcie
