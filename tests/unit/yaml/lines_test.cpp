// SPDX-License-Identifier: BSD-3-Clause
// Lines of plain and gzip files: both read the same, and hostile contents are refused.
#include "yaml/lines.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <vector>

namespace turnpike::yaml {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

class lines_file : public ::testing::Test {
  protected:
    lines_file() { fs::create_directories(folder_); }
    ~lines_file() override { fs::remove_all(folder_); }

    fs::path plain(const std::string& text) const {
        std::ofstream(folder_ / "plain", std::ios::binary) << text;
        return folder_ / "plain";
    }
    fs::path packed(const std::string& text) const {
        const fs::path path = folder_ / "packed.gz";
        gzFile file = gzopen(path.c_str(), "wb");
        EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), int(text.size()));
        EXPECT_EQ(gzclose(file), Z_OK);
        return path;
    }
    fs::path folder_ = fs::path(::testing::TempDir()) / ("lines-" + std::to_string(getpid()));
};

/// All lines, and the message where it ended in one.
std::vector<std::string> all_of(const fs::path& path, lines::limits most = {}) {
    auto file = lines::open(path, most);
    if (!file) return {"error: " + file.error().message()};
    std::vector<std::string> out;
    while (true) {
        const auto line = file->next();
        if (!line) {
            out.push_back("error: " + line.error().message());
            const auto again = file->next();
            EXPECT_FALSE(again) << "an error goes away";
            return out;
        }
        if (!*line) return out;
        out.emplace_back(**line);
        EXPECT_EQ(file->where(), path.string() + ":" + std::to_string(out.size()));
    }
}

TEST_F(lines_file, are_the_same_plain_and_packed) {
    const std::pair<std::string, std::vector<std::string>> cases[] = {
        {"", {}},
        {"\n", {""}},
        {"one", {"one"}},
        {"one\n", {"one"}},
        {"one\r\n\r\ntwo\tthree\r\n", {"one", "", "two\tthree"}},
        {"\n\na\n", {"", "", "a"}},
        {"größe\n", {"größe"}},
        {"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", {"one", "\xef\xbb\xbftwo"}}};
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(all_of(plain(text)), expected) << text;
        EXPECT_EQ(all_of(packed(text)), expected) << text;
    }
}

TEST_F(lines_file, of_any_length_across_every_chunk) {
    std::mt19937 random(1);
    std::string text;
    std::vector<std::string> expected;
    while (text.size() < 1'000'000) {
        expected.emplace_back(random() % 4096, static_cast<char>('a' + random() % 26));
        text += expected.back() + "\n";
    }
    EXPECT_EQ(all_of(plain(text)), expected);
    EXPECT_EQ(all_of(packed(text)), expected);
}

TEST_F(lines_file, too_long_are_refused) {
    const std::string just = std::string("a\n") + std::string(10, 'b') + "\n";
    EXPECT_EQ(all_of(plain(just), {.line_bytes = 10}).size(), 2u);
    for (const std::string& text : {std::string("a\n") + std::string(11, 'b') + "\n",
                                    std::string("a\n") + std::string(11, 'b'),
                                    std::string("a\n") + std::string(5'000'000, 'b')}) {
        const auto got = all_of(packed(text), {.line_bytes = 10});
        ASSERT_EQ(got.size(), 2u);
        EXPECT_EQ(got[1],
                  "error: " + (folder_ / "packed.gz").string() + ":2: is longer than 10 bytes");
    }
}

// A few kilobytes of gzip unpack to as many megabytes.
TEST_F(lines_file, that_unpack_to_too_much_are_refused) {
    std::string text;
    while (text.size() < 3'000'000) text.append(1000, 'a') += "\n";
    const fs::path bomb = packed(text);
    EXPECT_LT(fs::file_size(bomb), 20'000u);
    EXPECT_NE(
        all_of(bomb, {.file_bytes = 1'000'000}).back().find("more than 1000000 bytes of text"),
        std::string::npos);
    EXPECT_EQ(all_of(bomb, {.file_bytes = text.size()}).size(), text.size() / 1001);
}

TEST_F(lines_file, that_are_no_text_are_refused) {
    for (const std::string& text :
         {"fine\nnot \0 text\n"s, "fine\n\x1b[31mred\n"s, "fine\na\rb\n"s}) {
        const auto got = all_of(plain(text));
        ASSERT_EQ(got.size(), 2u);
        EXPECT_NE(got[1].find("plain:2: holds a control character"), std::string::npos) << got[1];
    }
}

TEST_F(lines_file, in_utf_16_are_refused) {
    for (const std::string& text : {"\xff\xfe"
                                    "1\0\n\0"s,
                                    "\xfe\xff\0001\0\n"s}) {
        const auto got = all_of(plain(text));
        ASSERT_EQ(got.size(), 1u);
        EXPECT_NE(got[0].find("plain:1: is UTF-16 text; save it as UTF-8"), std::string::npos)
            << got[0];
    }
}

TEST_F(lines_file, of_a_broken_gzip_file_are_refused) {
    std::mt19937 random(1);
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += std::to_string(random()) + "\n";
    const fs::path path = packed(text);
    const auto whole = fs::file_size(path);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<long>(whole / 2))
        .write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    EXPECT_NE(all_of(path).back().find("error: "), std::string::npos);
    packed(text);
    for (const auto left : {whole - 1, whole - 8, whole / 2, uintmax_t{30}}) {
        fs::resize_file(path, left);
        EXPECT_NE(all_of(path).back().find("ends too early"), std::string::npos) << left;
    }
}

TEST_F(lines_file, must_be_a_regular_file_that_opens) {
    EXPECT_NE(all_of(folder_ / "none").at(0).find("cannot open the file"), std::string::npos);
    EXPECT_NE(all_of(folder_).at(0).find("not a regular file"), std::string::npos);
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    EXPECT_NE(all_of(folder_ / "fifo").at(0).find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::yaml
