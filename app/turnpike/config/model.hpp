// SPDX-License-Identifier: BSD-3-Clause
// What the operator wants: the YAML file as plain data, validated whole before anything starts.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "config/acl.hpp"
#include "config/address.hpp"

namespace turnpike::config {

struct eal {
    std::vector<std::string> args{};  ///< as on a command line
    bool hugepages_optional = false;  ///< go on without hugepages where they are missing
};

struct mempool {
    uint32_t buffers = 16384;     ///< mbufs
    uint32_t buffer_size = 2176;  ///< bytes of an mbuf's data buffer, headroom (128) included
    std::string ops{};  ///< the mempool handler; empty: EAL's --mbuf-pool-ops-name, or ours
};

struct tx {
    uint32_t drain_us = 50;  ///< a packet waits at most this long for others to be sent with it
};

/// What the PCIe bill of a port is to be made for, where turnpike cannot see it or should not.
struct pcie {
    std::string profile{};       ///< empty: by the driver's name
    std::string link{};          ///< "gen3x8"; empty: detected
    uint16_t mps = 0, mrrs = 0;  ///< bytes; 0: detected, or the link's default
};

struct port {
    std::string name{};
    std::string device{};  ///< an EAL vdev string or a PCI address
    uint16_t mtu = 1500;   ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t descriptors = 1024;  ///< per queue, both ways
    config::pcie bill{};
    std::vector<ip_prefix> addresses{};           ///< ours on this port; any makes it a routed port
    std::optional<uint16_t> acl_in{}, acl_out{};  ///< indices into acls
    std::string where{};                          ///< "file:line", for what goes wrong at start

    [[nodiscard]] bool routed() const noexcept { return !addresses.empty(); }
};

enum class route_type : uint8_t { unicast, blackhole, unreachable };

struct route {
    ip_prefix to{};
    route_type type = route_type::unicast;
    ip_address via{};   ///< unicast only: a neighbour on `port`'s network
    uint16_t port = 0;  ///< unicast only: index into ports
};

struct icmp {
    uint32_t rate = 1000;  ///< messages per second that we originate: errors and echo replies
};

/// A neighbour that is never asked: it does not answer, or must not be impersonated.
struct static_neighbour {
    ip_address address{};
    uint16_t port = 0;  ///< index into ports
    std::array<uint8_t, 6> mac{};
};

/// Neighbour discovery, as RFC 4861 section 10 names and counts it, for ARP alike.
struct neighbours {
    uint32_t limit = 16384;         ///< neighbours known or asked for, both families together
    uint32_t held = 64;             ///< packets that wait for one neighbour
    uint32_t reachable_ms = 30000;  ///< REACHABLE_TIME
    uint32_t retransmit_ms = 1000;  ///< RETRANS_TIMER
    uint32_t attempts = 3;          ///< MAX_UNICAST_SOLICIT, MAX_MULTICAST_SOLICIT
    uint32_t failed_ms = 3000;      ///< how long a neighbour that did not answer is not asked again
    uint32_t forget_ms = 600000;    ///< how long a stale neighbour that nobody uses is kept
};

struct model {
    std::string file{};
    eal eal_options{};
    std::vector<unsigned> workers{};  ///< lcores; empty: all but the main one
    mempool pool{};
    tx sending{};
    std::string pcie_profiles{};  ///< file of the operator's own; empty: none
    std::vector<acl_list> acls{};
    std::vector<port> ports{};
    std::vector<std::pair<uint16_t, uint16_t>> patches{};  ///< indices into ports
    std::vector<route> routes{};
    icmp messages{};
    neighbours neighbour_limits{};
    std::vector<static_neighbour> static_neighbours{};
};

/// Read and validate a file. Errors: ENOENT..., or EINVAL with "file:line" and a plain sentence.
[[nodiscard]] result<model> load(const std::filesystem::path& path);

/// The same for a text; `name` is what messages call it.
[[nodiscard]] result<model> load_text(std::string_view text, const std::string& name);

/// Split "-l 0-1 --no-pci" at blanks; quotes ('..' or "..") hold blanks together.
[[nodiscard]] result<std::vector<std::string>> split_arguments(std::string_view line);

}  // namespace turnpike::config
