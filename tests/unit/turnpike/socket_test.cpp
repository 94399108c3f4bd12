// SPDX-License-Identifier: BSD-3-Clause
// The control socket's lines and limits, on socket pairs and in the file system, without a controller.
#include "sources/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace turnpike::sources {
namespace {

using std::chrono::milliseconds;

/// A client whose socket does not block either.
class asker {
  public:
    explicit asker(owned_fd fd) : fd_(std::move(fd)) {}

    /// Bytes that it could send.
    size_t send(std::string_view text) {
        const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return n < 0 ? 0 : static_cast<size_t>(n);
    }
    std::string received() {
        std::string out;
        char bytes[65536];
        ssize_t n;
        while ((n = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            out.append(bytes, static_cast<size_t>(n));
        ended_ |= n == 0 || (n < 0 && errno == ECONNRESET);
        return out;
    }
    /// After received(): the other end has closed.
    [[nodiscard]] bool ended() const { return ended_; }
    void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    owned_fd fd_;
    bool ended_ = false;
};

class socket_lines : public testing::Test {
  protected:
    /// A client, and the greeting taken.
    asker client() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        socket_->adopt(owned_fd(ends[0]));
        asker a{owned_fd(ends[1])};
        EXPECT_EQ(a.received(), "hello\n");
        return a;
    }
    void rounds(int n = 50) {
        for (int i = 0; i < n; ++i) socket_->serve();
    }
    std::string ask(asker& a, std::string_view text) {
        EXPECT_EQ(a.send(text), text.size());
        rounds();
        return a.received();
    }
    void make(const socket_limits& l = {}) {
        socket_ = std::make_unique<line_socket>(
            line_socket::dependencies{
                .greeting = "hello",
                .answer =
                    [this](std::string_view line, const socket_peer& from) {
                        EXPECT_EQ(from.pid, ::getpid());
                        EXPECT_EQ(from.uid, ::getuid());
                        ++asked_;
                        last_line_ = line;
                        last_ = from;
                        if (line == "throw") throw std::bad_alloc();
                        if (line == "much") return std::string(4u << 20, 'm');
                        return "<" + std::string(line) + ">";
                    },
                .refusal = [](const error& e) { return "refused: " + e.text; },
                .log = [this](const std::string& text) { log_ += text + "\n"; }},
            l);
    }
    void SetUp() override { make(); }

    std::unique_ptr<line_socket> socket_;
    std::string log_;
    socket_peer last_{};  ///< that was answered
    std::string last_line_{};
    int asked_ = 0;
};

/// SO_PEERGROUPS: of the moment at which it connected, as SO_PEERCRED.
TEST_F(socket_lines, a_client_has_its_groups) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root takes other groups";
    const auto set_groups = [](const std::vector<unsigned>& groups) {  // of this thread alone
        return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
    };
    std::vector<unsigned> own(64);
    own.resize(static_cast<size_t>(std::max(0, ::getgroups(64, own.data()))));
    for (const std::vector<unsigned>& groups : {std::vector<unsigned>{77, 4242}, {}}) {
        ASSERT_TRUE(set_groups(groups));
        asker a = client();
        ASSERT_TRUE(set_groups(own));
        ask(a, "one\n");
        EXPECT_EQ(last_.groups, groups);
        EXPECT_EQ(last_.gid, ::getgid());
    }
}

TEST_F(socket_lines, a_line_is_answered_however_it_comes) {
    asker a = client();
    EXPECT_EQ(ask(a, "one\n"), "<one>\n");
    EXPECT_EQ(ask(a, "two\nthree\n\n \r\nfour\n"), "<two>\n<three>\n<four>\n")
        << "blank ones are none";
    std::string bytewise;
    for (const char c : std::string("five\nsix\n")) bytewise += ask(a, std::string(1, c));
    EXPECT_EQ(bytewise, "<five>\n<six>\n");
    EXPECT_EQ(ask(a, "se"), "");
    EXPECT_EQ(ask(a, "ven\nei"), "<seven>\n");
    EXPECT_EQ(ask(a, "ght\n"), "<eight>\n");
    EXPECT_EQ(ask(a, std::string("\0\xff\x01\n", 4)), std::string("<\0\xff\x01>\n", 6));
}

TEST_F(socket_lines, one_line_a_round_and_clients_in_turns) {
    asker a = client(), b = client();
    a.send("1\n2\n3\n");
    b.send("4\n");
    for (int i = 1; i <= 4; ++i) {
        socket_->serve();
        EXPECT_EQ(asked_, i);
    }
    EXPECT_EQ(a.received(), "<1>\n<2>\n<3>\n");
    EXPECT_EQ(b.received(), "<4>\n");
    a.send("5\n6\n");
    b.send("7\n");
    socket_->serve();
    socket_->serve();
    EXPECT_EQ(b.received(), "<7>\n") << "after one of the other's";
}

TEST_F(socket_lines, half_closed_it_is_told_what_it_asked) {
    asker a = client();
    a.send("one\ntwo\nthe end lacks its end");
    a.half_close();
    rounds();
    EXPECT_EQ(a.received(), "<one>\n<two>\n<the end lacks its end>\n");
    EXPECT_TRUE(a.ended());
    EXPECT_EQ(socket_->clients(), 0U);
}

TEST_F(socket_lines, who_hangs_up_is_forgotten) {
    {
        asker a = client();
        a.send("one\ntw");
    }
    rounds();
    EXPECT_EQ(socket_->clients(), 0U);
    EXPECT_EQ(asked_, 1) << "the request was answered; its client is gone";
}

TEST_F(socket_lines, the_longest_line_and_one_more_byte) {
    make({.line_bytes = 100'000});
    const auto send_line = [this](size_t bytes) {
        asker a = client();
        const std::string line = std::string(bytes, 'x') + "\n";
        std::string answers;
        for (size_t sent = 0; sent < line.size() && !a.ended();) {
            sent += a.send(std::string_view(line).substr(sent));
            rounds(2);
            answers += a.received();
        }
        rounds();
        answers += a.received();
        return std::pair(answers, a.ended());
    };
    const auto [good, ended] = send_line(100'000);
    EXPECT_EQ(good.size(), 100'003U);
    EXPECT_FALSE(ended);
    const auto [bad, gone] = send_line(100'001);
    EXPECT_EQ(bad, "refused: the line is longer than 100000 bytes; the connection ends here\n");
    EXPECT_TRUE(gone);
    EXPECT_NE(log_.find("too long"), std::string::npos);
    const auto [endless, over] = send_line(10'000'000);
    EXPECT_EQ(endless, bad);
    EXPECT_TRUE(over);
}

TEST_F(socket_lines, who_does_not_read_is_let_go_and_others_are_served) {
    make({.patience = milliseconds(50)});
    asker deaf = client(), other = client();
    deaf.send("much\n");
    for (int i = 0; i < 1000; ++i) deaf.send("much\n");
    EXPECT_EQ(ask(other, "one\n"), "<one>\n");
    EXPECT_EQ(asked_, 2) << "its second line waits for it to take the first one's answer";
    std::this_thread::sleep_for(milliseconds(60));
    rounds();
    EXPECT_EQ(socket_->clients(), 1U);
    EXPECT_NE(log_.find("does not read"), std::string::npos);
    EXPECT_EQ(ask(other, "two\n"), "<two>\n");
}

TEST_F(socket_lines, a_slow_reader_gets_all_of_it) {
    make({.patience = milliseconds(200)});
    asker a = client();
    a.send("much\n");
    std::string answers;
    for (int i = 0; i < 10'000 && answers.size() <= 4u << 20; ++i) {
        rounds(1);
        answers += a.received();
    }
    EXPECT_EQ(answers.size(), (4u << 20) + 1);
}

TEST_F(socket_lines, one_client_too_many_takes_the_place_of_the_idlest) {
    make({.clients = 4});
    std::vector<asker> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(client());
        std::this_thread::sleep_for(milliseconds(2));
    }
    EXPECT_EQ(ask(all[0], "one\n"), "<one>\n");
    asker fifth = client();
    EXPECT_EQ(ask(fifth, "two\n"), "<two>\n");
    EXPECT_NE(all[1].received().find("refused: there are too many clients"), std::string::npos);
    EXPECT_TRUE(all[1].ended());
    for (const int i : {0, 2, 3})
        EXPECT_EQ(ask(all[static_cast<size_t>(i)], "three\n"), "<three>\n");
    EXPECT_EQ(socket_->clients(), 4U);
}

TEST_F(socket_lines, where_all_have_asked_one_more_is_refused) {
    make({.clients = 2});
    asker a = client(), b = client();
    a.send("much\n");
    b.send("much\n");
    rounds();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    asker third{owned_fd(ends[1])};
    socket_->adopt(owned_fd(ends[0]));
    EXPECT_NE(third.received().find("refused: there are too many"), std::string::npos);
    EXPECT_EQ(socket_->clients(), 2U);
}

TEST_F(socket_lines, an_answer_that_throws_ends_that_client_alone) {
    asker a = client(), b = client();
    EXPECT_EQ(ask(a, "throw\n"), "");
    EXPECT_TRUE(a.ended());
    EXPECT_EQ(ask(b, "one\n"), "<one>\n");
}

/// sendmsg() with a descriptor.
void send_with(const asker& by, std::string_view text, int descriptor) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
    iovec part{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
    EXPECT_EQ(::sendmsg(by.fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
}

/// Linux returns a plain message and the next one, with a descriptor, in one call.
TEST_F(socket_lines, a_descriptor_is_of_the_line_with_which_it_came) {
    const owned_fd file(::memfd_create("file", MFD_CLOEXEC));
    asker a = client();
    a.send("plain\n");
    send_with(a, "with\n\n", file.get());
    a.send("plain\nplain");
    send_with(a, "\nwith", file.get());
    send_with(a, "\nwith\n", file.get());
    a.send("plain\n");
    for (int round = 0, answered = 0; round < 50; ++round) {
        socket_->serve();
        if (asked_ == answered) continue;
        answered = asked_;
        EXPECT_EQ(last_line_ == "with", last_.descriptor >= 0) << answered;
    }
    EXPECT_EQ(asked_, 7);
}

/// A TCP connection whose other end does not read, with more data than that end's buffer takes.
std::pair<owned_fd, owned_fd> congested_connection() {
    owned_fd listens(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(listens.get(), address, size), 0);
    EXPECT_EQ(::listen(listens.get(), 1), 0);
    EXPECT_EQ(::getsockname(listens.get(), address, &size), 0);
    EXPECT_EQ(::connect(out.get(), address, size), 0);
    owned_fd in(::accept4(listens.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string data(1 << 16, 'x');
    while (::send(out.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    return {std::move(out), std::move(in)};
}

/// close() would wait until the other end has read. The client sets SO_LINGER after it has passed the socket.
TEST_F(socket_lines, a_descriptor_that_lingers_is_closed_at_once) {
    asker a = client();
    auto [out, in] = congested_connection();
    send_with(a, "on", out.get());
    rounds();
    const linger seconds{.l_onoff = 1, .l_linger = 20};
    ASSERT_EQ(::setsockopt(out.get(), SOL_SOCKET, SO_LINGER, &seconds, sizeof seconds), 0);
    out.reset();  // not the last one
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(ask(a, "e\n"), "<one>\n");
    EXPECT_GE(last_.descriptor, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

class socket_file : public socket_lines {
  protected:
    void SetUp() override {
        socket_lines::SetUp();
        folder_ = (std::filesystem::temp_directory_path() / "turnpike-socket-XXXXXX").string();
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        path_ = folder_ + "/control";
    }
    void TearDown() override {
        socket_.reset();
        std::filesystem::remove_all(folder_);
    }
    owned_fd connect() const {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path, path_.c_str(), path_.size());
        owned_fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
        if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fd.reset();
        return fd;
    }
    std::string folder_, path_;
};

TEST_F(socket_file, is_made_with_its_mode_and_group_and_goes_with_us) {
    const mode_t before = ::umask(077);
    const bool listens = socket_->listen(path_, std::to_string(::getgid())).has_value();
    EXPECT_EQ(::umask(before), mode_t{077}) << "as it was";
    ASSERT_TRUE(listens);
    struct stat s {};
    ASSERT_EQ(::lstat(path_.c_str(), &s), 0);
    EXPECT_TRUE(S_ISSOCK(s.st_mode));
    EXPECT_EQ(s.st_mode & 07777, 0660U);
    EXPECT_EQ(s.st_gid, ::getgid());
    asker a{connect()};
    ASSERT_GE(a.fd(), 0);
    rounds();
    EXPECT_EQ(a.received(), "hello\n");
    EXPECT_EQ(ask(a, "one\n"), "<one>\n");
    socket_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
    a.received();
    EXPECT_TRUE(a.ended());
}

/// Connected clients stay, whether the socket has read from them yet or not.
TEST_F(socket_file, moves_under_its_clients) {
    ASSERT_TRUE(socket_->listen(path_, ""));
    asker a{connect()};
    rounds();
    EXPECT_EQ(a.received(), "hello\n");
    asker waits{connect()};
    const std::string first = path_, next = folder_ + "/next";
    ASSERT_TRUE(socket_->listen(next, ""));
    EXPECT_FALSE(std::filesystem::exists(first));
    rounds();
    EXPECT_EQ(waits.received(), "hello\n");
    EXPECT_EQ(ask(a, "one\n") + ask(waits, "two\n"), "<one>\n<two>\n");
    path_ = next;
    asker b{connect()};
    rounds();
    EXPECT_EQ(b.received(), "hello\n");
    // A failed listen() changes nothing.
    EXPECT_FALSE(socket_->listen(folder_ + "/none/socket", ""));
    asker c{connect()};
    rounds();
    EXPECT_EQ(c.received(), "hello\n");
    EXPECT_EQ(socket_->clients(), 4U);
}

TEST_F(socket_file, is_its_owners) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
    struct stat s {};
    const passwd* nobody = ::getpwnam("nobody");
    ASSERT_NE(nobody, nullptr);
    for (const std::string& owner : {std::string("nobody"), std::to_string(nobody->pw_uid)}) {
        line_socket one({.greeting = "hello"});
        ASSERT_TRUE(one.listen(path_, "", owner));
        ASSERT_EQ(::lstat(path_.c_str(), &s), 0);
        EXPECT_EQ(s.st_uid, nobody->pw_uid);
        EXPECT_EQ(s.st_gid, ::getegid()) << "nothing was said of it";
        EXPECT_EQ(s.st_mode & 07777, 0660U);
    }
    ASSERT_TRUE(socket_->listen(path_, "12345", "54321"));
    ASSERT_EQ(::lstat(path_.c_str(), &s), 0);
    EXPECT_EQ(s.st_uid, 54321U);
    EXPECT_EQ(s.st_gid, 12345U);
}

TEST_F(socket_file, is_not_taken_from_who_lives_and_is_from_who_is_gone) {
    ASSERT_TRUE(socket_->listen(path_, ""));
    line_socket second({.greeting = "second"});
    const auto refused = second.listen(path_, "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRINUSE);
    EXPECT_EQ(refused.error().object, path_);
    asker a{connect()};
    rounds();
    EXPECT_EQ(a.received(), "hello\n") << "the first one still listens";

    // A killed process leaves its socket file.
    std::filesystem::remove(path_);
    const pid_t child = ::fork();
    if (child == 0) {
        line_socket* left = new line_socket({.greeting = "left"});
        _exit(left->listen(path_, "") ? 0 : 1);
    }
    int how = 0;
    ASSERT_EQ(::waitpid(child, &how, 0), child);
    ASSERT_EQ(how, 0);
    ASSERT_TRUE(std::filesystem::exists(path_));
    EXPECT_TRUE(second.listen(path_, ""));
    socket_.reset();
    EXPECT_TRUE(std::filesystem::exists(path_)) << "another's file is not removed";
}

TEST_F(socket_file, what_is_no_socket_stays) {
    std::ofstream(path_) << "precious";
    const auto refused = socket_->listen(path_, "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EEXIST);
    EXPECT_EQ(std::filesystem::file_size(path_), 8U);
}

TEST_F(socket_file, errors_say_what_is_wrong) {
    EXPECT_EQ(socket_->listen(folder_ + "/none/control", "").error().code, ENOENT);
    EXPECT_EQ(socket_->listen(folder_ + "/" + std::string(200, 'x'), "").error().code,
              ENAMETOOLONG);
    const auto group = socket_->listen(path_, "no-such-group");
    ASSERT_FALSE(group);
    EXPECT_NE(group.error().object.find("no-such-group"), std::string::npos);
    const auto owner = socket_->listen(path_, "", "no-such-user");
    ASSERT_FALSE(owner);
    EXPECT_NE(owner.error().object.find("no-such-user"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

/// As many descriptors as the process has open, until its end.
class no_more_descriptors {
  public:
    no_more_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &usual_);
        const owned_fd next(::dup(STDERR_FILENO));  // the lowest free one
        rlimit few = usual_;
        few.rlim_cur = static_cast<rlim_t>(next.get());
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    no_more_descriptors(const no_more_descriptors&) = delete;
    no_more_descriptors& operator=(const no_more_descriptors&) = delete;
    ~no_more_descriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }

  private:
    rlimit usual_{};
};

/// EMFILE leaves a connection pending: its event must not be repeated at once.
TEST_F(socket_file, waits_without_a_descriptor_for_a_connection) {
    ASSERT_TRUE(socket_->listen(path_, ""));
    asker before{connect()};
    rounds();
    EXPECT_EQ(before.received(), "hello\n");
    asker a{connect()};
    ASSERT_GE(a.fd(), 0);
    {
        const no_more_descriptors limit;
        socket_->serve();
        const auto start = std::chrono::steady_clock::now();
        socket_->serve(milliseconds(50));
        socket_->serve(milliseconds(50));
        EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(90)) << "no busy loop";
        EXPECT_EQ(ask(before, "one\n"), "<one>\n") << "others are served";
        for (int i = 0; i < 12; ++i) socket_->serve(milliseconds(100));  // tried again
        EXPECT_EQ(socket_->clients(), 1U);
    }
    EXPECT_EQ(log_, "control socket: no connection can be accepted: Too many open files\n");
    std::string greeting;
    for (int i = 0; i < 30 && greeting.empty(); ++i) {
        socket_->serve(milliseconds(100));
        greeting = a.received();
    }
    EXPECT_EQ(greeting, "hello\n");
    EXPECT_EQ(ask(a, "two\n"), "<two>\n");
}

/// Far more than there is place for, and one that works all the while.
TEST_F(socket_file, a_thousand_idle_clients) {
    ASSERT_TRUE(socket_->listen(path_, ""));
    std::vector<owned_fd> idle;
    asker busy{connect()};
    rounds();
    EXPECT_EQ(busy.received(), "hello\n");
    for (int i = 0; i < 1000; ++i) {
        idle.push_back(connect());
        ASSERT_GE(idle.back().get(), 0) << i;
        rounds(3);
        ASSERT_LE(socket_->clients(), 64U);
        if (i % 200 ==
            0) {  // an active client is not the longest idle, however many clients connect meanwhile
            EXPECT_EQ(ask(busy, "one\n"), "<one>\n") << i;
        }
    }
    EXPECT_EQ(socket_->clients(), 64U);
    EXPECT_EQ(std::count(log_.begin(), log_.end(), '\n'), 1) << "said once a second";
    EXPECT_NE(log_.find("idle the longest"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::sources
