// SPDX-License-Identifier: BSD-3-Clause
// wire=peer:NAME: a cable between two simnic devices of one process. Frames wait in a FIFO for the
// receiver; a full FIFO drops frames at the receiver's expense.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/cache_line.hpp"
#include "base/result.hpp"
#include "counters/counter.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

/// A ring buffer of frames, each preceded by its length.
///
/// Threads  one producer, one consumer.
class frame_fifo {
  public:
    frame_fifo();
    /// Returns false if it is full.
    bool put(const outgoing& frame) noexcept;
    /// Get the oldest frames, in order; returns how many.
    uint32_t front(std::span<outgoing> into) noexcept;
    /// Drop the oldest n frames, which front() returned.
    void drop(uint32_t n) noexcept;

    counters::counter lost{};  ///< counted by the producer

  private:
    uint32_t record_at(uint64_t& at) const noexcept;

    static constexpr uint64_t capacity = 1u << 20;
    static constexpr uint32_t skip = UINT32_MAX;  ///< in place of a length: continue at the start

    std::unique_ptr<uint8_t[]> ring_;
    alignas(cache_line_bytes) std::atomic<uint64_t> put_{0};
    alignas(cache_line_bytes) std::atomic<uint64_t> got_{0};
};

/// Both directions, and which device holds which end.
struct cable_core {
    frame_fifo to[2]{};
    std::atomic<uint32_t> ends{0};
};

class cable final : public wire {
  public:
    /// self, peer  names of the two devices; either may come first
    /// Errors  EBUSY: the peer has a cable to another device, or this end is taken
    [[nodiscard]] static result<std::unique_ptr<wire>> connect(const std::string& self,
                                                               const std::string& peer);
    ~cable() override;

    uint32_t peek(uint64_t, std::span<outgoing> into) noexcept override {
        return core_->to[end_].front(into);
    }
    void pop(uint32_t n) noexcept override { core_->to[end_].drop(n); }
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing> frames) noexcept override;
    bool up() const noexcept override { return core_->ends.load(std::memory_order_acquire) == 3; }
    size_t counts(std::span<wire_count> into) const noexcept override;

  private:
    cable(std::shared_ptr<cable_core> core, unsigned end, std::string self) noexcept
        : core_(std::move(core)), end_(end), self_(std::move(self)) {}

    std::shared_ptr<cable_core> core_;
    const unsigned end_;
    const std::string self_;
};

}  // namespace turnpike::simnic
