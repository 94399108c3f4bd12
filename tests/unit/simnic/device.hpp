// SPDX-License-Identifier: BSD-3-Clause
// A device over the test's memory, and a host that drives it descriptor by descriptor.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "counters/meter.hpp"
#include "engine/engine.hpp"

namespace turnpike::simnic::test {

inline constexpr uint64_t iova_base = 0x7'0000'0000;  // no pointer looks like this

/// Rings and buffers in one block, page-aligned.
struct host_memory {
    static constexpr size_t bytes = 4u << 20;
    std::unique_ptr<uint8_t[], void (*)(uint8_t*)> block{
        static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)), [](uint8_t* p) { std::free(p); }};

    host_memory() { std::memset(block.get(), 0, bytes); }
    uint8_t* at(uint64_t iova) { return block.get() + (iova - iova_base); }
    [[nodiscard]] memory::source source() {
        return [this] { return std::vector<memory_range>{{iova_base, bytes, block.get()}}; };
    }
};

inline constexpr uint64_t rx_ring_at = iova_base, tx_ring_at = iova_base + 0x2'0000,
                          buffers_at = iova_base + 0x10'0000;
inline constexpr uint32_t ring_size = 256;

/// Rounds of a random test: ten times as many under TURNPIKE_LONG.
inline uint32_t rounds(uint32_t few) {
    return std::getenv("TURNPIKE_LONG") != nullptr ? 10 * few : few;
}

inline engine_settings settings_of(std::string_view profile) {
    return {.policy = *policy_of(profile), .rx_queues = 1, .tx_queues = 1};
}

struct lab {
    host_memory memory{};
    tail_register rx_tail{}, tx_tail{};
    engine device;

    lab(std::string_view profile, std::unique_ptr<wire> w)
        : lab(settings_of(profile), std::move(w)) {}
    lab(const engine_settings& s, std::unique_ptr<wire> w)
        : device(s, memory.source(), nullptr, std::move(w)) {
        device.filter().promiscuous = true;
        device.exclusively([&] {
            device.rx(0).attach(
                {.iova = rx_ring_at, .size = ring_size, .buffer_bytes = 2048, .tail = &rx_tail});
            device.tx(0).attach({.iova = tx_ring_at, .size = ring_size, .tail = &tx_tail});
            device.set_queues(1, 1);
        });
    }
    descriptor& rx(uint32_t i) {
        const uint32_t bytes = device.settings().policy.rx.descriptor_bytes;
        return *reinterpret_cast<descriptor*>(
            memory.at(rx_ring_at + uint64_t{i % ring_size} * bytes));
    }
    descriptor& tx(uint32_t i) {
        return *reinterpret_cast<descriptor*>(
            memory.at(tx_ring_at + i % ring_size * sizeof(descriptor)));
    }
    static uint64_t buffer(uint32_t i) { return buffers_at + i % 1024 * 2048u; }
};

/// Keeps frames that the device sends; returns the frames queued by the test.
class loop final : public wire {
  public:
    std::vector<std::vector<uint8_t>> sent{}, to_host{};

    uint32_t peek(uint64_t, std::span<outgoing> into) noexcept override {
        uint32_t n = 0;
        for (size_t i = next_; i < to_host.size() && n < into.size(); ++i)
            into[n++] = {to_host[i].data(), static_cast<uint32_t>(to_host[i].size())};
        return n;
    }
    void pop(uint32_t n) noexcept override { next_ += n; }
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing> frames) noexcept override {
        for (const outgoing& f : frames) sent.emplace_back(f.bytes, f.bytes + f.length);
    }
    size_t counts(std::span<wire_count>) const noexcept override { return 0; }

  private:
    size_t next_ = 0;
};

}  // namespace turnpike::simnic::test
