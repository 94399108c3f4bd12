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
    /// Connects and reads the greeting.
    /// patience  timeout of each answer
    /// Errors    no listener, or a different protocol
    [[nodiscard]] static result<connection> open(const std::string& path,
                                                 std::chrono::milliseconds patience);
    /// Sends a request and returns the complete answer.
    /// Errors  ECONNRESET, EPROTO, or ETIMEDOUT: no answer; EINVAL: the request is not UTF-8, or Ctrl-C at the prompt
    [[nodiscard]] result<nlohmann::json> ask(const nlohmann::json& request);

    /// The two halves of ask(), and the descriptor to poll between them.
    /// request     a "text" that exceeds a line is sent as a file in memory, by its descriptor
    /// descriptor  sent along (SCM_RIGHTS); -1: none
    [[nodiscard]] result<void> send(const nlohmann::json& request, int descriptor = -1);
    [[nodiscard]] result<nlohmann::json> receive();
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

  private:
    connection(owned_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    owned_fd fd_;
    std::string path_;
    std::string heard_{};  ///< received bytes after the last complete line
};

}  // namespace turnpike::ctl
