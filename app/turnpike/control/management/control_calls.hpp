// SPDX-License-Identifier: BSD-3-Clause
// Calls from the management thread to the control thread, which owns the tables (doc/design/0026-two-threads.md):
//
//   management --run(work)--> one waiting call --serve()--> control executes `work` between two iterations
//   management <------------- its result, or what it threw -------------------------------------+
//
// Management waits for the result; control never waits. Thus, `work` may refer to anything of management's.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace turnpike::control {

class control_calls {
  public:
    control_calls() = default;
    control_calls(const control_calls&) = delete;
    control_calls& operator=(const control_calls&) = delete;

    /// Run `work` on the control thread. Before connect(), without a management thread, and within another call, that is
    /// the caller's thread.
    /// Answers  the result of `work`; an exception passes on
    /// Threads  management, or control before connect() and within a call
    template <class Work>
    std::invoke_result_t<Work> run(Work&& work) {
        using answer = std::invoke_result_t<Work>;
        if (!connected_ || serving_) return work();
        if constexpr (std::is_void_v<answer>) {
            wait_for([&] { work(); });
        } else {
            std::optional<answer> out;
            wait_for([&] { out.emplace(work()); });
            return std::move(*out);
        }
    }

    /// From now on, another thread calls run(). Before it starts, or after it ended (false).
    void connect(bool on = true) noexcept { connected_ = on; }
    [[nodiscard]] bool connected() const noexcept { return connected_ && !serving_; }
    /// Execute the waiting call.
    /// Threads  control
    void serve() noexcept;

  private:
    struct call {
        const std::function<void()>& work;
        std::exception_ptr thrown{};
    };
    void wait_for(const std::function<void()>& work);

    bool connected_ = false;
    bool serving_ = false;  ///< management waits meanwhile, so it does not read it
    std::atomic<call*> waiting_{nullptr};
    /// Number of executed calls. A member, because control notifies after the call may be gone.
    std::atomic<uint32_t> executed_{0};
};

}  // namespace turnpike::control
