// SPDX-License-Identifier: BSD-3-Clause
// The two computations that RFC 9971 prescribes: load classification and conditional throughput.
// Source: RFC 9971, sections "Load Classification Logic" and "Conditional Throughput Logic".
//
//              low loss               high loss
// short        s_low * e/(1-e)   -    s_high                excess, at least 0  --+
// full-length  f_low                  f_high + excess  =  effective high-loss sum +--> effective full sum
//                                                                                 |
//              the rest up to the duration sum is missing: all of it low-loss (optimistic) or high-loss (pessimistic)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "search/goal.hpp"
#include "search/trial.hpp"

namespace turnpike::search {

enum class bound : uint8_t { undecided, lower, upper };
[[nodiscard]] std::string_view name_of(bound b) noexcept;

/// The intermediate quantities, under the RFC's names; seconds.
struct classification {
    double full_length_high_loss_s = 0, full_length_low_loss_s = 0;
    double short_high_loss_s = 0, short_low_loss_s = 0;
    double balancing_s = 0, excess_s = 0, positive_excess_s = 0;
    double effective_high_loss_s = 0, effective_full_s = 0, effective_whole_s = 0;
    double missing_s = 0, pessimistic_high_loss_s = 0;
    double optimistic_exceed_ratio = 0, pessimistic_exceed_ratio = 0;
    bound is = bound::undecided;
};

/// trials  all of one load, in any order; none: undecided
[[nodiscard]] classification classify(const goal& by, std::span<const trial> trials) noexcept;

/// The forwarding rate that the goal's share (1 - exceed ratio) of the time reached, at a load that is a lower bound.
///
/// trials  all of one load; at least one
[[nodiscard]] double conditional_throughput(const goal& by, std::span<const trial> trials);

}  // namespace turnpike::search
