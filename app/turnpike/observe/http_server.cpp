// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_server.hpp"

#include <microhttpd.h>
#include <sys/socket.h>

#include <cerrno>
#include <exception>

namespace turnpike::observe {

struct http_server::callbacks {
    static MHD_Result send(MHD_Connection* to, const http_answer& a) {
        MHD_Response* const r = MHD_create_response_from_buffer(
            a.body.size(), const_cast<char*>(a.body.data()), MHD_RESPMEM_MUST_COPY);
        if (r == nullptr) return MHD_NO;
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a.type.data());
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
        MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
        if (a.status == MHD_HTTP_METHOD_NOT_ALLOWED)
            MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
        const MHD_Result queued = MHD_queue_response(to, a.status, r);
        MHD_destroy_response(r);
        return queued;
    }

    static MHD_Result handle(void* self, MHD_Connection* c, const char* url, const char* method,
                             const char* /*version*/, const char* /*upload*/, size_t* upload_bytes,
                             void** seen) {
        const http_server& server = *static_cast<http_server*>(self);
        const std::string_view verb(method);
        // Answered before its body, which is not read.
        if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD)
            return send(c, {.status = MHD_HTTP_METHOD_NOT_ALLOWED,
                            .body = "Only GET and HEAD are possible.\n"});
        static int once;
        if (*seen == nullptr) {
            *seen = &once;
            return MHD_YES;
        }
        if (*upload_bytes != 0) {
            *upload_bytes = 0;
            return MHD_YES;
        }
        const char* const accept =
            MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
        return send(c, server.answer_to({.path = url, .accept = accept == nullptr ? "" : accept}));
    }

    /// libmicrohttpd says so before it closes the socket: a file descriptor in the map is open.
    static void connection(void* self, MHD_Connection* c, void** /*context*/,
                           MHD_ConnectionNotificationCode what) {
        http_server& server = *static_cast<http_server*>(self);
        const MHD_ConnectionInfo* const info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info == nullptr) return;
        try {
            const std::lock_guard hold(server.lock_);
            if (what == MHD_CONNECTION_NOTIFY_STARTED)
                server.connected_[info->connect_fd] = clock::now();
            else
                server.connected_.erase(info->connect_fd);
        } catch (const std::exception&) {  // no memory: only idle_s bounds this connection
        }
    }
};

result<std::unique_ptr<http_server>> http_server::start(owned_fd listening, answer_function answer,
                                                        const http_limits& l) {
    std::unique_ptr<http_server> out(new http_server(std::move(answer), l));
    errno = 0;
    out->daemon_ = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr, callbacks::handle,
        out.get(), MHD_OPTION_LISTEN_SOCKET, listening.get(), MHD_OPTION_CONNECTION_LIMIT,
        l.connections, MHD_OPTION_CONNECTION_TIMEOUT, l.idle_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        l.header_bytes, MHD_OPTION_NOTIFY_CONNECTION, callbacks::connection, out.get(),
        MHD_OPTION_END);
    if (out->daemon_ == nullptr)
        return fail(errno == 0 ? ENOMEM : errno, {}, "the HTTP server cannot be started");
    (void)listening.release();  // libmicrohttpd closes it
    return out;
}

http_server::~http_server() {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

void http_server::close_overdue() noexcept {
    const auto now = clock::now();
    const std::lock_guard hold(lock_);
    for (const auto& [fd, since] : connected_)
        if (now - since > limits_.lifetime) ::shutdown(fd, SHUT_RDWR);
}

http_answer http_server::answer_to(const http_request& r) const noexcept {
    try {
        return answer_(r);
    } catch (const std::exception&) {  // out of memory
        return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR};
    }
}

}  // namespace turnpike::observe
