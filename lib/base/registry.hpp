// SPDX-License-Identifier: BSD-3-Clause
// The handles of a C API by name.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike {

/// Never destroy one: handles stay when the program ends, as DPDK's own objects do. EAL's memory may be unmapped by then, and
/// readers may still run.
///
/// Handle   has a `name`
/// Threads  any
template <class Handle>
class registry {
  public:
    /// Returns nullptr if there is none of this name.
    [[nodiscard]] Handle* find(std::string_view name) {
        const std::lock_guard lock(mutex_);
        const auto at = named(name);
        return at != all_.end() ? at->get() : nullptr;
    }
    /// Returns nullptr if the name is taken.
    [[nodiscard]] Handle* add(std::unique_ptr<Handle> made) {
        const std::lock_guard lock(mutex_);
        if (named(made->name) != all_.end()) return nullptr;
        all_.push_back(std::move(made));
        return all_.back().get();
    }
    void remove(const Handle* handle) {
        const std::lock_guard lock(mutex_);
        std::erase_if(all_, [&](const auto& h) { return h.get() == handle; });
    }
    template <class Call>
    void each(const Call& call) {
        const std::lock_guard lock(mutex_);
        for (const auto& h : all_) call(*h);
    }

  private:
    auto named(std::string_view name) {
        return std::find_if(all_.begin(), all_.end(),
                            [&](const auto& h) { return h->name == name; });
    }
    std::mutex mutex_{};
    std::vector<std::unique_ptr<Handle>> all_{};
};

}  // namespace turnpike
