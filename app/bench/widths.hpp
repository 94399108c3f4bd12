// SPDX-License-Identifier: BSD-3-Clause
// Ours beside its peers at every SIMD width, in one run: each side is measured once, and each width has the best
// peer and the kernel that it permits.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "interleave.hpp"
#include "isa/isa.hpp"

namespace turnpike::bench {

/// One of ours or of a peer's, and the narrowest permitted width at which it may run.
struct side {
    contender what;
    uint16_t bits;
};

/// A width, and which of our rows is chosen at it.
struct judged_width {
    uint16_t bits;
    std::string kernel;
};
template <class Function>
std::vector<judged_width> judged_widths(std::span<const isa::kernel<Function>> table,
                                        std::span<const uint16_t> widths) {
    std::vector<judged_width> out;
    for (const uint16_t bits : widths)
        if (const auto row = isa::choose(table, "bench", bits))
            out.push_back({bits, std::string((*row)->name)});
    return out;
}

/// What one interleaved run of peers and of ours says.
struct verdict {
    std::string isa;                     ///< our row
    std::optional<uint16_t> width_bits;  ///< the width at which it is chosen; nullopt: at none
    double cycles;
    std::optional<double> noise;  ///< of the same side measured twice: how far apart
    std::optional<size_t>
        peer;  ///< the best that the width permits (any, where it is chosen at none)
    std::vector<double> of_peers;  ///< [peers]
};
/// Run all by turns; what is chosen at a width runs twice. Verdicts in the order of `ours`, a row that is chosen
/// at several widths once for each.
std::vector<verdict> judge(std::span<const side> peers, std::span<const side> ours,
                           std::span<const judged_width> widths, unsigned repetitions);
/// {isa, chosen, width_bits, cycles, noise, peer, peer_cycles} of a verdict; `why` where there is no peer.
nlohmann::json cell_of(const verdict& v, std::span<const side> peers, const std::string& why);

}  // namespace turnpike::bench
