// SPDX-License-Identifier: BSD-3-Clause
// Scope guard for a partly completed setup: unless done() was called, the destructor undoes the
// steps, on an error return as well as on an exception.
#pragma once

#include <utility>

namespace turnpike::xsk {

template <class Undo>
class attempt {
  public:
    explicit attempt(Undo undo) : undo_(std::move(undo)) {}
    ~attempt() {
        if (!done_) undo_();
    }
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    void done() noexcept { done_ = true; }

  private:
    Undo undo_;
    bool done_ = false;
};

}  // namespace turnpike::xsk
