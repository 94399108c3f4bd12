// SPDX-License-Identifier: BSD-3-Clause
// What a record of a report says of its group (IGMPv3, RFC 3376 section 4.2.12; MLDv2, RFC 3810 section 5.2.12), where
// no sources are named.
#pragma once

#include <cstdint>

namespace turnpike::packet {

enum class group_record : uint8_t {
    is_exclude = 2,  ///< an answer to a query: all of its sources are listened to
    to_include = 3,  ///< none any more
    to_exclude = 4,  ///< all, since now
};

}  // namespace turnpike::packet
