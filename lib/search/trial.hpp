// SPDX-License-Identifier: BSD-3-Clause
// A trial: frames offered to a device at one load for one duration, and the share of them that it lost.
// Source: RFC 9971, Trial Terms; RFC 2544 section 23.
#pragma once

#include <functional>

#include "base/result.hpp"

namespace turnpike::search {

struct trial_input {
    double load_fps = 0;    ///< intended load, frames per second
    double duration_s = 0;  ///< intended duration
};

struct trial_output {
    /// Share of the offered frames that did not arrive, 0 to 1. Frames that the sender did not send are not offered.
    double loss_ratio = 0;
    /// The time that the classification takes the trial for; 0: the intended duration.
    double effective_duration_s = 0;
    /// The sender offered the intended load, within its tolerance. Otherwise the trial measured another load, and does
    /// not count. The failure is final: the measurer repeats a trial, a search does not.
    bool rate_held = true;
};

struct trial {
    trial_input input{};
    trial_output output{};

    [[nodiscard]] double effective_duration_s() const noexcept {
        return output.effective_duration_s > 0 ? output.effective_duration_s : input.duration_s;
    }
    /// Trial Forwarding Rate.
    [[nodiscard]] double forwarding_rate_fps() const noexcept {
        return input.load_fps * (1 - output.loss_ratio);
    }
};

/// Performs one trial. An error ends the search: ECANCELED on the operator's request, else the failure of a port.
using measurer = std::function<result<trial_output>(const trial_input&)>;

}  // namespace turnpike::search
