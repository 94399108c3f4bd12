// SPDX-License-Identifier: BSD-3-Clause
// Addresses to listen on, and `metrics:`, as text and back.
#include "state/listen_address.hpp"

#include <gtest/gtest.h>

#include "sources/edits.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"
#include "state/changes.hpp"

namespace turnpike::state {
namespace {

TEST(listen_address, is_read_and_written) {
    for (const char* text : {"127.0.0.1:9417", "0.0.0.0:1", "[::1]:65535", "[2001:db8::1]:9417",
                             "unix:/run/turnpike/metrics.sock", "unix:/a"}) {
        const auto read = parse_listen_address(text);
        ASSERT_TRUE(read) << text << read.error().message();
        EXPECT_EQ(read->text(), text);
    }
    EXPECT_EQ(parse_listen_address("[2001:DB8:0::1]:9")->text(), "[2001:db8::1]:9");
    EXPECT_EQ(parse_listen_address("9417")->text(), "127.0.0.1:9417") << "loopback's";
}

TEST(collector, has_a_default_port) {
    for (const auto& [text, is] : {std::pair{"192.0.2.9", "192.0.2.9:6343"},
                                   {"192.0.2.9:6344", "192.0.2.9:6344"},
                                   {"[2001:db8::9]", "[2001:db8::9]:6343"},
                                   {"[2001:db8::9]:7", "[2001:db8::9]:7"}}) {
        const auto read = parse_collector(text);
        ASSERT_TRUE(read) << text << read.error().message();
        EXPECT_EQ(read->text(), is);
    }
    for (const char* text :
         {"", "6343", "192.0.2.9:", "192.0.2.9:0", "2001:db8::9", "2001:db8::9:6343",
          "unix:/run/sflow", "collector:6343", "224.0.0.1", "[ff02::1]:6343"}) {
        const auto read = parse_collector(text);
        ASSERT_FALSE(read) << text;
        EXPECT_NE(read.error().text.find("a collector is an ADDRESS"), std::string::npos)
            << read.error().message();
    }
}

TEST(listen_address, wrong_ones_are_refused) {
    for (const char* text : {"",
                             ":",
                             ":9417",
                             "0",
                             "65536",
                             "9417 ",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:0",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0.1:+1",
                             "127.0.0.1: 1",
                             "127.0.0.1:1 ",
                             "127.0.0.1:0x50",
                             "127.0.0.256:9",
                             "::1:9417",
                             "[::1]",
                             "[::1]9417",
                             "[]:9417",
                             "[127.0.0.1]:9417",
                             "localhost:9417",
                             "224.0.0.1:9417",
                             "[ff02::1]:9417",
                             "unix:",
                             "unix:relative",
                             "unix:/a/",
                             "Unix:/a"}) {
        const auto read = parse_listen_address(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, EINVAL);
        EXPECT_FALSE(read.error().text.empty());
    }
    EXPECT_TRUE(parse_listen_address("unix:/" + std::string(106, 'a')));
    EXPECT_FALSE(parse_listen_address("unix:/" + std::string(107, 'a')));
}

configuration loaded_with(const std::string& line) {
    auto read = sources::load_text(
        "ports: [{name: west, device: net_ring0, addresses: [10.0.1.1/24]}]\n" + line, "f.yaml");
    EXPECT_TRUE(read) << read.error().message();
    return std::move(*read);
}

TEST(metrics_setting, survives_writing_and_reading) {
    const configuration one = loaded_with("metrics: {listen: \"127.0.0.1:9417\"}\n");
    ASSERT_EQ(one.metrics.listen.size(), 1U);
    const configuration several =
        loaded_with("metrics: {listen: [\"127.0.0.1:9417\", \"[::1]:9417\", unix:/run/m.sock]}\n");
    const configuration none = loaded_with("");
    for (const configuration* c : {&one, &several, &none}) {
        const auto again = sources::load_text(sources::to_yaml(*c), "again");
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_TRUE(again->metrics == c->metrics);
    }
    EXPECT_EQ(sources::to_yaml(none).find("metrics"), std::string::npos);
    EXPECT_TRUE(diff(one, several)->settings);
    EXPECT_TRUE(diff(one, one)->empty());
}

TEST(metrics_setting, is_changed_by_the_socket) {
    configuration c = loaded_with("metrics: {listen: \"127.0.0.1:9417\"}\n");
    ASSERT_TRUE(
        sources::edit(c, R"([{"set": {"metrics": {"listen": ["[::1]:1", "127.0.0.1:2"]}}}])"));
    ASSERT_EQ(c.metrics.listen.size(), 2U);
    const auto refused =
        sources::edit(c, R"([{"set": {"metrics": {"listen": ["127.0.0.1:2", "127.0.0.1:2"]}}}])");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().object + ": " + refused.error().text,
              "socket:1: do[0].set.metrics.listen[1] names 127.0.0.1:2 twice");
    ASSERT_TRUE(sources::edit(c, R"([{"set": {"metrics": {"listen": []}}}])"));
    EXPECT_TRUE(c.metrics.listen.empty());
}

}  // namespace
}  // namespace turnpike::state
