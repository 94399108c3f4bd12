// SPDX-License-Identifier: BSD-3-Clause
// Latencies of single transfers, as the paper reduces them (section 4.1), and their CDF.
#pragma once

#include <cstdint>
#include <vector>

namespace turnpike::bench::dma {

/// Of recorded values, in their unit. A quantile q is the nearest rank: the least value that at least q of all
/// values do not exceed.
class distribution {
  public:
    /// Requires at least one value.
    explicit distribution(std::vector<uint32_t> values);

    [[nodiscard]] uint32_t quantile(double q) const noexcept;
    [[nodiscard]] double mean() const noexcept { return mean_; }
    [[nodiscard]] size_t count() const noexcept { return sorted_.size(); }

    struct step {
        uint32_t value;
        double share;  ///< of all values, that do not exceed it
    };
    /// The empirical CDF: every hundredth and, where values are few, the tail; each value once.
    [[nodiscard]] std::vector<step> cdf() const;

  private:
    std::vector<uint32_t> sorted_;
    double mean_;
};

}  // namespace turnpike::bench::dma
