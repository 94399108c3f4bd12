// SPDX-License-Identifier: BSD-3-Clause
// A small HTTP server on a thread of its own (libmicrohttpd): one listening socket, GET and HEAD, one request per
// connection. Clients are bounded: their number, the size of a request's headers, the time between two bytes, and the
// time from connection to the end of the answer.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

struct MHD_Connection;
struct MHD_Daemon;

namespace turnpike::observe {

struct http_request {
    std::string_view path{}, accept{};  ///< accept: empty if the client sent none
};

struct http_answer {
    unsigned status = 200;
    std::string_view type = "text/plain; charset=utf-8";  ///< a literal: ends in 0
    std::string body{};
};

struct http_limits {
    unsigned connections = 32;
    size_t header_bytes = 16 * 1024;  ///< per connection, with what the answer's headers need
    unsigned idle_s = 5;
    std::chrono::milliseconds lifetime{15'000};
};

class http_server {
  public:
    using answer_function = std::function<http_answer(const http_request&)>;

    /// listening  a non-blocking listening stream socket
    /// answer     called on the server's thread; an exception is status 500
    /// Errors     ENOMEM, EAGAIN: no thread
    [[nodiscard]] static result<std::unique_ptr<http_server>> start(owned_fd listening,
                                                                    answer_function answer,
                                                                    const http_limits& l = {});
    /// Closes all connections and joins the thread: `answer` must not wait for the caller.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Closes connections that exceed their lifetime. Call once a second, from any thread.
    void close_overdue() noexcept;

  private:
    using clock = std::chrono::steady_clock;
    struct callbacks;

    http_server(answer_function answer, const http_limits& l)
        : answer_(std::move(answer)), limits_(l) {}
    [[nodiscard]] http_answer answer_to(const http_request& r) const noexcept;

    answer_function answer_;
    const http_limits limits_;
    std::mutex lock_;
    std::map<int, clock::time_point> connected_{};  ///< by file descriptor
    MHD_Daemon* daemon_ = nullptr;
};

}  // namespace turnpike::observe
