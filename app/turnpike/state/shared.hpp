// SPDX-License-Identifier: BSD-3-Clause
// Copy-on-write: copies of a large value share it until one of them changes it.
#pragma once

#include <memory>
#include <utility>

namespace turnpike::state {

/// Threads  one at a time.
template <class T>
class shared {
  public:
    shared() : value_(std::make_shared<T>()) {}
    shared(T value) : value_(std::make_shared<T>(std::move(value))) {}

    const T& operator*() const noexcept { return *value_; }
    const T* operator->() const noexcept { return value_.get(); }
    /// The value for a change: copied first if it is shared.
    T& edit() {
        if (value_.use_count() != 1) value_ = std::make_shared<T>(*value_);
        return *value_;
    }
    bool operator==(const shared& other) const {
        return value_ == other.value_ || *value_ == *other.value_;
    }

  private:
    std::shared_ptr<T> value_;
};

}  // namespace turnpike::state
