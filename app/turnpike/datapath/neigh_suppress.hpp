// SPDX-License-Identifier: BSD-3-Clause
// What bridges hear of ARP and neighbour discovery where a tunnel is spared them (RFC 9161), for stage bridge.
#pragma once

#include "datapath/context.hpp"

namespace turnpike::datapath {

/// Control gets copies: of what says who has an address, where that is news, and of what asks for one that is known to
/// be behind a tunnel that is spared, which control answers.
/// here     frames of one burst, with their domains
/// flooded  of those, what is to be flooded
/// Answers  those of `flooded` that members with neigh_suppress need not get
packet_mask suppress(context& c, const burst& b, packet_mask here, packet_mask flooded) noexcept;

}  // namespace turnpike::datapath
