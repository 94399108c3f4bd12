// SPDX-License-Identifier: BSD-3-Clause
// Mirrors: copies of the frames that ports receive or send, for another port: local (SPAN) or, with a VLAN tag in front,
// remote (RSPAN). Stages mirror_in and mirror_out make them, and hand them to stage tx: a copy is never mirrored.
//
//   rx -> [mirror_in] -> iface_input ... vxlan_output -> [mirror_out] -> tx
//
// These tables are immutable, like the snapshot that points to them, except for the workers' own state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "counters/counter.hpp"

namespace turnpike::datapath {

/// Threads  written by one worker; counters are read by any.
struct alignas(64) mirror_worker_state {
    uint32_t skipped = 0;              ///< frames since the last copy
    counters::counter packets, bytes;  ///< copies, as mirrored: without an RSPAN tag
    counters::counter lost;            ///< copies without a buffer
};

struct mirror {
    uint16_t to = 0;                       ///< index of the destination port
    uint32_t tag = 0;                      ///< RSPAN: TPID and TCI; 0: none
    uint32_t one_in = 1;                   ///< sampling: copy one frame of so many
    uint32_t max_bytes = UINT32_MAX;       ///< copies are cut to this length
    std::optional<uint16_t> vlan{};        ///< only frames with this outer VLAN ID
    mirror_worker_state* state = nullptr;  ///< [workers]
};

/// The mirrors of each port, by direction.
struct mirror_tables {
    static constexpr size_t ports = 32;
    std::array<std::vector<mirror>, ports> in{}, out{};
};

}  // namespace turnpike::datapath
