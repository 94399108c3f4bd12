// SPDX-License-Identifier: BSD-3-Clause
// engine=thread: the device works by itself, on a thread that is not EAL's.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/result.hpp"
#include "engine/engine.hpp"

namespace turnpike::simnic {

/// Threads  control.
class engine_thread {
  public:
    explicit engine_thread(engine& e) noexcept : engine_(e) {}
    ~engine_thread() { stop(); }

    /// cpu  where it runs; negative: wherever the kernel puts it
    /// Errors  EINVAL: no such CPU; the kernel's
    [[nodiscard]] result<void> start(int cpu);
    void stop() noexcept;

  private:
    static void* run(void* self) noexcept;
    void loop() noexcept;

    engine& engine_;
    pthread_t thread_{};
    bool running_ = false;
    std::atomic<bool> stop_{false};
};

}  // namespace turnpike::simnic
