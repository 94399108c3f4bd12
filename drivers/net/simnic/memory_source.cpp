// SPDX-License-Identifier: BSD-3-Clause
#include "memory_source.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include <algorithm>
#include <mutex>

namespace turnpike::simnic {
namespace {

std::atomic<uint64_t> generation{0};

void on_event(rte_mem_event, const void*, size_t, void*) {
    generation.fetch_add(1, std::memory_order_release);
}

/// By rte_dev_dma_map(): ranges of all devices.
std::mutex mapped_mutex;
std::vector<memory_range> mapped;

int append(const rte_memseg_list*, const rte_memseg* segment, void* into) noexcept {
    // Registered without I/O addresses (rte_extmem_register()).
    const bool unknown = segment->iova == RTE_BAD_IOVA;
    if (unknown && rte_eal_iova_mode() != RTE_IOVA_VA) return 0;
    try {
        static_cast<std::vector<memory_range>*>(into)->push_back(
            {unknown ? segment->addr_64 : segment->iova, segment->len,
             static_cast<uint8_t*>(segment->addr)});
    } catch (...) {
        return -1;  // allocation failed: accesses beyond the table fault
    }
    return 0;
}

}  // namespace

std::vector<memory_range> eal_memory() {
    std::vector<memory_range> ranges;
    rte_memseg_walk(append, &ranges);
    const std::lock_guard lock(mapped_mutex);
    ranges.insert(ranges.end(), mapped.begin(), mapped.end());
    return ranges;
}

int map_memory(const memory_range& range) noexcept {
    try {
        const std::lock_guard lock(mapped_mutex);
        mapped.push_back(range);
    } catch (...) {
        rte_errno = ENOMEM;
        return -1;
    }
    generation.fetch_add(1, std::memory_order_release);
    return 0;
}

int unmap_memory(const memory_range& range) noexcept {
    {
        const std::lock_guard lock(mapped_mutex);
        const auto at = std::ranges::find(mapped, range);
        if (at == mapped.end()) {
            rte_errno = EINVAL;
            return -1;
        }
        mapped.erase(at);
    }
    generation.fetch_add(1, std::memory_order_release);
    return 0;
}

const std::atomic<uint64_t>* eal_memory_generation() noexcept {
    // Static memory (--no-huge, --legacy-mem) has no events; the failure is expected.
    static const int registered =
        rte_mem_event_callback_register("net_simnic", on_event, &generation);
    (void)registered;
    return &generation;
}

}  // namespace turnpike::simnic
