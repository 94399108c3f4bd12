// SPDX-License-Identifier: BSD-3-Clause
#include "umem_sharers.hpp"

#include <mutex>
#include <utility>

namespace turnpike::xsk {
namespace {

std::mutex all_mutex;
std::vector<std::pair<umem_kind, int>> all;

}  // namespace

std::vector<int> sharers_of(const umem_kind& kind) {
    const std::lock_guard lock(all_mutex);
    std::vector<int> out;
    for (const auto& [other, fd] : all)
        if (other == kind) out.push_back(fd);
    return out;
}

void add_sharer(const umem_kind& kind, int fd) {
    const std::lock_guard lock(all_mutex);
    all.emplace_back(kind, fd);
}

void remove_sharer(int fd) noexcept {
    const std::lock_guard lock(all_mutex);
    std::erase_if(all, [fd](const auto& one) { return one.second == fd; });
}

}  // namespace turnpike::xsk
