// SPDX-License-Identifier: BSD-3-Clause
// Numbers of the objects that the report has not, for the metrics and `show`: plain data that control fills
// (control/management/inventory.cpp). A row with counters has a `life`, as in the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/report.hpp"
#include "observe/traffic.hpp"

namespace turnpike::observe {

struct interface_report {
    std::string name{}, kind{}, port{}, bridge{}, vrf{}, peer{};
    uint16_t vlan = 0;  ///< 0: untagged
    uint16_t mtu = 0;
    bool up = false;
    uint64_t life = 0;
    std::optional<traffic> counted{};  ///< none: nothing counts the interface
};

struct vrf_report {
    std::string name{};
    uint64_t ipv4 = 0, ipv6 = 0;  ///< routes in the FIBs
};

/// Routes of a VRF by source: `operator`, or the rtnetlink protocol of learned ones.
struct source_report {
    std::string vrf{}, protocol{};
    uint64_t routes = 0;
};

struct bridge_report {
    std::string name{};
    uint64_t life = 0;
    uint64_t entries = 0, max_entries = 0;  ///< learned FDB entries
    uint64_t learned = 0, moved = 0, aged = 0, dampened = 0, refused = 0;
    uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, flooded = 0;
    struct vlan {
        uint16_t id = 0;  ///< 0: of a bridge without VLAN filtering
        uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, flooded = 0;
    };
    std::vector<vlan> vlans{};  ///< with counted packets, in order
};

/// Frames to a reserved group address that a member's interface received, of the last sender.
struct reserved_report {
    std::string interface {
    }, group{}, from{};
    uint64_t life = 0;
    uint64_t frames = 0;
};

struct tunnel_report {
    std::string name{}, remote{};
    uint64_t life = 0;
    uint32_t vni = 0;
    traffic inner{};  ///< of inner frames
};

struct mirror_report {
    std::string name{};
    uint64_t life = 0;
    uint64_t packets = 0, bytes = 0, lost = 0, unreachable = 0;  ///< copies
};

/// Times of sampled packets from port to port.
struct latency_report {
    std::string in{}, out{};
    uint64_t life = 0;             ///< of all pairs
    std::vector<uint64_t> bins{};  ///< [counters::latency_histogram::bins]
    uint64_t samples = 0, sum_ns = 0, max_ns = 0;

    /// The nearest rank: the end of the bin that has the sample of rank ceil(q * samples), but no more than the maximum.
    [[nodiscard]] uint64_t quantile_ns(double q) const noexcept;
};

struct sflow_report {
    uint64_t life = 0;
    uint64_t datagrams = 0, unsent = 0, samples = 0, drops = 0, lost_samples = 0, lost_drops = 0;

    [[nodiscard]] sflow_report plus(const sflow_report& earlier) const noexcept {
        return {.life = life,
                .datagrams = datagrams + earlier.datagrams,
                .unsent = unsent + earlier.unsent,
                .samples = samples + earlier.samples,
                .drops = drops + earlier.drops,
                .lost_samples = lost_samples + earlier.lost_samples,
                .lost_drops = lost_drops + earlier.lost_drops};
    }
};

/// An interface that the kernel has.
struct host_interface_report {
    std::string name{};
    uint32_t index = 0;  ///< the kernel's
    bool admin_up = true, carrier = false;
    uint64_t life = 0;
    uint64_t to_kernel = 0, from_kernel = 0, lost = 0;
};

/// Entries of a table of the control side, and its limit.
struct table_report {
    std::string name{};
    uint64_t entries = 0, max_entries = 0;
};

struct fib_report {
    std::string vrf{}, family{};
    uint64_t bytes = 0;
};

struct netlink_report {
    uint64_t messages = 0, refused = 0, overruns = 0;
    bool synchronizing = false;
    uint64_t whole = 0;  ///< complete dumps
    uint64_t life = 0;
};

/// Routes and neighbours of the kernel that found no room.
struct left_out_report {
    std::string reason{};
    uint64_t objects = 0;
};

/// Prefixes whose route in the kernel turnpike cannot forward by.
struct not_followed_report {
    std::string reason{};
    uint64_t routes = 0;
};

struct inventory {
    std::vector<interface_report> interfaces{};
    std::vector<vrf_report> vrfs{};
    std::vector<source_report> sources{};
    std::vector<fib_report> fibs{};
    std::vector<bridge_report> bridges{};
    std::vector<reserved_report> reserved{};
    uint64_t fdb_messages_lost = 0;  ///< sources that workers could not send to control
    std::vector<tunnel_report> tunnels{};
    std::vector<mirror_report> mirrors{};
    std::vector<latency_report> latencies{};
    std::vector<host_interface_report> host_interfaces{};
    std::vector<table_report> tables{};
    std::vector<sflow_report> sflow{};      ///< one, or none
    std::vector<netlink_report> netlink{};  ///< one, or none
    std::vector<left_out_report> left_out{};
    std::vector<not_followed_report> not_followed{};
    double gather_s = 0;  ///< time that control took to collect these numbers
};

/// Everything that a scrape shows.
/// Changes of the configuration that are not finished.
struct unfinished_changes {
    bool unsaved = false;      ///< the running configuration differs from the file
    bool unconfirmed = false;  ///< a change is undone unless it is confirmed in time
    bool operator==(const unfinished_changes&) const = default;
};

struct scraped {
    report numbers{};
    inventory objects{};
    unfinished_changes unfinished{};
    /// For the HTML page only, as JSON texts: the rates, and the changes (observe/page.hpp).
    std::string rates{}, changes{};

    [[nodiscard]] bool is_for_page() const noexcept { return !rates.empty(); }
};

}  // namespace turnpike::observe
