// SPDX-License-Identifier: BSD-3-Clause
// The requests that change what runs, or save it; requests.cpp has the table that they stand in. All
// throw `error` where they are refused.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "control/history.hpp"
#include "control/show.hpp"
#include "sources/route_stream.hpp"
#include "sources/socket.hpp"

namespace turnpike::control {

/// "uid 0 (process 7)"
[[nodiscard]] std::string who_is(const sources::socket_peer& p);

/// Threads  control.
class change_requests {
  public:
    using json = nlohmann::json;
    using peer = sources::socket_peer;

    /// file  the configuration that is loaded again, and saved
    change_requests(controller& c, std::string file) : history_(c), file_(std::move(file)) {}

    [[nodiscard]] json check(const request_fields& f, const peer& from) const;
    [[nodiscard]] json diff(const request_fields& f, const peer& from) const;
    [[nodiscard]] json apply(const request_fields& f, const peer& from);
    [[nodiscard]] json change(const request_fields& f, const peer& from);
    [[nodiscard]] json routes(const request_fields& f, const peer& from);
    [[nodiscard]] json reload(const request_fields& f, const peer& from);
    [[nodiscard]] json rollback(const request_fields& f, const peer& from);
    [[nodiscard]] json confirm(const request_fields& f, const peer& from);
    [[nodiscard]] json states(const request_fields& f) const;
    [[nodiscard]] json save(const request_fields& f, const peer& from);
    [[nodiscard]] json configuration(const request_fields& f);

    /// The file is read again; see requests::reload().
    [[nodiscard]] result<state::changes> reload(const std::string& by);
    /// What time brings: a change that nobody confirmed is undone.
    void tick() noexcept { history_.tick(); }
    /// A connection has ended: what it had begun is forgotten.
    void forget(uint64_t connection) noexcept { streams_.erase(connection); }

  private:
    [[nodiscard]] std::shared_ptr<const state::desired> running() const {
        return history_.states().front().state;
    }

    history history_;
    std::string file_;
    std::map<uint64_t, sources::route_stream>
        streams_;  ///< by connection: routes until the last part
    /// What is being handed out by the page, not kept for that, and its text.
    std::weak_ptr<const state::desired> written_{};
    std::string text_{};
};

}  // namespace turnpike::control
