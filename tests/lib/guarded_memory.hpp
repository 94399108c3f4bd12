// SPDX-License-Identifier: BSD-3-Clause
// Memory that ends at an inaccessible page.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>

#include "base/memory.hpp"

namespace turnpike::test {

/// Blocks whose last byte (rounded up to `alignment`) is the last before a PROT_NONE page.
class guarded_memory {
  public:
    guarded_memory() = default;
    guarded_memory(const guarded_memory&) = delete;
    guarded_memory& operator=(const guarded_memory&) = delete;
    ~guarded_memory() {
        while (!mapped_.empty()) release(mapped_.begin()->first);
    }
    void* allocate(size_t bytes, size_t alignment) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t used = (bytes + alignment - 1) / alignment * alignment;
        const size_t whole = (used + page - 1) / page * page;
        void* map =
            mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) return nullptr;
        auto* guard = static_cast<uint8_t*>(map) + whole;
        mprotect(guard, page, PROT_NONE);
        mapped_[guard - used] = {map, whole + page};
        return guard - used;
    }
    void release(void* block) {
        const auto [map, bytes] = mapped_[block];
        munmap(map, bytes);
        mapped_.erase(block);
    }
    memory hook() {
        return {this,
                [](void* self, size_t bytes, size_t alignment) {
                    return static_cast<guarded_memory*>(self)->allocate(bytes, alignment);
                },
                [](void* self, void* what) { static_cast<guarded_memory*>(self)->release(what); }};
    }

  private:
    std::map<void*, std::pair<void*, size_t>> mapped_;
};

}  // namespace turnpike::test
