// SPDX-License-Identifier: BSD-3-Clause
// wire=sink: takes every frame, sends none.
#pragma once

#include "wire/wire.hpp"

namespace turnpike::simnic {

class sink final : public wire {
  public:
    outgoing peek(uint64_t) noexcept override { return {}; }
    void pop() noexcept override {}
    bool waits() const noexcept override { return true; }
    void send(const uint8_t*, uint32_t) noexcept override {}
    size_t counts(std::span<wire_count>) const noexcept override { return 0; }
};

}  // namespace turnpike::simnic
