// SPDX-License-Identifier: BSD-3-Clause
// Mirrors: copies of the frames that ports receive or send, for another port: local (SPAN) or, with a VLAN tag in front,
// remote (RSPAN); or for an address, in GRE (ERSPAN) or VXLAN. Stages mirror_in and mirror_out make them, and hand them to stage tx,
// or to stage lookup as packets of the router. A copy is never mirrored: burst::copies.
//
//   rx -> [mirror_in] -> iface_input ... vxlan_output -> [mirror_out] -> tx
//
// These tables are immutable, like the snapshot that points to them, except for the workers' own state.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cache_line.hpp"
#include "counters/counter.hpp"
#include "datapath/acl_list.hpp"
#include "net/ip.hpp"
#include "packet/erspan.hpp"
#include "packet/flow_hash.hpp"
#include "packet/parse.hpp"

struct rte_mbuf;

namespace turnpike::datapath {

/// Threads  written by one worker; counters are read by any.
struct alignas(cache_line_bytes) mirror_worker_state {
    uint32_t skipped = 0;  ///< frames since the last copy
    counters::counter packets,
        bytes;                      ///< copies, as mirrored: without an RSPAN tag or outer headers
    counters::counter lost;         ///< copies without a buffer
    counters::counter unreachable;  ///< copies without a path to the remote address
};

/// Lasts as long as a mirror of the name exists.
struct mirror_state {
    std::unique_ptr<mirror_worker_state[]> workers{};  ///< [workers]
    /// ERSPAN's sequence number, of all workers.
    std::atomic<uint32_t> sequence{0};
};

/// The outer headers of a mirror to an address.
struct mirror_remote {
    static constexpr uint32_t max_ip_bytes = sizeof(packet::ipv6_header);

    uint16_t interface = 0;  ///< has the local address; selects the VRF
    bool v6 = false;
    std::optional<uint32_t> vni{};  ///< of VXLAN (RFC 7348); none: ERSPAN
    uint16_t udp_port = 0;          ///< of VXLAN
    uint8_t type = 2;               ///< of ERSPAN, as the following
    uint16_t session = 0;
    /// For the timestamps of type III: TSC at `begun`, in units of 100 ns since 1970.
    uint64_t tsc = 0, begun = 0;
    double units_per_cycle = 0;
    std::array<uint8_t, max_ip_bytes> ip{};  ///< header without length, identification and checksum
    ip_address remote{};

    [[nodiscard]] uint32_t timestamp(uint64_t now) const noexcept {
        return static_cast<uint32_t>(
            static_cast<int64_t>(begun) +
            static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(now - tsc)) *
                                 units_per_cycle));
    }
    /// Prepend all headers, the Ethernet header without addresses, and describe the packet.
    /// id       IPv4 identification
    /// how      hash of the frame's flow, which chooses VXLAN's source port
    /// Answers  false: no headroom, or longer than an IP packet
    bool push(rte_mbuf* m, uint32_t sequence, uint16_t id, const packet::erspan_facts& of,
              const packet::flow_hashing& how, packet::parsed& out) const noexcept;

  private:
    [[nodiscard]] uint32_t upper_bytes() const noexcept;
    void write_ip(uint8_t* l3, uint32_t l3_bytes, uint16_t id) const noexcept;
    void write_vxlan(rte_mbuf* m, uint32_t offset, uint16_t source_port) const noexcept;
};

struct mirror {
    uint16_t to = 0;                          ///< index of the destination port
    uint32_t tag = 0;                         ///< RSPAN: TPID and TCI; 0: none
    uint32_t one_in = 1;                      ///< sampling: copy one frame of so many
    uint32_t max_bytes = UINT32_MAX;          ///< copies are cut to this length
    std::optional<uint16_t> vlan{};           ///< only frames with this outer VLAN ID
    uint16_t interface = 0;                   ///< only frames of this interface; 0: of the port
    std::shared_ptr<const bound_acl> list{};  ///< only frames that it permits; null: all
    std::shared_ptr<const mirror_remote> remote{};  ///< null: to a port
    mirror_state* state = nullptr;
};

/// The mirrors of each port, by direction.
struct mirror_tables {
    static constexpr size_t ports = 32;
    std::array<std::vector<mirror>, ports> in{}, out{};
};

}  // namespace turnpike::datapath
