// SPDX-License-Identifier: BSD-3-Clause
// Configuration files: accepted forms, and the error of each invalid one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "complaints.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

constexpr const char* whole = R"(eal: {args: "-l 0-1 --no-pci --in-memory", hugepages: optional}
workers: [1]
mempool: {buffers: 16384, buffer_size: 2176, ops: stack}
tx: {drain_us: 20}
ports:
  - {name: west, device: "net_af_packet0,iface=veth0", mtu: 1500, rx_queues: 1, descriptors: 1024}
  - {name: east, device: "0000:3b:00.0"}
xconnects: [[west, east]]
)";

TEST(config, a_whole_file) {
    const auto m = load_text(whole, "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->fixed.eal_options.args,
              (std::vector<std::string>{"-l", "0-1", "--no-pci", "--in-memory"}));
    EXPECT_TRUE(m->fixed.eal_options.hugepages_optional);
    EXPECT_EQ(m->workers, std::vector<unsigned>{1});
    EXPECT_EQ(m->fixed.pool.buffers, 16384U);
    EXPECT_EQ(m->fixed.pool.ops, "stack");
    EXPECT_EQ(m->sending.drain_us, 20U);
    EXPECT_EQ(m->idle.sleep_us, 0U);
    ASSERT_EQ(m->ports.size(), 2U);
    EXPECT_EQ(m->ports.begin()->second.device, "net_af_packet0,iface=veth0");
    EXPECT_EQ(std::next(m->ports.begin())->second.where.text, "f.yaml:7");
    EXPECT_EQ(std::next(m->ports.begin())->second.mtu, 1500);
    for (const auto& [name, peer] : {std::pair{"west", "east"}, std::pair{"east", "west"}}) {
        EXPECT_EQ(m->interfaces.at(name).kind, state::interface_kind::patched);
        EXPECT_EQ(m->interfaces.at(name).peer, peer);
    }
}

/// Buffers hold originated messages: headroom, Ethernet and the longest ICMP error.
TEST(config, buffers_hold_our_own_messages) {
    const auto sized = [](int bytes, const char* address, const char* device) {
        return "mempool: {buffer_size: " + std::to_string(bytes) +
               "}\nports: [{name: a, device: " + device + ", addresses: [\"" + address + "\"]}]";
    };
    EXPECT_EQ(complaint_about(sized(718, "10.0.0.1/24", "net_null0")), "none");
    EXPECT_NE(complaint_about(sized(717, "10.0.0.1/24", "net_null0")).find("at least 718"),
              std::string::npos);
    EXPECT_EQ(complaint_about(sized(1422, "2001:db8::1/64", "net_null0")), "none");
    EXPECT_NE(complaint_about(sized(1421, "2001:db8::1/64", "net_null0")).find("at least 1422"),
              std::string::npos);
    const std::string patched =
        "mempool: {buffer_size: 255}\nports: [{name: a, device: net_xsk0}, {name: b, device: "
        "net_null0}]\nxconnects: [[a, b]]";
    EXPECT_NE(complaint_about(patched).find("at least 256"), std::string::npos);
}

