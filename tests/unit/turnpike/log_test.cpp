// SPDX-License-Identifier: BSD-3-Clause
#include "observe/log.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "observe/console.hpp"

namespace turnpike::observe {
namespace {

using nlohmann::json;
using namespace std::string_literals;

const log_line example{std::chrono::system_clock::time_point(std::chrono::microseconds(1'000'001)),
                       log_level::warning,
                       "port 'a': link \"down\"",
                       {{"port", "a"}, {"to", "down"}}};

TEST(log, as_people_read_it) {
    EXPECT_EQ(as_text(example), "turnpike: port 'a': link \"down\"");
    // A name from a request starts no new line, and has no terminal control characters.
    log_line odd = example;
    odd.text = "apply a\nturnpike: uid 0 (process 1): confirmed\x1b[2K\xff \xc3\xa9";
    EXPECT_EQ(as_text(odd),
              "turnpike: apply a\\x0aturnpike: uid 0 (process 1): confirmed\\x1b[2K\\xff \xc3\xa9");
}

TEST(log, as_json) {
    const std::string text = as_json(example);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const json all = json::parse(text);
    EXPECT_EQ(all, (json{{"time", "1970-01-01T00:00:01.000001Z"},
                         {"level", "warning"},
                         {"text", example.text},
                         {"port", "a"},
                         {"to", "down"}}));
    log_line odd = example;
    odd.text = "a\nb\xff\x1b";
    EXPECT_EQ(as_json(odd).find_first_of("\n\x1b"), std::string::npos);
    EXPECT_EQ(json::parse(as_json(odd))["text"], "a\nb\xef\xbf\xbd\x1b");
}

TEST(log, as_the_journal_wants_it) {
    EXPECT_EQ(as_journal_entry(example),
              "MESSAGE=port 'a': link \"down\"\nPRIORITY=4\nSYSLOG_IDENTIFIER=turnpike\n"
              "TURNPIKE_PORT=a\nTURNPIKE_TO=down\n");
    log_line two = example;
    two.text = "one\ntwo";
    two.fields.clear();
    EXPECT_EQ(as_journal_entry(two),
              "MESSAGE\n\7\0\0\0\0\0\0\0one\ntwo\nPRIORITY=4\nSYSLOG_IDENTIFIER=turnpike\n"s);
}

TEST(log, the_journal_takes_it_or_does_not) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("turnpike-journal-" + std::to_string(::getpid()));
    const journal to(path);
    EXPECT_FALSE(to.send(example)) << "without a listener";
    const owned_fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_TRUE(to.send(example));
    char bytes[4096];
    const ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, 0);
    ASSERT_GT(n, 0);
    EXPECT_EQ(std::string(bytes, static_cast<size_t>(n)), as_journal_entry(example));
    std::filesystem::remove(path);
    EXPECT_FALSE(to.send(example));
    EXPECT_FALSE(journal(std::string(200, 'x')).send(example)) << "no socket has such a path";
}

TEST(log, whose_standard_error_is) {
    ::unsetenv("JOURNAL_STREAM");
    EXPECT_FALSE(stderr_is_the_journals());
    struct stat there {};
    ASSERT_EQ(::fstat(STDERR_FILENO, &there), 0);
    const std::string here = std::to_string(there.st_dev) + ":" + std::to_string(there.st_ino);
    ::setenv("JOURNAL_STREAM", here.c_str(), 1);
    EXPECT_TRUE(stderr_is_the_journals());
    ::setenv("JOURNAL_STREAM", (here + "1").c_str(), 1);
    EXPECT_FALSE(stderr_is_the_journals()) << "it was led elsewhere";
    set_log(log_format::journald, log_level::notice);
    EXPECT_EQ(format_of_log(), log_format::text);
    ::unsetenv("JOURNAL_STREAM");
}

class written : public testing::Test {
  protected:
    ~written() override { set_log(log_format::text, log_level::notice); }
    template <class F>
    static std::string by(const F& f) {
        testing::internal::CaptureStderr();
        f();
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(written, what_is_bad_enough) {
    const auto all = [] {
        for (const log_level l : {log_level::error, log_level::warning, log_level::notice,
                                  log_level::info, log_level::debug})
            log(l, name(l));
    };
    set_log(log_format::text, log_level::error);
    EXPECT_EQ(by(all), "turnpike: error\n");
    set_log(log_format::text, log_level::notice);
    EXPECT_EQ(by(all), "turnpike: error\nturnpike: warning\nturnpike: notice\n");
    set_log(log_format::json, log_level::debug);
    const std::string lines = by(all);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5);
    EXPECT_EQ(json::parse(lines.substr(0, lines.find('\n')))["level"], "error");
    // Written by the console's thread, too.
    EXPECT_EQ(by([&] {
                  set_log(log_format::text, log_level::warning);
                  the_console().start();
                  all();
                  EXPECT_TRUE(the_console().finish(std::chrono::seconds(5)));
              }),
              "turnpike: error\nturnpike: warning\n");
}

TEST_F(written, what_happens_often_is_said_ten_times) {
    log_rate_limit limit("things");
    int logged = 0;
    EXPECT_EQ(by([&] {
                  for (uint64_t ms = 5000; ms < 5025; ++ms) logged += limit.allow(ms);
                  limit.flush(5999);
              }),
              "");
    EXPECT_EQ(logged, 10);
    EXPECT_EQ(by([&] { limit.flush(6000); }), "turnpike: 15 more things not logged\n");
    EXPECT_EQ(by([&] { limit.flush(9000); }), "") << "once";
    EXPECT_TRUE(limit.allow(9000));
    // The number of suppressed lines is logged before the next line.
    for (uint64_t ms = 9001; ms < 9020; ++ms) (void)limit.allow(ms);
    EXPECT_EQ(by([&] { EXPECT_TRUE(limit.allow(10'500)); }),
              "turnpike: 10 more things not logged\n");
}

}  // namespace
}  // namespace turnpike::observe
