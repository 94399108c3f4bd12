// SPDX-License-Identifier: BSD-3-Clause
// What is undone on every way out, exceptions too, but the one behind done().
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
