// SPDX-License-Identifier: BSD-3-Clause
// Requests that change or save the configuration; the request table is in requests.cpp. A refused
// request throws `error`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "control/management/history.hpp"
#include "control/management/show.hpp"
#include "sources/route_stream.hpp"
#include "sources/socket.hpp"
#include "state/errors.hpp"

namespace turnpike::control {

/// "uid 0 (process 7)"
[[nodiscard]] std::string who_is(const sources::socket_peer& p);

/// Thrown for a configuration with errors.
struct wrong_configuration {
    state::errors all{};
};

/// An error as in an answer: what, where and code.
[[nodiscard]] nlohmann::json error_json(const error& why);

/// Threads  management.
class change_requests {
  public:
    using json = nlohmann::json;
    using peer = sources::socket_peer;

    /// file            configuration file to reload and to save
    /// max_file_bytes  of the saved file
    change_requests(controller& c, control_calls& calls, std::string file, size_t max_file_bytes)
        : history_(c, calls), file_(std::move(file)), max_file_bytes_(max_file_bytes) {}

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
    [[nodiscard]] json configuration(const request_fields& f, const peer& from);

    [[nodiscard]] const history& past() const noexcept { return history_; }
    /// Read the file again; see requests::reload().
    [[nodiscard]] tl::expected<state::changes, state::errors> reload(
        const std::string& by, const std::string& comment = {});
    /// Rolls back a change that was not confirmed in time.
    void tick() noexcept { history_.tick(); }
    /// A client has disconnected: forget its incomplete upload and download.
    void forget(uint64_t connection) noexcept {
        streams_.erase(connection);
        read_.erase(connection);
    }

  private:
    [[nodiscard]] json with_undo(json changes) const;
    /// The state that the edits of a request change; null: the running one.
    [[nodiscard]] const past_state* base_of(const request_fields& f) const;
    void expect_running(const request_fields& f, const char* member) const;
    [[nodiscard]] std::shared_ptr<const state::configuration> running() const {
        return history_.states().front().state;
    }

    history history_;
    std::string file_;
    size_t max_file_bytes_;
    std::map<uint64_t, sources::route_stream> streams_;  ///< by connection: routes received so far
    /// A configuration as text, which clients read by pages.
    struct written {
        std::weak_ptr<const state::configuration> of{};
        std::string text{};
    };
    [[nodiscard]] std::shared_ptr<const written> write_running() const;
    std::map<uint64_t, std::shared_ptr<const written>>
        read_;  ///< by connection; one for the same configuration
};

}  // namespace turnpike::control