TEST(config, the_control_socket) {
    const auto m = load_text(
        std::string(whole) + "control: {socket: /a/b.sock, group: staff, owner: www}\n", "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    EXPECT_EQ(m->control, (state::control_socket{"/a/b.sock", "staff", "www"}));
    EXPECT_EQ(load_text(whole, "f.yaml")->control, state::control_socket{});
    for (const char* path : {"b.sock", "/a/", "''"})
        EXPECT_NE(complaint_about(std::string(whole) + "control: {socket: " + path + "}\n")
                      .find("f.yaml:9: "),
                  std::string::npos)
            << path;
}

using wrong = complaint_row;

std::string with(const std::string& before, const std::string& after) {
    return replaced(whole, before, after);
}

class refused : public ::testing::TestWithParam<wrong> {};

TEST_P(refused, says_where_and_why) { expect_complaint(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    config, refused,
    ::testing::Values(
        wrong{"empty", "", "f.yaml: is empty"}, wrong{"a list", "- 1", "f.yaml:1: should be a map"},
        wrong{"unknown key", with("workers", "wrokers"),
              "f.yaml:2: has no key 'wrokers'; it takes eal"},
        wrong{"unknown key below", with("mtu: 1500", "mut: 1500"),
              "f.yaml:6: ports[0] has no key 'mut'"},
        wrong{"key twice", with("workers: [1]", "workers: [1]\nworkers: [1]"),
              "f.yaml:3: key 'workers' is given twice"},
        wrong{"no ports", "xconnects: []", "f.yaml:1: lacks the key 'ports'"},
        wrong{"ports empty", "ports: []\nxconnects: []", "f.yaml: ports is empty"},
        wrong{"port name twice", with("name: east", "name: west"),
              "f.yaml:7: ports[1].name is 'west' again"},
        wrong{
            "device twice", with("0000:3b:00.0", "net_af_packet0,iface=x"),
            "f.yaml:7: port 'east' has the device 'net_af_packet0', which port 'west' has already"},
        wrong{"two drivers on one interface",
              with("0000:3b:00.0", "net_xsk0,start_queue=1,iface=veth0"),
              "f.yaml:7: port 'east' has the kernel's interface 'veth0', which port 'west' has "
              "already"},
        wrong{"strange name", with("name: east", "name: \"ea st\""),
              "f.yaml:7: ports[1].name should be"},
        wrong{"mtu a text", with("mtu: 1500", "mtu: big"),
              "f.yaml:6: ports[0].mtu should be a whole number from 68 to 65517, not 'big'"},
        wrong{"mtu out of range", with("mtu: 1500", "mtu: 67"), "f.yaml:6: ports[0].mtu should be"},
        wrong{"mtu negative", with("mtu: 1500", "mtu: -1"), "f.yaml:6: ports[0].mtu should be"},
        wrong{"mtu a list", with("mtu: 1500", "mtu: [1]"), "f.yaml:6: ports[0].mtu should be"},
        wrong{"number with a tail", with("mtu: 1500", "mtu: 1500x"),
              "f.yaml:6: ports[0].mtu should be"},
        wrong{"number too long", with("mtu: 1500", "mtu: 99999999999999999999999"),
              "f.yaml:6: ports[0].mtu"},
        wrong{"device in two spellings", with("net_af_packet0,iface=veth0", "3B:0.0"),
              "f.yaml:7: port 'east' has the device '0000:3b:00.0', which port 'west' has already"},
        wrong{"patch between two mtus", with("\"0000:3b:00.0\"", "\"0000:3b:00.0\", mtu: 9000"),
              "f.yaml:6: the patch of 'west' (mtu 1500) and 'east' (mtu 9000) would lose longer "
              "frames"},
        wrong{"patch of an unknown port", with("[[west, east]]", "[[west, esat]]"),
              "f.yaml:8: xconnects[0][1] names 'esat', which is not a port"},
        wrong{"patch of one port", with("[[west, east]]", "[[west]]"),
              "f.yaml:8: xconnects[0] should name two ports"},
        wrong{"patch with itself", with("[[west, east]]", "[[west, west]]"),
              "f.yaml:8: xconnects[0][1] uses 'west' again"},
        wrong{"port in no patch", with("[[west, east]]", "[]"),
              "f.yaml:6: port 'west' has no addresses and is in no patch"},
        wrong{"worker twice", with("[1]", "[1, 1]"), "f.yaml:2: workers[1] names 1 twice"},
        wrong{"rx_workers that are none", with("mtu: 1500", "rx_workers: [2]"),
              "f.yaml:6: port 'west': rx_workers names lcore 2, which is none of the workers"},
        wrong{"more rx_workers than queues", with("mtu: 1500", "rx_workers: [1, 1]"),
              "f.yaml:6: port 'west': rx_workers names 2 lcores for 1 queues"},
        wrong{"hugepages", with("optional", "maybe"),
              "f.yaml:1: eal.hugepages should be required or optional, not 'maybe'"},
        wrong{"eal with --", with("--in-memory", "-- --config"), "f.yaml:1: eal.args holds '--'"},
        wrong{"open quote", with("--in-memory", "'--in-memory"), "f.yaml:1: eal.args has a quote"},
        wrong{"anchor", with("[1]", "&a [1]"), "f.yaml:2: anchors (&name) are not supported"},
        wrong{"alias", with("[1]", "*a"), "f.yaml:2: is not YAML"},
        wrong{"not YAML", "a: [1, 2", "f.yaml:1: is not YAML"},
        wrong{"two documents", std::string(whole) + "---\na: 1\n",
              "f.yaml: holds more than one YAML document"},
        wrong{"map as key", "{[1]: 2}", "f.yaml:1: a key must be plain text"},
        wrong{"NUL", std::string("a: 1\nb: \0", 9), "f.yaml:2: holds a NUL byte"}),
    test_name);

TEST(config, static_neighbours) {
    const std::string routed = "ports: [{name: a, device: net_null0, addresses: [10.0.1.1/24]}]\n";
    const auto with_static = [&](const std::string& list) {
        return routed + "neighbours: {static: [" + list + "]}";
    };
    const auto m =
        load_text(with_static("{address: 10.0.1.9, mac: \"02:00:00:00:00:0a\"}"), "f.yaml");
    ASSERT_TRUE(m) << m.error().message();
    ASSERT_EQ(m->neighbours.size(), 1U);
    EXPECT_EQ(m->neighbours.begin()->second.mac, (mac_address{{2, 0, 0, 0, 0, 10}}));
    EXPECT_EQ(m->neighbours.begin()->first.interface, "a");
    const std::pair<const char*, const char*> wrong_ones[] = {
        {"{address: 10.0.2.9, mac: \"02:00:00:00:00:0a\"}", "on no port's network"},
        {"{address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}", "our own address"},
        {"{address: 10.0.1.9, mac: \"02:00:00:00:00\"}", "should be a MAC address"},
        {"{address: 10.0.1.9, mac: \"02:00:00:00:00:0a:\"}", "should be a MAC address"},
        {"{address: 10.0.1.9, mac: \"01:00:00:00:00:0a\"}", "a group's MAC address"},
        {"{address: 10.0.1.9, mac: \"02:00:00:00:00:0a\"}, {address: 10.0.1.9, mac: "
         "\"02:00:00:00:00:0b\"}",
         "10.0.1.9 again"},
        {"{address: \"fe80::9\", mac: \"02:00:00:00:00:0a\"}", "say on which port"}};
    for (const auto& [list, expected_text] : wrong_ones) {
        const std::string complaint = complaint_about(with_static(list));
        EXPECT_EQ(complaint.substr(0, 9), "f.yaml:2:") << complaint;
        EXPECT_NE(complaint.find(expected_text), std::string::npos) << complaint;
    }
}

TEST(config, interfaces_are_bounded) {
    std::string text = "ports: [{name: p, device: d0}]\ninterfaces:\n";
    for (int vlan = 1; vlan <= 1022; ++vlan)
        text += "  - {port: p, vlan: " + std::to_string(vlan) + ", addresses: [10." +
                std::to_string(vlan / 256) + "." + std::to_string(vlan % 256) + ".1/24]}\n";
    EXPECT_EQ(complaint_about(text), "none");
    EXPECT_EQ(complaint_about(text + "  - {port: p, vlan: 1023, addresses: [10.9.0.1/24]}\n"),
              "f.yaml: has 1024 interfaces: ports, VLANs, tunnels and routing interfaces of "
              "bridges; at most 1023 are possible");
}

TEST(config, nesting_is_bounded) {
    for (const size_t levels : {size_t{33}, size_t{10'000}, size_t{200'000}}) {
        const std::string expected_text = complaint_about(std::string(levels, '['));
        EXPECT_NE(expected_text.find("f.yaml:1: "), std::string::npos) << expected_text;
    }
    EXPECT_NE(
        complaint_about("a: " + std::string(40, '[') + std::string(40, ']')).find("nested deeper"),
        std::string::npos);
}

TEST(config, an_alias_bomb_is_refused_at_its_first_anchor) {
    std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
    for (char c = 'b'; c <= 'z'; ++c) {
        bomb += std::string(1, c) + ": &" + c + " [";
        for (int i = 0; i < 9; ++i) bomb += std::string(i ? ", *" : "*") + static_cast<char>(c - 1);
        bomb += "]\n";
    }
    EXPECT_EQ(complaint_about(bomb).substr(0, 25), "f.yaml:1: anchors (&name)");
}

class files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-yaml-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    [[nodiscard]] std::string expected_text(const std::string& file) const {
        const auto loaded = load(folder / file);
        return loaded ? "none" : loaded.error().message();
    }
    std::filesystem::path folder;
};

TEST_F(files, missing) {
    EXPECT_NE(expected_text("none.yaml").find("No such file"), std::string::npos);
}

TEST_F(files, a_folder) {
    EXPECT_NE(expected_text(".").find("is not a regular file"), std::string::npos);
}

TEST_F(files, a_fifo_does_not_hang) {
    ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
    EXPECT_NE(expected_text("fifo").find("is not a regular file"), std::string::npos);
}

TEST_F(files, larger_than_the_limit) {
    std::ofstream(folder / "large") << '#';
    std::filesystem::resize_file(folder / "large", yaml::max_file_bytes + 1);
    EXPECT_NE(expected_text("large").find("is larger than 256 MB"), std::string::npos);
}

TEST_F(files, a_symbolic_link_is_followed) {
    std::ofstream(folder / "real.yaml") << whole;
    std::filesystem::create_symlink("real.yaml", folder / "link.yaml");
    EXPECT_EQ(expected_text("link.yaml"), "none");
}

// Any mutation of a valid file is either accepted or refused with the file's name.
TEST(config, five_thousand_random_mutations) {
    std::mt19937 random(20);
    const std::string alphabet = "[]{}:,&*!|>'\"%@#-? \n\t\\~0a9";
    int taken = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string text = whole;
        for (auto edits = 1 + random() % 4; edits > 0; --edits) {
            const size_t at = random() % text.size();
            const size_t length = std::min<size_t>(1 + random() % 8, text.size() - at);
            switch (random() % 4) {
                case 0:
                    text.erase(at, length);
                    break;
                case 1:
                    text.insert(at, 1, alphabet[random() % alphabet.size()]);
                    break;
                case 2:
                    text[at] = static_cast<char>(random());
                    break;
                default:
                    text.insert(random() % text.size(), text.substr(at, length));
                    break;
            }
            if (text.empty()) text = " ";
        }
        const auto loaded = load_text(text, "f.yaml");
        taken += loaded.has_value();
        if (!loaded) {
            ASSERT_EQ(loaded.error().code, EINVAL);
            ASSERT_EQ(loaded.error().object.substr(0, 6), "f.yaml") << text;
            ASSERT_FALSE(loaded.error().text.empty());
        }
    }
    EXPECT_GT(taken, 100);
    EXPECT_LT(taken, 4900);
}

TEST(split_arguments, quotes_hold_blanks_together) {
    EXPECT_EQ(*split_arguments(" a  'b c' d\"e f\"\t''"),
              (std::vector<std::string>{"a", "b c", "de f", ""}));
    EXPECT_FALSE(split_arguments("'a"));
}

}  // namespace
}  // namespace turnpike::sources
