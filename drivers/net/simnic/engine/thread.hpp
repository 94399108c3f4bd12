// SPDX-License-Identifier: BSD-3-Clause
// engine=thread: polls the engine on a thread that EAL does not know.
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

    /// cpu  CPU affinity; negative: any CPU
    /// Errors  EINVAL: no such CPU; else the kernel's
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
