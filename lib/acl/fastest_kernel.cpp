// SPDX-License-Identifier: BSD-3-Clause
#include "acl/fastest_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "acl/acl.hpp"
#include "base/byte_order.hpp"

namespace turnpike::acl {
namespace {

constexpr unsigned rounds = 5;  ///< the shortest counts: others were interrupted
constexpr unsigned burst = 32, max_bursts = 16;
constexpr unsigned wide = 256;
constexpr double clearly_faster = 0.97;

using row = isa::kernel<classify_function>;

template <unsigned Words>
class stopwatch {
  public:
    using key = std::array<uint32_t, Words>;

    stopwatch(const view& table, std::span<const key> keys) noexcept
        : table_(table),
          categories_(table.categories != 0 ? 1 : 4),
          bursts_(std::min<size_t>(keys.size() / burst, max_bursts)) {
        table_.pieces = 0;  // these keys are words already
        for (size_t i = 0; i < bursts_ * burst; ++i) {
            for (unsigned w = 0; w < Words; ++w) keys_[i][w] = big_endian(keys[i][w]);
            at_[i] = reinterpret_cast<const uint8_t*>(&keys_[i]);
        }
    }

    bool can_compare() const noexcept { return bursts_ != 0; }

    double nanoseconds(const row& r) const noexcept {
        uint32_t results[burst * 4];
        const auto start = std::chrono::steady_clock::now();
        for (size_t i = 0; i < bursts_; ++i)
            r.function(table_, at_.data() + i * burst, results, burst, categories_);
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
            .count();
    }

  private:
    view table_;
    uint32_t categories_;
    size_t bursts_;
    std::array<key, burst * max_bursts> keys_;
    std::array<const uint8_t*, burst * max_bursts> at_;
};

}  // namespace

template <unsigned Words>
const row& fastest_kernel(const view& table, std::span<const std::array<uint32_t, Words>> keys,
                          uint16_t max_simd_bitwidth) noexcept {
    const auto all = classify_kernels();
    const auto permitted = [&](const row& r) { return isa::may_run(r, max_simd_bitwidth); };
    // The scalar kernel, the last one, is always permitted.
    const row& first = *std::find_if(all.begin(), all.end() - 1, permitted);
    const stopwatch<Words> watch(table, keys);
    if (!watch.can_compare() || first.simd_bitwidth < wide) return first;
    std::array<double, 8> least;
    least.fill(std::numeric_limits<double>::max());
    for (unsigned round = 0; round < rounds; ++round)
        for (size_t i = 0; i < all.size(); ++i)
            if (permitted(all[i]) && all[i].simd_bitwidth >= wide)
                least[i] = std::min(least[i], watch.nanoseconds(all[i]));
    const auto best =
        static_cast<size_t>(std::min_element(least.begin(), least.end()) - least.begin());
    const auto chosen = static_cast<size_t>(&first - all.data());
    return least[best] < clearly_faster * least[chosen] ? all[best] : first;
}

template const row& fastest_kernel<ipv4_words>(const view&,
                                               std::span<const std::array<uint32_t, ipv4_words>>,
                                               uint16_t) noexcept;
template const row& fastest_kernel<ipv6_words>(const view&,
                                               std::span<const std::array<uint32_t, ipv6_words>>,
                                               uint16_t) noexcept;

}  // namespace turnpike::acl
