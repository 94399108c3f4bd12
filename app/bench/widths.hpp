// SPDX-License-Identifier: BSD-3-Clause
// Compares our kernels and their peers at every SIMD width in one run: each side is measured once,
// and each width is judged by the best peer and the kernel that it permits.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "interleave.hpp"
#include "isa/isa.hpp"

namespace turnpike::bench {

/// One of our kernels or a peer, and its minimum permitted SIMD width.
struct side {
    contender what;
    uint16_t bits;
};

/// A width, and the index of our kernel selected at it.
struct compared_width {
    uint16_t bits;
    std::string kernel;
};
template <class Function>
std::vector<compared_width> compared_widths(std::span<const isa::kernel<Function>> table,
                                            std::span<const uint16_t> widths) {
    std::vector<compared_width> out;
    for (const uint16_t bits : widths)
        if (const auto row = isa::choose(table, "bench", bits))
            out.push_back({bits, std::string((*row)->name)});
    return out;
}

/// Result of one interleaved run, for one of our kernels.
struct verdict {
    std::string isa;                     ///< our kernel
    std::optional<uint16_t> width_bits;  ///< the width at which it is selected; nullopt: none
    double cycles;
    std::optional<double> noise;  ///< relative difference between two measurements of the same side
    unsigned takes;               ///< runs; the least noisy one counts
    std::optional<size_t>
        peer;  ///< the best that the width permits (any, if the kernel is not selected)
    std::vector<double> of_peers;  ///< [peers]
};
/// A row of more noise is taken again once, and marked if that does not help.
constexpr double max_noise = 0.1;

/// Run all in turn; kernels selected at a width run twice. Verdicts in the order of `ours`, a
/// kernel selected at several widths once for each.
std::vector<verdict> compare(std::span<const side> peers, std::span<const side> ours,
                             std::span<const compared_width> widths, unsigned repetitions);
/// {isa, chosen, width_bits, cycles, noise, takes, noisy, peer, peer_cycles} of a verdict; `why` if
/// there is no peer.
nlohmann::json cell_of(const verdict& v, std::span<const side> peers, const std::string& why);
/// The noise of a cell, for a line of text: "noise 0.02"; a noisy one: "noise 0.13 (noisy)".
std::string noise_text(const nlohmann::json& cell);

}  // namespace turnpike::bench
