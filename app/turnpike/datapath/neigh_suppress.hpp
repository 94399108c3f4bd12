// SPDX-License-Identifier: BSD-3-Clause
// ARP and ND suppression in bridges (RFC 9161), for stage bridge.
#pragma once

#include "datapath/context.hpp"

namespace turnpike::datapath {

/// Send copies of ARP and ND to control: announcements with new bindings, and requests for a bound
/// address behind a member with neigh_suppress, which control answers.
/// here     frames of one burst, with their domains
/// flooded  subset of `here` that is to be flooded
/// Answers  subset of `flooded` that need not go to members with neigh_suppress
packet_mask suppress(context& c, const burst& b, packet_mask here, packet_mask flooded) noexcept;

}  // namespace turnpike::datapath
