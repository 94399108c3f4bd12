// SPDX-License-Identifier: BSD-3-Clause
// A connection to a control socket: turnpike.control/1.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::ctl {

class connection {
  public:
    /// Connects, and takes the greeting.
    /// patience  that an answer is waited for
    /// Errors    nobody listens there, or it speaks something else
    [[nodiscard]] static result<connection> open(const std::string& path,
                                                 std::chrono::milliseconds patience);
    /// The whole answer to a request.
    /// Errors  it cannot be sent, or none comes
    [[nodiscard]] result<nlohmann::json> ask(const nlohmann::json& request);

    /// The two halves of it, and what to wait for between.
    [[nodiscard]] result<void> send(const nlohmann::json& request);
    [[nodiscard]] result<nlohmann::json> hear();
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

  private:
    connection(owned_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    owned_fd fd_;
    std::string path_;
    std::string heard_{};  ///< behind the last line
};

}  // namespace turnpike::ctl
