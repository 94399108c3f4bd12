// SPDX-License-Identifier: BSD-3-Clause
// Hand-over of work that may block, from the control thread to another one: a batch at a time, which control plans, the other
// thread executes and disposes of, and control adopts between (doc/design/0026-two-threads.md).
//
//   idle --plan()--> planned --serve()--> executing --> done --adopted()--> adopted --serve()--> idle
//
// Without another thread, control executes and disposes of the batch itself, in plan() and adopted().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace turnpike::control {

template <class Batch>
class upkeep {
  public:
    using work = std::function<void(Batch&)>;
    /// execute  must not throw
    explicit upkeep(work execute) : execute_(std::move(execute)) {}
    upkeep(const upkeep&) = delete;
    upkeep& operator=(const upkeep&) = delete;

    /// Whether there is a thread in serve(). Before it begins, and after it has ended.
    /// Threads  control
    void connect(bool on) noexcept {
        connected_ = on;
        ending_.store(false, std::memory_order_relaxed);
        if (on || (at() != state::planned && at() != state::adopted)) return;
        batch_.reset();
        to(state::idle);
    }
    [[nodiscard]] bool connected() const noexcept { return connected_; }
    /// Threads  control
    [[nodiscard]] bool idle() const noexcept { return at() == state::idle; }
    /// While idle().
    /// Threads  control
    void plan(std::unique_ptr<Batch> batch) {
        batch_ = std::move(batch);
        if (connected_) return to(state::planned);
        execute_(*batch_);
        to(state::done);
    }
    /// The executed batch; null: none.
    /// Threads  control; another one while control does nothing here
    [[nodiscard]] Batch* done() noexcept { return at() == state::done ? batch_.get() : nullptr; }
    /// After done().
    void adopted() noexcept {
        if (connected_) return to(state::adopted);
        batch_.reset();
        to(state::idle);
    }
    /// Wait until no batch is executed, and discard a planned one. Control does nothing here meanwhile.
    void conclude() noexcept {
        wait();
        state expected = state::planned;
        if (!state_.compare_exchange_strong(expected, state::discarding)) {
            if (expected == state::executing) wait();  // it has just begun
            return;
        }
        batch_.reset();
        to(state::idle);
    }
    /// Wait until no batch is executed.
    /// Threads  any
    void wait() const noexcept {
        for (;;) {
            const uint32_t seen = changes_.load(std::memory_order_acquire);
            if (at() != state::executing) return;
            changes_.wait(seen);
        }
    }

    /// Executes and disposes of batches until end().
    void serve() noexcept {
        while (!ending_.load(std::memory_order_acquire)) {
            const uint32_t seen = changes_.load(std::memory_order_acquire);
            state expected = state::planned;
            if (state_.compare_exchange_strong(expected, state::executing)) {
                execute_(*batch_);
                to(state::done);
            } else if (expected == state::adopted) {
                batch_.reset();
                to(state::idle);
            } else if (!ending_.load(std::memory_order_acquire)) {
                changes_.wait(seen);
            }
        }
    }
    /// Threads  any
    void end() noexcept {
        ending_.store(true, std::memory_order_release);
        changes_.fetch_add(1, std::memory_order_release);
        changes_.notify_all();
    }

  private:
    enum class state : uint8_t { idle, planned, discarding, executing, done, adopted };
    [[nodiscard]] state at() const noexcept { return state_.load(std::memory_order_acquire); }
    void to(state next) noexcept {
        state_.store(next, std::memory_order_release);
        changes_.fetch_add(1, std::memory_order_release);
        changes_.notify_all();
    }

    const work execute_;
    std::unique_ptr<Batch> batch_{};  ///< belongs to the thread that the state names
    std::atomic<state> state_{state::idle};
    std::atomic<uint32_t> changes_{0};  ///< of state_ and ending_
    std::atomic<bool> ending_{false};
    bool connected_ = false;
};

}  // namespace turnpike::control
