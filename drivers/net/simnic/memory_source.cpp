// SPDX-License-Identifier: BSD-3-Clause
#include "memory_source.hpp"

#include <rte_memory.h>

namespace turnpike::simnic {
namespace {

std::atomic<uint64_t> generation{0};

void on_event(rte_mem_event, const void*, size_t, void*) {
    generation.fetch_add(1, std::memory_order_release);
}

int append(const rte_memseg_list*, const rte_memseg* segment, void* into) noexcept {
    if (segment->iova == RTE_BAD_IOVA) return 0;
    try {
        static_cast<std::vector<memory_range>*>(into)->push_back(
            {segment->iova, segment->len, static_cast<uint8_t*>(segment->addr)});
    } catch (...) {
        return -1;  // allocation failed: accesses beyond the table fault
    }
    return 0;
}

}  // namespace

std::vector<memory_range> eal_memory() {
    std::vector<memory_range> ranges;
    rte_memseg_walk(append, &ranges);
    return ranges;
}

const std::atomic<uint64_t>* eal_memory_generation() noexcept {
    // Static memory (--no-huge, --legacy-mem) has no events; the failure is expected.
    static const int registered =
        rte_mem_event_callback_register("net_simnic", on_event, &generation);
    (void)registered;
    return &generation;
}

}  // namespace turnpike::simnic
