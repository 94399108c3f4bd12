// SPDX-License-Identifier: BSD-3-Clause
#include "connection.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/write_all.hpp"
#include "signals.hpp"

namespace turnpike::ctl {

using nlohmann::json;

result<connection> connection::open(const std::string& path, std::chrono::milliseconds patience) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path)
        return fail(ENAMETOOLONG, path, "socket path is too long");
    std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
    owned_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval most{.tv_sec = patience.count() / 1000,
                       .tv_usec = patience.count() % 1000 * 1000};
    if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
        ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) != 0)
        return fail(errno, path, "cannot create a socket");
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        return fail(
            errno, path,
            "cannot connect to turnpike; --socket PATH or TURNPIKE_SOCKET names another socket");
    connection made(std::move(fd), path);
    const auto greeting = made.receive();
    if (!greeting) return tl::unexpected<error>(greeting.error());
    if (!greeting->is_object() || greeting->value("schema", json()) != "turnpike.control/1")
        return fail(EPROTO, path, "does not speak turnpike.control/1");
    return made;
}

result<json> connection::receive() {
    size_t end;
    while ((end = heard_.find('\n')) == std::string::npos) {
        char bytes[65536];
        if (is_interrupted())
            return fail(EINVAL, {},
                        "interrupted before the answer: turnpike may have done it (show history)");
        const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN)
            return fail(ETIMEDOUT, path_, "turnpike does not answer; --timeout S waits longer");
        if (n <= 0) return fail(ECONNRESET, path_, "turnpike has closed the connection");
        heard_.append(bytes, static_cast<size_t>(n));
    }
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    json answer = json::parse(line, nullptr, false);
    if (answer.is_discarded()) return fail(EPROTO, path_, "answer is not JSON");
    return answer;
}

result<json> connection::ask(const json& request) {
    if (auto sent = send(request); !sent) return tl::unexpected<error>(sent.error());
    return receive();
}

namespace {

/// send() with a descriptor.
ssize_t send_with(int fd, const char* from, size_t n, int descriptor) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
    iovec part{const_cast<char*>(from), n};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
    return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

result<owned_fd> memory_file(const std::string& text) {
    owned_fd fd(::memfd_create("turnpike-text", MFD_CLOEXEC));
    if (fd.get() < 0 || !write_all(fd.get(), text))
        return fail(errno, {}, "there is no memory for the file's text");
    return fd;
}

}  // namespace

result<void> connection::send(const json& request, int descriptor) {
    constexpr size_t max_line_bytes = 1U << 20;
    if (is_interrupted()) return fail(EINVAL, {}, "interrupted; the request was not sent");
    std::string line;
    owned_fd text;
    try {
        line = request.dump() + "\n";
    } catch (
        const json::type_error&) {  // of JSON's dump(): a text of other bytes would be another one
        return fail(EINVAL, {}, "the request has a text that is not UTF-8");
    }
    if (line.size() > max_line_bytes && request.contains("text")) {
        json rest = request;
        rest.erase("text");
        line = rest.dump() + "\n";
        auto made = memory_file(request.at("text").get_ref<const std::string&>());
        if (!made) return tl::unexpected<error>(made.error());
        text = std::move(*made);
        descriptor = text.get();
    }
    for (size_t sent = 0; sent < line.size();) {
        const bool with = descriptor >= 0 && sent == 0;
        const ssize_t n =
            with ? send_with(fd_.get(), line.data(), line.size(), descriptor)
                 : ::send(fd_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR && !is_interrupted()) continue;
        if (n < 0) break;  // the peer may have sent an error before it closed
        sent += static_cast<size_t>(n);
    }
    return {};
}

}  // namespace turnpike::ctl
