// SPDX-License-Identifier: BSD-3-Clause
// Parses netlink datagrams to messages, without a socket. libmnl iterates messages and attributes.
#pragma once

#include <functional>
#include <span>

#include "base/result.hpp"
#include "netlink/message.hpp"

namespace turnpike::netlink {

/// Parse all messages of a datagram. Skips message types that message.hpp does not define; reports
/// malformed messages and continues after them.
/// bytes     aligned to four
/// Returns   number of malformed messages; a wrong message length makes the rest of the datagram
///           one
/// refuse    called for each: EBADMSG, the message type as the object, and a description
/// Threads   any. May throw exceptions of `take`, and bad_alloc
size_t parse(
    std::span<const uint8_t> bytes, const std::function<void(message&&)>& take,
    const std::function<void(const error&)>& refuse = [](const error&) {});

}  // namespace turnpike::netlink
