// SPDX-License-Identifier: BSD-3-Clause
// A count that is read without the kernel, on the CPU that counts it: RDPMC, with what the kernel says in a page of
// the event's (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"

namespace turnpike::pmu {

/// What an event's page and the CPU's counter say together; none: it is not on a counter of this CPU now.
/// The page is read again where the kernel wrote it meanwhile.
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
    /// event  as perf_event_open(2) gives it; it may be closed afterwards
    /// Errors  ENOTSUP: the kernel or the CPU does not let programs read it; what mmap(2) says
    [[nodiscard]] static result<user_counter> map(int event);

    [[nodiscard]] std::optional<uint64_t> read() const noexcept;

  private:
    struct unmap {
        void operator()(const perf_event_mmap_page* page) const noexcept;
    };
    std::unique_ptr<const perf_event_mmap_page, unmap> page_;
};

}  // namespace turnpike::pmu
