// SPDX-License-Identifier: BSD-3-Clause
// wire=tap:NAME: connects the device to a TAP interface of the kernel, for traffic with real hosts.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "counters/counter.hpp"
#include "descriptor.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

class tap final : public wire {
  public:
    /// Creates the interface and brings it up. Errors  EINVAL: invalid interface name; else the
    /// kernel's
    [[nodiscard]] static result<std::unique_ptr<wire>> open(const std::string& name);
    ~tap() override;

    uint32_t peek(uint64_t, std::span<outgoing> into) noexcept override;
    void pop(uint32_t) noexcept override { held_ = 0; }
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing> frames) noexcept override;
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    explicit tap(int fd) : fd_(fd), frame_(std::make_unique<uint8_t[]>(max_frame_bytes)) {}

    const int fd_;
    std::unique_ptr<uint8_t[]> frame_;
    uint32_t held_ = 0;
    counters::counter refused_{};
};

}  // namespace turnpike::simnic
