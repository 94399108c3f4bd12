// SPDX-License-Identifier: BSD-3-Clause
// Reads a counter without a system call, on the CPU that counts: RDPMC, with the offsets that the
// kernel writes to the event's mmap page (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"

namespace turnpike::pmu {

/// Combine the event's page and the CPU's counter; nullopt: the event is not on a counter of this
/// CPU now. Rereads the page if the kernel wrote it meanwhile.
/// rdpmc(index)  the counter, its upper bits undefined
template <class Rdpmc>
std::optional<uint64_t> read_page(const perf_event_mmap_page& page, const Rdpmc& rdpmc) noexcept {
    const auto load = [](const auto& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); };
    for (;;) {
        const uint32_t before = __atomic_load_n(&page.lock, __ATOMIC_ACQUIRE);
        std::optional<uint64_t> out;
        const uint32_t index = load(page.index);
        const uint16_t width = load(page.pmc_width);
        if (index != 0 && width != 0 && width <= 64) {
            const uint64_t shifted = rdpmc(index - 1) << (64 - width);
            const int64_t since = static_cast<int64_t>(shifted) >> (64 - width);
            out = static_cast<uint64_t>(load(page.offset) + since);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (load(page.lock) == before) return out;
    }
}

/// Threads  read() by a thread of this process that runs on the CPU that counts
class user_counter {
  public:
    /// event  from perf_event_open(2); it may be closed afterwards
    /// Errors  ENOTSUP: the kernel or the CPU does not permit user-space reads; errors of mmap(2)
    [[nodiscard]] static result<user_counter> map(int event);

    [[nodiscard]] std::optional<uint64_t> read() const noexcept;

  private:
    struct unmap {
        void operator()(const perf_event_mmap_page* page) const noexcept;
    };
    std::unique_ptr<const perf_event_mmap_page, unmap> page_;
};

}  // namespace turnpike::pmu
