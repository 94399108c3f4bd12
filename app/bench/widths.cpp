// SPDX-License-Identifier: BSD-3-Clause
#include "widths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace turnpike::bench {

namespace {

/// One interleaved run.
std::vector<verdict> measure(std::span<const side> peers, std::span<const side> ours,
                             std::span<const compared_width> widths, unsigned repetitions) {
    std::vector<contender> all;
    for (const side& p : peers) all.push_back(p.what);
    for (const side& o : ours) all.push_back(o.what);
    std::vector<size_t> again(ours.size());  // index of its second run
    for (size_t i = 0; i < ours.size(); ++i)
        for (const compared_width& w : widths)
            if (w.kernel == ours[i].what.name && again[i] == 0) {
                again[i] = all.size();
                all.push_back(ours[i].what);
            }
    const auto cycles = interleave(all, repetitions);
    const std::vector<double> of_peers(cycles.begin(),
                                       cycles.begin() + static_cast<long>(peers.size()));
    const auto best_at = [&](uint16_t bits) {
        std::optional<size_t> best;
        for (size_t p = 0; p < peers.size(); ++p)
            if (peers[p].bits <= bits && (!best || of_peers[p] < of_peers[*best])) best = p;
        return best;
    };
    std::vector<verdict> out;
    for (size_t i = 0; i < ours.size(); ++i) {
        const double seen = cycles[peers.size() + i];
        const std::string& name = ours[i].what.name;
        if (again[i] == 0)
            out.push_back({name, {}, seen, {}, 1, best_at(isa::any_simd_bitwidth), of_peers});
        for (const compared_width& w : widths)
            if (w.kernel == name)
                out.push_back({name, w.bits, seen, std::abs(cycles[again[i]] / seen - 1), 1,
                               best_at(w.bits), of_peers});
    }
    return out;
}

double noise_of(std::span<const verdict> all) {
    double most = 0;
    for (const verdict& v : all) most = std::max(most, v.noise.value_or(0));
    return most;
}

}  // namespace

std::vector<verdict> compare(std::span<const side> peers, std::span<const side> ours,
                             std::span<const compared_width> widths, unsigned repetitions) {
    auto first = measure(peers, ours, widths, repetitions);
    if (noise_of(first) <= max_noise) return first;
    auto second = measure(peers, ours, widths, repetitions);
    auto& better = noise_of(second) < noise_of(first) ? second : first;
    for (verdict& v : better) v.takes = 2;
    return std::move(better);
}

nlohmann::json cell_of(const verdict& v, std::span<const side> peers, const std::string& why) {
    nlohmann::json cell{{"isa", v.isa},
                        {"chosen", v.width_bits.has_value()},
                        {"width_bits", nullptr},
                        {"cycles", v.cycles},
                        {"peer", nullptr}};
    if (v.width_bits) cell["width_bits"] = *v.width_bits;
    cell["takes"] = v.takes;
    if (v.noise) {
        cell["noise"] = *v.noise;
        cell["noisy"] = *v.noise > max_noise;
    }
    if (v.peer) {
        cell["peer"] = peers[*v.peer].what.name;
        cell["peer_cycles"] = v.of_peers[*v.peer];
        for (size_t p = 0; p < peers.size(); ++p) cell["peers"][peers[p].what.name] = v.of_peers[p];
    } else {
        cell["why"] = why;
    }
    return cell;
}

std::string noise_text(const nlohmann::json& cell) {
    return fmt::format("noise {:.2f}{}", cell["noise"].get<double>(),
                       cell["noisy"].get<bool>() ? " (noisy)" : "");
}

}  // namespace turnpike::bench
