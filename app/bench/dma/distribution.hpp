// SPDX-License-Identifier: BSD-3-Clause
// Latency statistics of single transfers, as in the paper (section 4.1), and their CDF.
#pragma once

#include <cstdint>
#include <vector>

namespace turnpike::bench::dma {

/// Statistics of values in the unit of the values. A quantile q is the nearest rank: the smallest
/// value that at least a share q of the values does not exceed.
class distribution {
  public:
    /// Requires at least one value.
    explicit distribution(std::vector<uint32_t> values);

    [[nodiscard]] uint32_t quantile(double q) const noexcept;
    [[nodiscard]] double mean() const noexcept { return mean_; }
    [[nodiscard]] size_t count() const noexcept { return sorted_.size(); }

    struct step {
        uint32_t value;
        double share;  ///< share of the values that do not exceed it
    };
    /// The empirical CDF: every hundredth and, for few values, the tail; without duplicate values.
    [[nodiscard]] std::vector<step> cdf() const;

  private:
    std::vector<uint32_t> sorted_;
    double mean_;
};

}  // namespace turnpike::bench::dma
