// SPDX-License-Identifier: BSD-3-Clause
// What the filter does, said a second time and plainly: an oracle for the BPF program. It knows neither
// the program's maps nor its code.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/byte_order.hpp"
#include "lib/packet_bytes.hpp"

namespace turnpike::test {

struct prefix {
    byte_vector address;  ///< 4 or 16 bytes, host bits clear
    unsigned length;
};

/// An entry as an operator writes it; omitted fields are empty.
struct reference_entry {
    std::optional<unsigned> protocol{};
    std::optional<unsigned> ether_type{};  ///< of arp and lldp
    std::optional<bool> v6{};
    std::optional<std::pair<unsigned, unsigned>> port{}, source_port{}, destination_port{};
    std::optional<prefix> address{}, source_address{}, destination_address{};

    [[nodiscard]] std::string yaml() const;
};

/// One that read_filter takes.
reference_entry random_entry(std::mt19937& random);

/// A frame that such entries may be about: tags, extension headers, fragments, cut or with a byte
/// changed now and then.
byte_vector random_frame(std::mt19937& random);

/// The first entry that keeps the frame.
std::optional<size_t> reference_verdict(const std::vector<reference_entry>& entries,
                                        const byte_vector& frame);

}  // namespace turnpike::test
