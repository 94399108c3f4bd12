// SPDX-License-Identifier: BSD-3-Clause
// A child process that forwards between west and east on one core.
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
    std::string arguments{};  ///< for both devices, after the interface: ",mode=skb"
    std::string
        plugin{};  ///< the driver's shared object, if EAL does not find it itself; may be empty
    unsigned main_cpu = 0, worker_cpu = 1;
    unsigned descriptors = 2048;  ///< per ring
};

class forwarder {
  public:
    /// Errors  the program does not exist, or cannot be started
    [[nodiscard]] static result<std::unique_ptr<forwarder>> start(const forwarder_settings& s);
    /// Terminates the process, and kills it after ten seconds.
    ~forwarder();

    [[nodiscard]] pid_t process() const { return process_; }
    /// The forwarding thread; 0: not started yet.
    [[nodiscard]] pid_t worker() const;
    [[nodiscard]] bool alive();
    /// The end of its output.
    [[nodiscard]] std::string output() const;

  private:
    forwarder() = default;
    temporary_file log_, config_;
    pid_t process_ = -1;
    int input_ = -1;
};

}  // namespace turnpike::bench
