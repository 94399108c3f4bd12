// SPDX-License-Identifier: BSD-3-Clause
#include "acl/fastest_kernel.hpp"

#include <algorithm>

#include "acl/acl.hpp"
#include "base/byte_order.hpp"
#include "isa/fastest.hpp"

namespace turnpike::acl {
namespace {

constexpr unsigned burst = 32, max_bursts = 16;

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

    double nanoseconds(const row& r) const noexcept {
        uint32_t results[burst * 4];
        if (bursts_ == 0) return 0;
        return isa::nanoseconds_of([&] {
            for (size_t i = 0; i < bursts_; ++i)
                r.function(table_, at_.data() + i * burst, results, burst, categories_);
        });
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
    const stopwatch<Words> watch(table, keys);
    return isa::fastest(all, max_simd_bitwidth,
                        [&watch](const row& r) { return watch.nanoseconds(r); });
}

template const row& fastest_kernel<ipv4_words>(const view&,
                                               std::span<const std::array<uint32_t, ipv4_words>>,
                                               uint16_t) noexcept;
template const row& fastest_kernel<ipv6_words>(const view&,
                                               std::span<const std::array<uint32_t, ipv6_words>>,
                                               uint16_t) noexcept;

}  // namespace turnpike::acl
