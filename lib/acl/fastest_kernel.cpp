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

/// Trial keys in memory, as the table's readers have them.
template <unsigned Words>
class stopwatch {
  public:
    using key = std::array<uint32_t, Words>;

    stopwatch(const view& table, std::span<const key> keys) noexcept
        : trees_(table),
          vectors_(table),
          categories_(table.categories != 0 ? 1 : 4),
          bursts_(std::min<size_t>(keys.size() / burst, max_bursts)) {
        trees_.vectors = nullptr;
        if (!keys_have_room()) {
            trees_.pieces = 0;
            vectors_.vectors = nullptr;  // their offsets are of the table's own keys
        }
        for (size_t i = 0; i < bursts_ * burst; ++i) {
            write(keys[i], keys_[i]);
            at_[i] = keys_[i].data();
        }
    }

    [[nodiscard]] bool has_vectors() const noexcept { return vectors_.vectors != nullptr; }
    double of_trees(const row& r) const noexcept { return nanoseconds(trees_, r); }
    double of_vectors(const row& r) const noexcept { return nanoseconds(vectors_, r); }

  private:
    static constexpr size_t key_bytes = 64;
    using bytes = std::array<uint8_t, key_bytes>;
    static_assert(key_bytes >= sizeof(key));

    [[nodiscard]] bool keys_have_room() const noexcept {
        const std::span pieces(trees_.piece_at, trees_.pieces);
        return std::ranges::all_of(
            pieces, [](const piece& p) { return p.offset + size_t{p.bytes} <= key_bytes; });
    }
    void write(const key& from, bytes& to) const noexcept {
        for (unsigned w = 0; w < Words && trees_.pieces == 0; ++w) store_be(&to[4 * w], from[w]);
        for (const piece& p : std::span(trees_.piece_at, trees_.pieces))
            for (unsigned i = 0; i < p.bytes; ++i)
                to[p.offset + i] =
                    static_cast<uint8_t>(from[p.word] >> p.shift >> 8 * (p.bytes - 1U - i));
    }
    double nanoseconds(const view& table, const row& r) const noexcept {
        uint32_t results[burst * 4];
        if (bursts_ == 0) return 0;
        return isa::nanoseconds_of([&] {
            for (size_t i = 0; i < bursts_; ++i)
                r.function(table, at_.data() + i * burst, results, burst, categories_);
        });
    }

    view trees_, vectors_;
    uint32_t categories_;
    size_t bursts_;
    std::array<bytes, burst * max_bursts> keys_{};
    std::array<const uint8_t*, burst * max_bursts> at_;
};

}  // namespace

template <unsigned Words>
fastest_search find_fastest(const view& table, std::span<const std::array<uint32_t, Words>> keys,
                            uint16_t max_simd_bitwidth) noexcept {
    const auto all = classify_kernels();
    const stopwatch<Words> watch(table, keys);
    const row& of_trees =
        isa::fastest(all, max_simd_bitwidth, [&watch](const row& r) { return watch.of_trees(r); });
    if (!watch.has_vectors()) return {of_trees, table.vectors != nullptr};
    const row& of_vectors = isa::fastest(all, max_simd_bitwidth,
                                         [&watch](const row& r) { return watch.of_vectors(r); });
    if (keys.size() < burst) return {of_vectors, true};
    const auto vectors_are_slower = isa::second_is_faster(
        [&] { return watch.of_vectors(of_vectors); }, [&] { return watch.of_trees(of_trees); });
    return vectors_are_slower ? fastest_search{of_trees, false} : fastest_search{of_vectors, true};
}

template fastest_search find_fastest<ipv4_words>(const view&,
                                                 std::span<const std::array<uint32_t, ipv4_words>>,
                                                 uint16_t) noexcept;
template fastest_search find_fastest<ipv6_words>(const view&,
                                                 std::span<const std::array<uint32_t, ipv6_words>>,
                                                 uint16_t) noexcept;

}  // namespace turnpike::acl
