// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/user_counter.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace turnpike::pmu {
namespace {

#if defined(__x86_64__)
constexpr bool has_rdpmc = true;
#else
constexpr bool has_rdpmc = false;
#endif

size_t page_bytes() noexcept { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

void user_counter::unmap::operator()(const perf_event_mmap_page* page) const noexcept {
    munmap(const_cast<perf_event_mmap_page*>(page), page_bytes());
}

result<user_counter> user_counter::map(int event) {
    void* const at = mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, event, 0);
    if (at == MAP_FAILED) return fail(errno, "", "cannot map the event's page");
    user_counter made;
    made.page_.reset(static_cast<const perf_event_mmap_page*>(at));
    if (!has_rdpmc || !made.page_->cap_user_rdpmc)
        return fail(ENOTSUP, "",
                    "user-space reads of this counter are not permitted (RDPMC; "
                    "see /sys/bus/event_source/devices/cpu/rdpmc)");
    return made;
}

std::optional<uint64_t> user_counter::read() const noexcept {
    return read_page(*page_, [](uint32_t counter) -> uint64_t {
#if defined(__x86_64__)
        return static_cast<uint64_t>(__builtin_ia32_rdpmc(static_cast<int>(counter)));
#else
        static_cast<void>(counter);  // unreachable: map() refuses
        return 0;
#endif
    });
}

}  // namespace turnpike::pmu
