// SPDX-License-Identifier: BSD-3-Clause
// Common base of all tables, independent of the key type: creation, statistics, and the writer's
// functions on bytes. Programs use hash::table (table.hpp), which is typed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/memory.hpp"
#include "base/result.hpp"
#include "hash/layout.hpp"
#include "isa/isa.hpp"
#include "rcu/defer.hpp"

namespace turnpike::hash {

/// keys  [n] of the table's key bytes, values [n] of its value bytes. Bit i of the result: key i
///       was found; otherwise its value is 0. n is 64 at most.
using lookup_function = uint64_t(const view&, const void* keys, void* values, uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<lookup_function>> lookup_kernels() noexcept;

/// Parameters of a table.
struct config {
    std::string name = "exact";      ///< for messages
    uint32_t max_entries = 1 << 20;  ///< put() beyond it fails with ENOSPC
    uint32_t expected_entries = 0;   ///< initial capacity; the table grows from it
    uint16_t max_simd_bitwidth = isa::any_simd_bitwidth;
    std::string kernel = {};  ///< a kernel's name; empty: automatic
    /// Automatic: the kernel that is the fastest on this CPU for keys and values of these sizes
    /// (fastest_kernel.hpp); false: the first one that is permitted.
    bool measure_kernels = false;
    memory allocator = {};            ///< for memory that lookups read
    rcu::defer_free defer_free = {};  ///< required if lookups run during changes
    std::optional<secret> keys = {};  ///< the hash's secret; empty: drawn at random
};

struct statistics {
    uint64_t entries;
    uint64_t slots;         ///< capacity when the current growth is complete
    uint64_t bytes;         ///< reserved now, including memory that a growth has not freed yet
    uint64_t displaced;     ///< entries outside their first bucket
    uint64_t moves;         ///< entries moved to make room, in total
    uint64_t growths;       ///< growths started, in total
    double load_at_growth;  ///< entries / slots when the last growth started; 0: none yet
    bool growing;
    double load() const noexcept {
        return static_cast<double>(entries) / static_cast<double>(slots);
    }
};

/// Threads  one writer (everything); readers call a kernel with readers_view().
class store {
  public:
    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM; ENOSYS: no random numbers
    [[nodiscard]] static result<std::unique_ptr<store>> create(const config& c, shape form);
    virtual ~store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    [[nodiscard]] virtual result<bool> put(const void* key, uint64_t value) = 0;
    virtual bool erase(const void* key) noexcept = 0;
    virtual void prefetch(const void* key) const noexcept = 0;
    [[nodiscard]] virtual std::optional<uint64_t> find(const void* key) const noexcept = 0;
    using visitor = std::function<void(const void* key, uint64_t value)>;
    virtual void for_each(const visitor& visit) const = 0;
    [[nodiscard]] virtual statistics stats() const noexcept = 0;

    const view* readers_view() const noexcept { return __atomic_load_n(&shown_, __ATOMIC_ACQUIRE); }
    lookup_function* lookup = nullptr;
    std::string_view kernel;
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  protected:
    store(const config& c, shape form) : config_(c), form_(form) {}
    void show(const view* v) noexcept { __atomic_store_n(&shown_, v, __ATOMIC_RELEASE); }
    /// An error without text if even the text has no memory.
    [[nodiscard]] tl::unexpected<error> refused(int code, const char* text) const noexcept;
    config config_;
    const shape form_;

  private:
    const view* shown_ = nullptr;
};

}  // namespace turnpike::hash
