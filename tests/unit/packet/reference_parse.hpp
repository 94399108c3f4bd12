// SPDX-License-Identifier: BSD-3-Clause
// The parser's oracle: the same answers from a whole frame, slow and plain. It knows no header
// structs, no flags by mask and no fast path: numbers and offsets as the RFCs print them.
#pragma once

#include "lib/packet_bytes.hpp"
#include "packet/parse.hpp"

namespace turnpike::test {

packet::parsed reference_parse(const byte_vector& frame);

}  // namespace turnpike::test
