// SPDX-License-Identifier: BSD-3-Clause
// Requests of the control socket while turnpike forwards: protocol turnpike.control/1, one JSON object per
// line (doc/control.md). One table lists the requests, another the subjects of `show` (show.cpp).
//
//   line --> request --> controller --> {"result": ...} or {"error": {"what", "where", "code"}}
#pragma once

#include <string>
#include <string_view>

#include "control/controller.hpp"
#include "control/management/change_requests.hpp"
#include "observe/inventory.hpp"
#include "sources/socket.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::control {

/// Threads  management.
class requests {
  public:
    /// file   configuration file for reload()
    /// calls  to the thread of `c`; null: the caller's thread is that one
    /// max_file_bytes  of the file that `save` writes
    requests(controller& c, std::string file, control_calls* calls = nullptr,
             size_t max_file_bytes = yaml::max_file_bytes)
        : controller_(c),
          calls_(calls != nullptr ? *calls : same_thread_),
          changes_(c, calls_, std::move(file), max_file_bytes) {}

    /// First line to a client.
    [[nodiscard]] static std::string greeting();
    /// Answers  the reply to a line. Changes are logged with the client's identity. Throws only bad_alloc.
    [[nodiscard]] std::string answer(std::string_view line, const sources::socket_peer& from);
    /// An error reply.
    [[nodiscard]] static std::string refusal(const error& why);

    /// Read the file again and apply it; if that fails, the running configuration stays. The result
    /// is logged with the client's identity.
    [[nodiscard]] result<state::changes> reload(const std::string& by);
    /// Rolls back a change that was not confirmed in time, and gives the controller the history's text. Call often.
    void tick() noexcept;
    /// turnpike stops: logs changes that are in no file.
    void stopping() const { changes_.past().log_unsaved(); }
    /// A client has disconnected.
    void gone(const sources::socket_peer& p) noexcept {
        changes_.forget(p.connection);
        calls_.run([&] { controller_.capturing().forget(p.connection); });
    }

  private:
    friend struct request_table;
    controller& controller_;
    control_calls same_thread_{};
    control_calls& calls_;
    change_requests changes_;
    uint64_t shown_version_ = 0;           ///< of the history, as the controller has it
    observe::unfinished_changes shown_{};  ///< as the controller has them
};

}  // namespace turnpike::control
