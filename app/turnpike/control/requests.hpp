// SPDX-License-Identifier: BSD-3-Clause
// What an operator may ask while turnpike forwards: turnpike.control/1, a JSON object a line
// (doc/control.md). One table has every request; what `show` shows has another (show.cpp).
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
    /// file  the configuration that reload() reads
    requests(controller& c, std::string file) : controller_(c), changes_(c, std::move(file)) {}

    /// What a client is told first.
    [[nodiscard]] static std::string greeting();
    /// The answer to a line; changes are said in the log, with who made them. Throws nothing but
    /// bad_alloc.
    [[nodiscard]] std::string answer(std::string_view line, const sources::socket_peer& from);
    /// An error as an answer.
    [[nodiscard]] static std::string refusal(const error& why);

    /// Read the file again and become what it says; what runs stays where that cannot be. The log
    /// says which, and who wanted it.
    [[nodiscard]] result<state::changes> reload(const std::string& by);
    /// To be called often: what was not confirmed in time is undone.
    void tick() noexcept { changes_.tick(); }
    /// A client's connection has ended.
    void gone(const sources::socket_peer& p) noexcept { changes_.forget(p.connection); }

  private:
    friend struct request_table;
    controller& controller_;
    change_requests changes_;
};

}  // namespace turnpike::control
