// SPDX-License-Identifier: BSD-3-Clause
// wire=sink: drops every frame, delivers none.
#pragma once

#include "wire/wire.hpp"

namespace turnpike::simnic {

class sink final : public wire {
  public:
    uint32_t peek(uint64_t, std::span<outgoing>) noexcept override { return 0; }
    void pop(uint32_t) noexcept override {}
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing>) noexcept override {}
    size_t counts(std::span<wire_count>) const noexcept override { return 0; }
};

}  // namespace turnpike::simnic
