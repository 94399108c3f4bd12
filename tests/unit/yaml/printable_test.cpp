// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/result.hpp"

namespace turnpike {
namespace {

TEST(printable, leaves_text_as_it_is) {
    for (const char* text : {"", "10.0.0.0/8", "größe", "€", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"})
        EXPECT_EQ(printable(text), text);
}

TEST(printable, escapes_what_a_terminal_would_obey_or_cannot_show) {
    using namespace std::string_literals;
    EXPECT_EQ(printable("a\0b\x1b[31m\n\x7f"s), "a\\x00b\\x1b[31m\\x0a\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "U+009B begins a control sequence too";
    EXPECT_EQ(printable("\xff\x8b"), "\\xff\\x8b");
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
    EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "longer than needed";
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "over U+10FFFF";
    EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
    EXPECT_EQ(printable("\xe2\x82z"), "\\xe2\\x82z");
}

TEST(printable, every_message_is) {
    EXPECT_EQ((error{EINVAL, "f\x1b:1", "not '\x8b\x08'"}.message()), "f\\x1b:1: not '\\x8b\\x08'");
}

}  // namespace
}  // namespace turnpike
