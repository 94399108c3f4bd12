// SPDX-License-Identifier: BSD-3-Clause
// Requests of the control socket while turnpike forwards: protocol turnpike.control/1, one JSON object per
// line (doc/control.md). One table lists the requests, another the subjects of `show` (show.cpp).
//
//   line --> request --> controller --> {"result": ...} or {"error": {"what", "where", "code"}}
#pragma once

#include <string>
#include <string_view>

#include "control/change_requests.hpp"
#include "control/controller.hpp"
#include "sources/socket.hpp"

namespace turnpike::control {

/// Threads  control.
class requests {
  public:
    /// file  configuration file for reload()
    requests(controller& c, std::string file) : controller_(c), changes_(c, std::move(file)) {}

    /// First line to a client.
    [[nodiscard]] static std::string greeting();
    /// The result of the request `states`, as JSON text.
    [[nodiscard]] std::string states_text() const;
    /// Answers  the reply to a line. Changes are logged with the client's identity. Throws only bad_alloc.
    [[nodiscard]] std::string answer(std::string_view line, const sources::socket_peer& from);
    /// An error reply.
    [[nodiscard]] static std::string refusal(const error& why);

    /// Read the file again and apply it; if that fails, the running configuration stays. The result
    /// is logged with the client's identity.
    [[nodiscard]] result<state::changes> reload(const std::string& by);
    /// Rolls back a change that was not confirmed in time. Call often.
    void tick() noexcept { changes_.tick(); }
    /// A client has disconnected.
    void gone(const sources::socket_peer& p) noexcept {
        changes_.forget(p.connection);
        controller_.capturing().forget(p.connection);
    }

  private:
    friend struct request_table;
    controller& controller_;
    change_requests changes_;
};

}  // namespace turnpike::control
