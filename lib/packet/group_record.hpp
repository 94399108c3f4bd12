// SPDX-License-Identifier: BSD-3-Clause
// Record types of group membership reports (IGMPv3, RFC 3376 section 4.2.12; MLDv2, RFC 3810
// section 5.2.12), for records without sources.
#pragma once

#include <cstdint>

namespace turnpike::packet {

enum class group_record : uint8_t {
    is_exclude = 2,  ///< reply to a query: EXCLUDE {}, all sources
    to_include = 3,  ///< left the group: INCLUDE {}
    to_exclude = 4,  ///< joined the group: EXCLUDE {}
};

}  // namespace turnpike::packet
