// SPDX-License-Identifier: BSD-3-Clause
// What the kernel sent, read: bytes to messages, without a socket. libmnl finds messages and attributes.
#pragma once

#include <functional>
#include <span>

#include "base/result.hpp"
#include "netlink/message.hpp"

namespace turnpike::netlink {

/// All messages of a datagram. What is none of message.hpp's kinds is passed over; what is malformed is
/// refused by name, and those behind it are read.
/// bytes     aligned to four
/// Answers   how many messages were refused; where a message's own length is wrong, all behind it are one
/// refuse    is told of each: EBADMSG, the message's kind as the object, and what is wrong with what
/// Threads   any. May throw what `take` throws, and bad_alloc
size_t parse(
    std::span<const uint8_t> bytes, const std::function<void(message&&)>& take,
    const std::function<void(const error&)>& refuse = [](const error&) {});

}  // namespace turnpike::netlink
