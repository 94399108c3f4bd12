// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <rte_memory.h>
#include <unistd.h>

namespace turnpike::cache_aware {
bool is_spread(const rte_mempool& mp) noexcept {
    return (mp.flags & (RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_CACHE_ALIGN)) == 0;
}

uint64_t page_at(const void* address) noexcept {
    const rte_memseg_list* list = rte_mem_virt2memseg_list(address);
    return list != nullptr ? list->page_sz : static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace turnpike::cache_aware
