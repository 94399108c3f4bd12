// SPDX-License-Identifier: BSD-3-Clause
// The timed functions, as templates so that the callbacks are inlined.
#pragma once

#include <rte_cycles.h>

#include <algorithm>
#include <cstdint>

namespace turnpike::bench::dma {

inline constexpr uint64_t patience_seconds = 5;

inline uint32_t cycles_since(uint64_t start) noexcept {
    return static_cast<uint32_t>(std::min<uint64_t>(rte_rdtsc_precise() - start, UINT32_MAX));
}

inline int engine::enqueue(const transfer& t, uint32_t bytes, bool fill, uint64_t flags) noexcept {
    return fill ? rte_dma_fill(id_, 0, t.from, t.to, bytes, flags)
                : rte_dma_copy(id_, 0, t.from, t.to, bytes, flags);
}

inline void engine::enqueue_or_throw(const transfer& t, uint32_t bytes, bool fill, uint64_t flags) {
    if (const int code = enqueue(t, bytes, fill, flags); code < 0) fail_to_enqueue(code);
}

inline void engine::wait_for(unsigned completions) {
    bool failed = false;
    uint64_t deadline = 0;
    for (unsigned polls = 1; completions > 0; ++polls) {
        completions -=
            rte_dma_completed(id_, 0, static_cast<uint16_t>(completions), nullptr, &failed);
        if (failed) fail_with_status();
        if (polls % 4096 != 0) continue;  // check the timeout rarely, to keep the loop short
        const uint64_t now = rte_rdtsc();
        if (deadline == 0) deadline = now + patience_seconds * rte_get_tsc_hz();
        if (now > deadline) throw void_run(name_ + ": a transfer did not complete within 5 s");
    }
}

template <class AfterEach>
void engine::one_by_one(std::span<const transfer> all, uint32_t bytes, bool fill,
                        std::span<uint32_t> cycles, const AfterEach& after_each) {
    for (size_t i = 0; i < all.size(); ++i) {
        const uint64_t start = rte_rdtsc_precise();
        enqueue_or_throw(all[i], bytes, fill, RTE_DMA_OP_FLAG_SUBMIT);
        wait_for(1);
        cycles[i] = cycles_since(start);
        after_each(i);
    }
}

template <class AfterEach>
void engine::written_and_read(std::span<const transfer> writes, std::span<const transfer> reads,
                              uint32_t bytes, bool fill, std::span<uint32_t> cycles,
                              const AfterEach& after_each) {
    for (size_t i = 0; i < writes.size(); ++i) {
        const uint64_t start = rte_rdtsc_precise();
        enqueue_or_throw(writes[i], bytes, fill, 0);
        enqueue_or_throw(reads[i], bytes, false, RTE_DMA_OP_FLAG_FENCE | RTE_DMA_OP_FLAG_SUBMIT);
        wait_for(2);
        cycles[i] = cycles_since(start);
        after_each(i);
    }
}

}  // namespace turnpike::bench::dma
