// SPDX-License-Identifier: BSD-3-Clause
// A program that forwards between west and east on one core, as a child process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.hpp"
#include "harness.hpp"

namespace turnpike::bench {

enum class forwarder_app { testpmd_io, testpmd_macswap, turnpike };
[[nodiscard]] const char* name_of(forwarder_app app);

struct forwarder_settings {
    forwarder_app app = forwarder_app::testpmd_io;
    std::string driver{};     ///< net_xsk
    std::string arguments{};  ///< of both devices, after their interface: ",mode=skb"
    std::string
        plugin{};  ///< the driver's shared object, where EAL does not find it itself; may be empty
    unsigned main_cpu = 0, worker_cpu = 1;
    unsigned descriptors = 2048;  ///< of each ring
};

class forwarder {
  public:
    /// Errors  the program is not there, or cannot be started
    [[nodiscard]] static result<std::unique_ptr<forwarder>> start(const forwarder_settings& s);
    /// Asked to end, and killed after ten seconds.
    ~forwarder();

    [[nodiscard]] pid_t process() const { return process_; }
    /// The thread that forwards; 0: it is not there yet.
    [[nodiscard]] pid_t worker() const;
    [[nodiscard]] bool alive();
    /// The last of what it said.
    [[nodiscard]] std::string said() const;

  private:
    forwarder() = default;
    temporary_file log_, config_;
    pid_t process_ = -1;
    int input_ = -1;
};

}  // namespace turnpike::bench
