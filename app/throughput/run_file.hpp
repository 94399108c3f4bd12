// SPDX-License-Identifier: BSD-3-Clause
// A run: ports, traffic, rates and procedures, from a YAML file (doc/throughput.md). Every error has file:line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/ip.hpp"
#include "search/goal.hpp"
#include "traffic.hpp"
#include "vxlan.hpp"

namespace turnpike::throughput {

struct run_port {
    std::string name{}, device{}, where{};
    std::optional<mac_address>
        gateway_mac{};  ///< destination of L3 flows; else resolved, else the other port's MAC
    std::optional<ip_address> address{};  ///< the station's own
    std::optional<ip_address> gateway{};  ///< the device's address, resolved by ARP or ND
    std::optional<vxlan_tunnel> vxlan{};  ///< frames of this port are encapsulated, both ways

    [[nodiscard]] uint32_t encapsulation_bytes() const noexcept {
        return vxlan ? vxlan_bytes(*vxlan) : 0;
    }
};

enum class search_method : uint8_t { none, binary, mlr };

struct throughput_plan {
    search_method method = search_method::none;
    double loss_ratio = 0, trial_s = 60;  ///< binary
    unsigned trials = 1;
    double resolution_fps = 0;          ///< 0: the share below
    double resolution_ratio = 0.005;    ///< of the maximum rate
    std::vector<search::goal> goals{};  ///< mlr
};

struct latency_plan {
    double trial_s = 0;  ///< 0: no latency
    std::vector<unsigned> percent{10, 50, 90, 100};
    std::vector<run_port> direct{};  ///< two ports without a device between them, or none
};

struct back_to_back_plan {
    unsigned repeats = 0;  ///< 0: no back-to-back
    uint32_t max_frames = 0;
};

struct recovery_plan {
    unsigned repeats = 0;  ///< 0: no system recovery
    double rate_fps = 0;   ///< 0: the throughput
    double overload_s = 0, then_s = 0;
};

struct reset_plan {
    unsigned repeats = 0;  ///< 0: no reset
    double rate_fps = 0;   ///< 0: the throughput
    double trial_s = 0, after_s = 0;
    std::string command{};  ///< empty: the operator resets the device
};

struct run {
    std::string name{};
    std::vector<run_port> ports{};  ///< pairs around the device: each sends to its peer (peer_of())
    throughput::traffic traffic{};
    std::array<std::string, 2> pcap_files{};  ///< as the run file names them, by the sending port
    std::string destinations_file{};
    uint64_t seed = 1;  ///< of the destinations
    bool both_ways = false;
    std::vector<frame_size> sizes{};
    double max_fps = 0;        ///< of each stream; 0: the line rate
    double min_fps = 0;        ///< 0: a thousandth of the maximum
    double tolerance = 0.001;  ///< of the rate: a trial that missed it does not count
    double max_lag_s = 0.001;  ///< a trial with a frame later than this does not count
    bool realtime = false;     ///< SCHED_FIFO while a trial sends
    unsigned attempts = 5;     ///< of a trial that does not count
    double settle_s = 2;       ///< wait for late frames (RFC 2544 section 23)
    /// Learning frames are repeated before a trial if the last are older. With a trial of a minute it is less than the 300 s
    /// after which bridges forget addresses (IEEE 802.1Q section 8.8.3), and close to the time that hosts take a neighbour
    /// for reachable (RFC 4861: 30 s).
    double relearn_s = 30;
    throughput_plan throughput{};
    latency_plan latency{};
    double frame_loss_trial_s = 0;  ///< 0: no frame loss rate
    back_to_back_plan back_to_back{};
    recovery_plan system_recovery{};
    reset_plan reset{};
};

/// Bytes of the longest outer headers.
[[nodiscard]] uint32_t encapsulation_bytes(const run& r) noexcept;

/// Errors  EINVAL with file:line; of reading the file
[[nodiscard]] result<run> read_run(const std::string& path);
/// name  the file's name in messages; files that it names are relative to its folder
[[nodiscard]] result<run> parse_run(std::string_view text, const std::string& name);

}  // namespace turnpike::throughput
