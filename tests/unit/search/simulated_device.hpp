// SPDX-License-Identifier: BSD-3-Clause
// A device with a known capacity, a buffer and noise, by the models of RFC 9971 ("DUT in SUT", "SUT Behaviors"): a trial sees
// the capacity minus a share that is drawn for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "search/trial.hpp"

namespace turnpike::search {

enum class noise : uint8_t {
    none,
    jitter,  ///< each trial loses up to `depth` of the capacity, uniformly
    spikes,  ///< a trial in `1 / spike_share` loses `depth` of it
    mixed,   ///< both, half as deep
};

struct simulated_device {
    double capacity_fps = 0;
    double buffer_frames = 0;  ///< a trial's excess up to it is delivered
    noise kind = noise::none;
    double depth = 0;        ///< the greatest share of the capacity that noise takes
    double spike_share = 0;  ///< of the trials
    std::mt19937_64 random{};

    trial_output operator()(const trial_input& in) {
        const double capacity = capacity_fps * (1 - drawn()), offered = in.load_fps * in.duration_s;
        const double lost = offered - capacity * in.duration_s - buffer_frames;
        return {.loss_ratio = std::clamp(lost / offered, 0.0, 1.0)};
    }

    /// The largest load that a trial of this duration forwards within the loss ratio, if noise takes this share.
    [[nodiscard]] double critical_fps(double loss_ratio, double duration_s, double share) const {
        return (capacity_fps * (1 - share) + buffer_frames / duration_s) / (1 - loss_ratio);
    }

    static simulated_device of_seed(uint64_t seed) {
        simulated_device d;
        d.random.seed(seed);
        const auto between = [&d](double least, double most) {
            return std::uniform_real_distribution(least, most)(d.random);
        };
        d.capacity_fps = std::pow(10, between(4, 8));
        if (seed % 3 == 0) d.buffer_frames = std::pow(2, between(5, 14));
        d.kind = static_cast<noise>(seed / 3 % 4);
        d.depth = d.kind == noise::none ? 0 : between(0.001, 0.3);
        d.spike_share = between(0.001, 0.1);
        return d;
    }

  private:
    double drawn() {
        const double even = std::uniform_real_distribution(0.0, 1.0)(random);
        const bool spike = std::uniform_real_distribution(0.0, 1.0)(random) < spike_share;
        switch (kind) {
            case noise::none:
                return 0;
            case noise::jitter:
                return depth * even;
            case noise::spikes:
                return spike ? depth : 0;
            case noise::mixed:
                return (depth * even + (spike ? depth : 0)) / 2;
        }
        return 0;
    }
};

}  // namespace turnpike::search
