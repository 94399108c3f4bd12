// SPDX-License-Identifier: BSD-3-Clause
// The reason that a driver gives for a failure: ethdev returns a number, and the sentence is in DPDK's log.
#pragma once

#include <string>

namespace turnpike::rxtx {

/// While one exists, keeps the errors that this thread writes to DPDK's log, which they reach as before.
/// Threads  any; one object a thread
class driver_messages {
  public:
    driver_messages();
    ~driver_messages();
    driver_messages(const driver_messages&) = delete;
    driver_messages& operator=(const driver_messages&) = delete;

    /// A driver's first error, or else EAL's, without a line end; empty: none.
    [[nodiscard]] std::string reason() const;

  private:
    std::string text_;
};

}  // namespace turnpike::rxtx
