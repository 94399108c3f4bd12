// SPDX-License-Identifier: BSD-3-Clause
// A dmadev with one memory-to-memory channel.
#pragma once

#include <rte_dmadev.h>
#include <rte_memzone.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::bench::dma {

/// An engine's capabilities as words ("mem_to_mem", "copy", "fill", "sva", ...).
[[nodiscard]] std::vector<std::string> capability_words(uint64_t capabilities);

/// A transfer failed, or the data is wrong: the run is void.
class void_run : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct memory_deleter {
    void operator()(const rte_memzone* zone) const noexcept;
};
/// Memory contiguous in the engine's addresses.
class dma_memory {
  public:
    /// node  NUMA node; -1: any
    /// Errors  ENOMEM, with a remedy
    static result<dma_memory> reserve(const std::string& name, uint64_t bytes, int node,
                                      bool by_virtual_address);
    [[nodiscard]] std::span<std::byte> bytes() const noexcept;
    [[nodiscard]] int node() const noexcept;
    /// The engine's address of the byte at `offset`.
    [[nodiscard]] uint64_t address(uint64_t offset) const noexcept { return base_ + offset; }

  private:
    std::unique_ptr<const rte_memzone, memory_deleter> zone_;
    uint64_t base_ = 0;
};

/// One operation: a copy, or a fill with `from` as the pattern.
struct transfer {
    uint64_t from;
    uint64_t to;
};

class engine {
  public:
    /// name   EAL's name ("dma_skeleton0", "0000:00:01.0"); empty: the first
    /// depth  maximum transfers in flight; limited to the engine's maximum
    /// Errors ENODEV: no dmadev of that name, or none at all; ENOTSUP: it does not copy from memory
    ///        to memory; the driver's errors of configure and start
    static result<std::unique_ptr<engine>> open(const std::string& name, unsigned depth);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] uint64_t capabilities() const noexcept { return capabilities_; }
    [[nodiscard]] bool can_fill() const noexcept {
        return (capabilities_ & RTE_DMA_CAPA_OPS_FILL) != 0;
    }
    /// True if the engine uses virtual addresses; otherwise bus addresses.
    [[nodiscard]] bool by_virtual_address() const noexcept {
        return (capabilities_ & RTE_DMA_CAPA_SVA) != 0;
    }
    [[nodiscard]] int node() const noexcept { return node_; }  ///< -1: unknown
    [[nodiscard]] unsigned depth() const noexcept { return depth_; }

    /// Run transfers one by one. Returns the TSC cycles of each, from before its enqueue until its
    /// completion is seen.
    ///
    /// after_each  called, untimed, with the index
    /// Throws  void_run
    template <class AfterEach>
    void one_by_one(std::span<const transfer> all, uint32_t bytes, bool fill,
                    std::span<uint32_t> cycles, const AfterEach& after_each);
    /// Like one_by_one(); each transfer is a write and, after a fence, a read of the same bytes.
    template <class AfterEach>
    void written_and_read(std::span<const transfer> writes, std::span<const transfer> reads,
                          uint32_t bytes, bool fill, std::span<uint32_t> cycles,
                          const AfterEach& after_each);
    /// Run all transfers, as many concurrently as the engine permits. Returns the TSC cycles from
    /// the first enqueue to the last completion.
    ///
    /// Throws  void_run
    uint64_t at_once(std::span<const transfer> all, uint32_t bytes, bool fill);

  private:
    engine() = default;
    int enqueue(const transfer& t, uint32_t bytes, bool fill, uint64_t flags) noexcept;
    void enqueue_or_throw(const transfer& t, uint32_t bytes, bool fill, uint64_t flags);
    void wait_for(unsigned completions);
    [[noreturn]] void fail_with_status();
    [[noreturn]] void fail_to_enqueue(int code);

    int16_t id_ = -1;
    bool started_ = false;
    std::string name_;
    uint64_t capabilities_ = 0;
    int node_ = -1;
    unsigned depth_ = 0;
};

}  // namespace turnpike::bench::dma

#include "engine.inl.hpp"
