// SPDX-License-Identifier: BSD-3-Clause
// wire=record:FILE: writes every frame that the device sends to a pcap file (nanoseconds, wall
// clock), which is complete after the port is closed. Delivers no frames.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "counters/counter.hpp"
#include "wire/wire.hpp"

struct pcap_dumper;

namespace turnpike::simnic {

class record final : public wire {
  public:
    /// Creates or truncates the file. Errors  libpcap's
    [[nodiscard]] static result<std::unique_ptr<wire>> open(const std::string& file);
    ~record() override;

    uint32_t peek(uint64_t, std::span<outgoing>) noexcept override { return 0; }
    void pop(uint32_t) noexcept override {}
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing> frames) noexcept override;
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    explicit record(pcap_dumper* to) noexcept : to_(to) {}

    pcap_dumper* const to_;
    counters::counter written_{}, failed_{};
};

}  // namespace turnpike::simnic
