// SPDX-License-Identifier: BSD-3-Clause
// Objects by name, in configuration order.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::state {

/// Linear search: for tens of ports and hundreds of interfaces.
template <class T>
class named {
  public:
    using value_type = std::pair<std::string, T>;

    [[nodiscard]] const T* find(std::string_view name) const noexcept {
        const auto at = std::find_if(all_.begin(), all_.end(),
                                     [&](const value_type& v) { return v.first == name; });
        return at == all_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] T* find(std::string_view name) noexcept {
        return const_cast<T*>(std::as_const(*this).find(name));
    }
    /// The object must exist.
    [[nodiscard]] const T& at(std::string_view name) const noexcept { return *find(name); }
    /// Returns false if the name exists.
    bool add(std::string name, T value) {
        if (find(name) != nullptr) return false;
        all_.emplace_back(std::move(name), std::move(value));
        return true;
    }
    void remove(std::string_view name) {
        std::erase_if(all_, [&](const value_type& v) { return v.first == name; });
    }
    [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }
    [[nodiscard]] size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    bool operator==(const named&) const = default;

  private:
    std::vector<value_type> all_;
};

}  // namespace turnpike::state
