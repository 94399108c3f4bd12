// SPDX-License-Identifier: BSD-3-Clause
// Change requests under traffic: single objects, many routes at once; rollback, history
// and saving.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/management/metrics_source.hpp"
#include "request_lab.hpp"
#include "sources/yaml.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike {
namespace {

using namespace test;

class change_requests : public request_lab {
  protected:
    json change(const std::string& edits, json more = json::object()) {
        more["request"] = "change";
        more["do"] = json::parse(edits);
        return ask(more);
    }
    json changed(const std::string& edits, json more = json::object()) {
        json out = change(edits, std::move(more));
        EXPECT_TRUE(out.contains("result")) << out;
        return out["result"];
    }
    json lines(const std::string& text, bool more = false) {
        return ask({{"request", "routes"}, {"lines", text}, {"more", more}});
    }
    std::string runs() { return ask({{"request", "configuration"}})["result"]["text"]; }
    json states() { return ask({{"request", "states"}})["result"]; }
    /// Waits for a second of the clock by which unconfirmed changes are reverted.
    void wait_a_second() {
        const auto end = control::history::clock::now() + std::chrono::milliseconds(1050);
        while (control::history::clock::now() < end) l_.settle();
        l_.worker().pause();
        asked_.tick();
        l_.worker().resume();
    }
};

TEST_F(change_requests, objects_one_by_one) {
    EXPECT_EQ(l_.egress_port("10.7.0.1"), std::nullopt);
    EXPECT_EQ(changed(R"([{"add": {"route": {"to": "10.7.0.0/16", "via": "10.0.2.2"}}}])")["text"],
              "1 route");
    EXPECT_EQ(l_.egress_port("10.7.0.1"), 1);
    changed(R"([{"replace": {"route": {"to": "10.7.0.0/16", "type": "blackhole"}}}])");
    EXPECT_EQ(l_.egress_port("10.7.0.1"), std::nullopt);
    changed(R"([{"del": {"route": {"to": "10.7.0.0/16"}}}])");
    EXPECT_EQ(shown("route", {{"address", "10.7.0.1"}})["reason"], "no_route");

    EXPECT_EQ(shown("route", {{"address", "10.0.2.3"}})["type"], "glean");
    changed(R"([{"add": {"neighbour": {"address": "10.0.2.3", "mac": "02:00:00:00:00:03"}}}])");
    EXPECT_EQ(shown("route", {{"address", "10.0.2.3"}})["mac"], "02:00:00:00:00:03");
    changed(R"([{"del": {"neighbour": {"address": "10.0.2.3"}}}])");
    EXPECT_EQ(shown("route", {{"address", "10.0.2.3"}})["type"], "glean");

    changed(R"([{"add": {"address": {"port": "west", "address": "10.0.4.1/24"}}}])");
    EXPECT_EQ(shown("route", {{"address", "10.0.4.1"}})["type"], "local");
    changed(R"([{"replace": {"port": {"name": "east", "mtu": 1400}}}])");
    EXPECT_EQ(shown("ports")["ports"][1]["mtu"], 1400);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
    changed(R"([{"add": {"acl": {"name": "l", "default": "permit", "rules": []}}},
                {"replace": {"port": {"name": "west", "acl": {"in": "l"}}}}])");
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
    changed(R"([{"add": {"rule": {"list": "l", "rule": {"action": "deny", "name": "n"}}}}])");
    EXPECT_EQ(l_.egress_port("10.9.0.1"), std::nullopt);
    changed(R"([{"del": {"rule": {"list": "l", "name": "n"}}}])");
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
    EXPECT_TRUE(changed(R"([{"set": {"tx": {"drain_us": 9}}}])")["settings"]);
    EXPECT_EQ(l_.controller().running().sending.drain_us, 9U);
}

TEST_F(change_requests, all_or_none_and_where_is_said) {
    const std::string before = runs();
    const json e = change(R"([{"add": {"route": {"to": "10.7.0.0/16", "via": "10.0.2.2"}}},
                              {"del": {"route": {"to": "10.6.0.0/16"}}}])")["error"];
    EXPECT_EQ(e["code"], "ENOENT");
    EXPECT_EQ(e["where"], "socket:1");
    EXPECT_EQ(
        e["what"],
        "the route to 10.6.0.0/16 is not configured (a learned one is deleted at its origin)");
    EXPECT_EQ(change(R"([{"add": {"port": {"name": "n", "device": "net_nonesuch7",
                                           "addresses": ["10.0.9.1/24"]}}}])")["error"]["where"],
              "socket:1: port 'n'");
    EXPECT_EQ(ask({{"request", "change"}})["error"]["where"], "do");
    EXPECT_EQ(runs(), before);
    EXPECT_EQ(states()["states"].size(), 1U);
    EXPECT_FALSE(states()["unsaved"]);
}

TEST_F(change_requests, lines_in_parts_come_together) {
    EXPECT_EQ(lines("add 10.7.0.0/16 via 10.0.2.2\n# none\n\nreplace 10.9.0.0/16 via 10.0.2.3\n",
                    true)["result"]["taken"],
              2);
    EXPECT_EQ(l_.egress_port("10.7.0.1"), std::nullopt) << "not before the last part";
    const json done = lines(
        "del 10.9.9.0/24\n2001:db8:7::/48 via fe80::9 dev east\n"
        "add 10.6.0.0/16 via 10.0.2.2 dev east\ndel 10.6.0.0/16");
    EXPECT_EQ(done["result"]["routes"], (json{{"removed", 1}, {"set", 3}})) << done;
    EXPECT_EQ(l_.egress_port("10.7.0.1"), 1);
    EXPECT_EQ(shown("route", {{"address", "10.9.9.1"}})["via"], "10.0.2.3");
    EXPECT_EQ(shown("route", {{"address", "2001:db8:7::1"}})["via"], "fe80::9");
    EXPECT_EQ(states()["states"][0]["what"], "6 route lines");
}

TEST_F(change_requests, wrong_lines_are_named_and_nothing_of_the_parts_stays) {
    const std::string before = runs();
    const struct {
        const char *text, *where, *what, *code;
    } rows[] = {
        {"add 10.7.0.0/16 via 10.99.0.1", "line 2", "via is 10.99.0.1, which is on no port's",
         "EINVAL"},
        {"\nadd 10.7.0.0/16", "line 3", "says not where packets go", "EINVAL"},
        {"dle 10.7.0.0/16", "line 2", "the route's prefix", "EINVAL"},
        {"del 10.7.0.0/16 via 10.0.2.2", "line 2", "the route's prefix should be alone", "EINVAL"},
        {"del 10.7.0.0/16", "line 2",
         "the route to 10.7.0.0/16 is not configured (a learned one is deleted at its origin)",
         "ENOENT"},
        {"add 10.9.0.0/16 via 10.0.2.2", "line 2", "the route to 10.9.0.0/16 is there already",
         "EEXIST"},
        {"add 10.0.1.0/24 via 10.0.2.2", "lab.yaml", "routes: 10.0.1.0/24 is there twice",
         "EINVAL"},
    };
    for (const auto& r : rows) {
        EXPECT_TRUE(lines("add 10.5.0.0/16 via 10.0.2.2\n", true).contains("result"));
        const json e = lines(r.text)["error"];
        EXPECT_EQ(e["where"], r.where) << r.text;
        EXPECT_EQ(e["what"].get<std::string>().substr(0, std::string(r.what).size()), r.what);
        EXPECT_EQ(e["code"], r.code) << r.text;
        EXPECT_EQ(lines("")["result"]["text"], "nothing") << "changes before it are gone";
    }
    EXPECT_EQ(runs(), before);
    // Parts of a request belong to their connection, and are released with it.
    lines("add 10.5.0.0/16 via 10.0.2.2\n", true);
    asked_.gone(client_);
    EXPECT_EQ(lines("")["result"]["text"], "nothing");
    lines("add 10.5.0.0/16 via 10.0.2.2\n", true);
    client_.connection = 2;
    EXPECT_EQ(lines("")["result"]["text"], "nothing");
    client_.connection = 1;
    EXPECT_EQ(lines("")["result"]["text"], "1 route");
}

TEST_F(change_requests, next_hops_of_a_line_have_a_limit) {
    std::string part;
    while (part.size() < 60'000) part += "\tnexthop x\n";
    EXPECT_TRUE(lines("\n10.5.0.0/16 proto static\n" + part, true).contains("result"));
    const json e = lines(part, true)["error"];
    EXPECT_EQ(e["where"], "line 2") << e;
    EXPECT_EQ(e["what"], "is longer than 65536 bytes") << e;
    EXPECT_EQ(lines("")["result"]["text"], "nothing");
}

/// A name is in the origin of each object, and on terminals.
TEST_F(change_requests, names_of_configurations_are_short_lines) {
    for (const char* request : {"check", "diff", "apply"})
        for (const std::string& name : {std::string(4096, 'a'), std::string("\x1b[2J"),
                                        std::string("two\nlines"), std::string("\xc2\x9b")}) {
            json e = refused({{"request", request}, {"text", named(router())}, {"name", name}});
            EXPECT_EQ(e["where"], "name") << e;
            EXPECT_EQ(e["what"], "should be a line of at most 4095 bytes of text");
            e = refused({{"request", request}, {"file", name}});
            EXPECT_EQ(e["where"], "file") << e;
        }
    const json all = {
        {"request", "check"}, {"text", named(router())}, {"name", std::string(4095, 'a')}};
    EXPECT_TRUE(ask(all).contains("result"));
}

TEST_F(change_requests, many_next_hops_have_a_limit) {
    state::configuration config = l_.controller().running();
    sources::route_stream stream;
    std::string text;
    for (unsigned i = 2; i < 200; ++i) text += " nexthop via 10.0.2." + std::to_string(i);
    size_t routes = 0;
    const auto add = [&](unsigned i) {  // each with another list of next hops
        return stream.add_lines("172.16." + std::to_string(i / 200) + ".0/24" + text + " weight " +
                                    std::to_string(2 + i % 200) + "\n",
                                config);
    };
    while (routes < 300 && add(static_cast<unsigned>(routes % 200))) ++routes;
    EXPECT_EQ(routes, 300U);
    EXPECT_EQ(stream.changes(), 300U);
    EXPECT_EQ(stream.size(), 300U + 200 * 198) << "the same list counts once";
}

constexpr const char* seven = R"([{"add": {"route": {"to": "10.7.0.0/16", "via": "10.0.2.2"}}}])";
constexpr const char* six = R"([{"add": {"route": {"to": "10.6.0.0/16", "via": "10.0.2.2"}}}])";

TEST_F(change_requests, back_to_what_ran_before) {
    std::vector<std::string> was = {runs()};
    for (int i = 0; i < 13; ++i) {
        changed(R"([{"set": {"tx": {"drain_us": )" + std::to_string(100 + i) + "}}}]");
        was.push_back(runs());
    }
    const json kept = states()["states"];
    ASSERT_EQ(kept.size(), control::history::kept + 1);
    EXPECT_EQ(kept[0]["by"], "uid 8 (process 7)");
    EXPECT_EQ(kept[10]["back"], 10);
    EXPECT_EQ(refused({{"request", "rollback"}, {"back", 11}})["where"], "back");
    EXPECT_EQ(ask({{"request", "rollback"}, {"back", 10}})["result"]["text"], "settings");
    EXPECT_EQ(runs(), was[3]);
    EXPECT_EQ(ask({{"request", "rollback"}})["result"]["text"], "settings");
    EXPECT_EQ(runs(), was[13]) << "a rollback is a change, too";
    EXPECT_TRUE(states()["unsaved"]);
}

/// The base of a candidate: edits of an earlier configuration, named by its id.
TEST_F(change_requests, an_earlier_configuration_is_edited) {
    std::vector<std::string> was = {runs()};
    for (int i = 0; i < 3; ++i) {
        changed(R"([{"set": {"tx": {"drain_us": )" + std::to_string(100 + i) + "}}}]");
        was.push_back(runs());
    }
    const json first = states()["states"][2];
    const json dry = changed("[]", {{"base", first["id"]}, {"dry", true}});
    EXPECT_EQ(dry["text"], "settings");
    EXPECT_EQ(dry["compare"].back(), "+ tx: {drain_us: 100}");
    EXPECT_EQ(runs(), was[3]);
    changed(R"([{"set": {"port": {"name": "west", "mtu": 1400}}}])",
            {{"base", first["id"]}, {"comment", "as it was"}});
    EXPECT_NE(runs().find("drain_us: 100"), std::string::npos);
    EXPECT_NE(runs().find("mtu: 1400"), std::string::npos);
    const json state = states()["states"][0];
    EXPECT_TRUE(state["what"].get<std::string>().starts_with("rollback to \"change [")) << state;
    EXPECT_EQ(state["comment"], "as it was");
    EXPECT_EQ(changed("[]", {{"base", first["id"]}})["text"], "1 port");
    EXPECT_EQ(runs(), was[1]);
    for (int i = 0; i < 12; ++i)
        changed(R"([{"set": {"tx": {"drain_us": )" + std::to_string(200 + i) + "}}}]");
    const json gone = change("[]", {{"base", first["id"]}})["error"];
    EXPECT_EQ(gone["where"], "base");
    EXPECT_EQ(gone["code"], "ENOENT");
    EXPECT_EQ(change("[]", {{"base", 0}})["error"]["where"], "base");
}

/// An editor's text, made from a configuration that does not run any more.
TEST_F(change_requests, a_text_of_an_earlier_configuration_undoes_no_change) {
    json apply = {{"request", "apply"},
                  {"text", runs()},
                  {"name", "o.yaml"},
                  {"base", states()["states"][0]["id"]}};
    changed(R"([{"set": {"port": {"name": "west", "mtu": 1400}}}])");
    const std::string now = runs();
    const json error = ask(apply)["error"];
    EXPECT_EQ(error["code"], "EBUSY");
    EXPECT_EQ(error["where"], "base");
    EXPECT_NE(error["what"].get<std::string>().find("1400"), std::string::npos) << error;
    EXPECT_EQ(runs(), now);
    apply["base"] = states()["states"][0]["id"];
    EXPECT_TRUE(ask(apply).contains("result"));
    EXPECT_NE(runs(), now);
}

/// The edits of a candidate are made to the configuration that its operator saw.
TEST_F(change_requests, edits_are_refused_if_another_configuration_runs) {
    const std::string edit = R"([{"set": {"port": {"name": "west", "mtu": 1400}}}])";
    const auto seen = changed(edit, {{"dry", true}})["id"];
    EXPECT_EQ(seen, states()["states"][0]["id"]);
    changed(R"([{"set": {"tx": {"drain_us": 300}}}])");
    const std::string now = runs();
    const json error = change(edit, {{"unless_changed", seen}})["error"];
    EXPECT_EQ(error["code"], "EBUSY");
    EXPECT_EQ(error["where"], "unless_changed");
    EXPECT_EQ(runs(), now);
    changed(edit, {{"unless_changed", changed(edit, {{"dry", true}})["id"]}});
    EXPECT_NE(runs(), now);
}

TEST_F(change_requests, have_comments) {
    changed(seven, {{"comment", "for Ω, ticket 7"}});
    EXPECT_EQ(states()["states"][0]["comment"], "for Ω, ticket 7");
    EXPECT_EQ(states()["states"][1]["comment"], nullptr);
    EXPECT_TRUE(ask({{"request", "rollback"}, {"comment", "did not help"}}).contains("result"));
    EXPECT_EQ(states()["states"][0]["comment"], "did not help");
    write(router());
    EXPECT_TRUE(ask({{"request", "reload"}, {"comment", "file"}}).contains("result"));
    EXPECT_EQ(states()["states"][0]["comment"], "file");
    EXPECT_TRUE(ask({{"request", "routes"},
                     {"lines", "add 10.5.0.0/16 via 10.0.2.2\n"},
                     {"comment", "routes"}})
                    .contains("result"));
    EXPECT_EQ(states()["states"][0]["comment"], "routes");
    for (const std::string& wrong : {std::string("two\nlines"), std::string(201, 'a')}) {
        EXPECT_EQ(change(six, {{"comment", wrong}})["error"]["where"], "comment");
        EXPECT_EQ(states()["states"][0]["comment"], "routes");
    }
}

TEST_F(change_requests, there_is_nothing_before_the_start) {
    EXPECT_EQ(refused({{"request", "rollback"}})["what"], "nothing has changed since the start");
    EXPECT_EQ(refused({{"request", "confirm"}})["code"], "ENOENT");
}

TEST_F(change_requests, unconfirmed_it_is_undone) {
    const std::string before = runs();
    const json other = {
        {"request", "apply"}, {"text", named(router())}, {"name", "o.yaml"}, {"confirm", 1}};
    EXPECT_EQ(ask(other)["result"]["text"], "2 routes");
    EXPECT_EQ(shown("route", {{"address", "10.9.0.1"}})["reason"], "no_route");
    EXPECT_EQ(states()["undone_in_s"], 1);
    EXPECT_EQ(change(seven)["error"]["code"], "EBUSY") << "nothing else meanwhile";
    std::ofstream(file_) << "ports: [broken\n";
    EXPECT_EQ(refused({{"request", "reload"}})["where"], "confirm") << "it is not read meanwhile";
    asked_.tick();
    EXPECT_EQ(states()["undone_in_s"], 1) << "not before its time";
    wait_a_second();
    EXPECT_EQ(runs(), before);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
    EXPECT_EQ(states()["undone_in_s"], nullptr);
    EXPECT_EQ(states()["states"][0]["what"], "rollback 1");
    EXPECT_TRUE(change(seven).contains("result"));
}

TEST_F(change_requests, confirmed_or_rolled_back_it_is_not) {
    changed(seven, {{"confirm", 1}});
    EXPECT_TRUE(ask({{"request", "confirm"}})["result"]["confirmed"].get<std::string>().starts_with(
        "change [{\"add\""));
    const std::string after = runs();
    wait_a_second();
    EXPECT_EQ(runs(), after);
    changed(six, {{"confirm", 1}});
    EXPECT_EQ(ask({{"request", "rollback"}})["result"]["text"], "1 route");
    wait_a_second();
    EXPECT_EQ(runs(), after);
    // A request that changes nothing starts no timer to revert it.
    changed("[]", {{"confirm", 1}});
    EXPECT_EQ(states()["undone_in_s"], nullptr);
    EXPECT_EQ(change(six, {{"confirm", 0}})["error"]["where"], "confirm");
}

TEST_F(change_requests, a_change_is_confirmed_by_its_id) {
    const json mine = changed(seven, {{"confirm", 1}});
    wait_a_second();
    const json other = changed(six, {{"confirm", 60}});
    EXPECT_NE(mine["id"], other["id"]);
    EXPECT_GE(mine["id"].get<uint64_t>() >> 20, uint64_t{1} << 30) << "as of an earlier process";
    const json e = refused({{"request", "confirm"}, {"id", mine["id"]}});
    EXPECT_EQ(e["code"], "EBUSY") << e;
    EXPECT_EQ(e["where"], "id") << e;
    EXPECT_TRUE(e["what"].get<std::string>().starts_with(
        "another change awaits confirmation, by uid 8 (process 7): change [{"))
        << e;
    EXPECT_TRUE(states()["undone_in_s"].is_number());
    EXPECT_TRUE(ask({{"request", "confirm"}, {"id", other["id"]}}).contains("result"));
    EXPECT_EQ(refused({{"request", "confirm"}, {"id", other["id"]}})["code"], "ENOENT");
}

TEST_F(change_requests, a_port_whose_name_is_a_number) {
    const json e = change(
        R"([{"add": {"port": {"name": 7, "device": "net_x7", "addresses": ["10.77.0.1/24"]}}}])")
        ["error"];
    EXPECT_EQ(e["what"].get<std::string>().find("json"), std::string::npos) << e;
}

/// A restart would otherwise load the change that `confirm` is to revert.
TEST_F(change_requests, unconfirmed_it_is_not_saved) {
    const auto written = [this] {
        std::ifstream in(file_);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const std::string before = written();
    changed(seven, {{"confirm", 60}});
    const json e = refused({{"request", "save"}});
    EXPECT_EQ(e["code"], "EBUSY") << e;
    EXPECT_EQ(e["where"], "confirm");
    EXPECT_NE(e["what"].get<std::string>().find("confirm it, or roll it back, first"),
              std::string::npos)
        << e;
    EXPECT_EQ(written(), before);
    ask({{"request", "confirm"}});
    EXPECT_EQ(ask({{"request", "save"}})["result"]["saved"], file_);
    EXPECT_NE(written(), before);
}

TEST_F(change_requests, saved_it_is_loaded_as_it_runs) {
    ::chmod(file_.c_str(), 0640);
    changed(seven);
    changed(R"([{"add": {"acl": {"name": "l", "rules": [{"action": "permit", "dscp": 3}]}}},
                {"replace": {"port": {"name": "west", "acl": {"in": "l"}}}}])");
    EXPECT_TRUE(states()["unsaved"]);
    EXPECT_EQ(ask({{"request", "save"}})["result"]["saved"], file_);
    EXPECT_FALSE(states()["unsaved"]);
    struct stat made {};
    EXPECT_EQ(::stat(file_.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 0640U);
    const auto loaded = sources::load(file_);
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto differs = state::diff(l_.controller().running(), *loaded);
    ASSERT_TRUE(differs) << differs.error().message();
    EXPECT_TRUE(differs->empty()) << differs->text();
    EXPECT_EQ(ask({{"request", "reload"}})["result"]["text"], "nothing");
    changed(six);
    EXPECT_TRUE(states()["unsaved"]);
    EXPECT_EQ(ask({{"request", "reload"}})["result"]["text"], "1 route");
    EXPECT_FALSE(states()["unsaved"]);
}

/// For metrics, and in the log at the end.
TEST_F(change_requests, what_is_in_no_file_is_said) {
    const auto unfinished = [&] {
        l_.worker().pause();
        asked_.tick();
        l_.worker().resume();
        return control::scrape(l_.controller(), false).unfinished;
    };
    const auto said = [&] {
        testing::internal::CaptureStderr();
        asked_.stopping();
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(unfinished(), observe::unfinished_changes{});
    EXPECT_EQ(said(), "");
    changed(seven, {{"confirm", 60}, {"comment", "the second uplink"}});
    EXPECT_EQ(unfinished(), (observe::unfinished_changes{.unsaved = true, .unconfirmed = true}));
    ask({{"request", "confirm"}});
    EXPECT_EQ(unfinished(), (observe::unfinished_changes{.unsaved = true, .unconfirmed = false}));
    EXPECT_THAT(said(), testing::AllOf(testing::HasSubstr("not saved: uid 8 (process 7): change"),
                                       testing::HasSubstr("(the second uplink)")));
    ask({{"request", "save"}});
    EXPECT_EQ(unfinished(), observe::unfinished_changes{});
    changed(six);
    EXPECT_EQ(said().find("the second uplink"), std::string::npos) << "saved";
}

TEST_F(change_requests, an_edited_file_is_kept) {
    const auto text_of = [](const std::string& file) {
        std::ifstream in(file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    EXPECT_EQ(ask({{"request", "save"}})["result"]["old"], file_ + ".old") << "of an operator";
    changed(seven);
    EXPECT_FALSE(ask({{"request", "save"}})["result"].contains("old")) << "of turnpike";
    std::string edited = text_of(file_);
    edited += "# our second uplink comes in May\n";
    std::ofstream(file_) << edited;
    EXPECT_EQ(ask({{"request", "save"}})["result"]["old"], file_ + ".old");
    EXPECT_EQ(text_of(file_ + ".old"), edited);

    // Where it cannot be kept, it stays.
    edited += "# and the third in June\n";
    std::ofstream(file_) << edited;
    std::filesystem::remove(file_ + ".old");
    ASSERT_TRUE(std::filesystem::create_directory(file_ + ".old"));
    const json e = ask({{"request", "save"}})["error"];
    EXPECT_EQ(e["where"], file_ + ".old");
    EXPECT_THAT(e["what"].get<std::string>(),
                testing::HasSubstr("would replace the operator's file"));
    EXPECT_EQ(text_of(file_), edited);
    std::filesystem::remove(file_ + ".old");
    EXPECT_EQ(ask({{"request", "save"}})["result"]["old"], file_ + ".old");
    EXPECT_EQ(text_of(file_ + ".old"), edited);
}

TEST_F(change_requests, what_cannot_be_saved_is_as_it_was) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("turnpike-save-" + std::to_string(::getpid()));
    control::requests elsewhere(l_.controller(), (folder / "none" / "c.yaml").string());
    const json e = json::parse(elsewhere.answer(R"({"request": "save"})", client_))["error"];
    EXPECT_EQ(e["code"], "ENOENT");
    EXPECT_EQ(e["where"], (folder / "none" / "c.yaml").string());
    EXPECT_FALSE(std::filesystem::exists(folder));
}

/// A handler with a defect.
class broken_handler : public control::config_handler {
  public:
    result<std::unique_ptr<control::prepared_change>> prepare(control::transaction&) override {
        throw std::out_of_range("no such element");
    }
};

TEST_F(change_requests, a_defect_is_not_taken_for_a_lack_of_memory) {
    broken_handler broken;
    l_.controller().also(broken);
    const json e =
        change(R"([{"add": {"route": {"to": "10.7.0.0/16", "via": "10.0.2.2"}}}])")["error"];
    EXPECT_EQ(e["code"], "EIO");
    EXPECT_THAT(e["what"].get<std::string>(), testing::HasSubstr("no such element"));
    EXPECT_EQ(l_.egress_port("10.7.0.1"), std::nullopt);
}

TEST_F(change_requests, what_could_not_be_loaded_is_not_saved) {
    const auto text_of = [&] {
        const auto text = yaml::read_file(file_);
        return text ? *text : text.error().message();
    };
    std::filesystem::remove(file_ + ".old");
    const size_t bytes = runs().size();
    const std::string before = text_of();
    control::requests small(l_.controller(), file_, nullptr, bytes - 1);
    const json e = json::parse(small.answer(R"({"request": "save"})", client_))["error"];
    EXPECT_EQ(e["code"], "EFBIG");
    EXPECT_EQ(e["where"], file_);
    EXPECT_EQ(text_of(), before);
    EXPECT_FALSE(std::filesystem::exists(file_ + ".old"));
    control::requests large(l_.controller(), file_, nullptr, bytes);
    EXPECT_TRUE(json::parse(large.answer(R"({"request": "save"})", client_)).contains("result"));
    EXPECT_EQ(text_of().size(), bytes);
}

/// `ip route show | turnpikectl routes -`, also where a part ends inside a route.
TEST_F(change_requests, route_lines_as_ip_route_prints_them) {
    EXPECT_EQ(lines("# ip route\n10.0.1.0/24 dev west proto kernel scope link src 10.0.1.254\n"
                    "10.6.0.0/16 proto static\n\tnexthop via 10.0.2.2 dev east weight 1\n",
                    true)["result"]["taken"],
              1);
    const json done = lines(
        "\tnexthop via 10.0.2.3 dev east weight 2\n"
        "add blackhole 10.7.0.0/16\ndel 10.7.0.0/16\n");
    ASSERT_TRUE(done.contains("result")) << done;
    EXPECT_EQ(done["result"]["routes"]["set"], 1) << done;
    EXPECT_EQ(shown("route", {{"address", "10.6.0.1"}})["members"].size(), 2U)
        << shown("route", {{"address", "10.6.0.1"}});
    const json alone = lines("10.9.0.0/16 via 10.0.2.2\n10.8.0.0/16 proto static\n")["error"];
    EXPECT_EQ(alone["where"], "line 2") << alone << ": no next hop";
}

/// A change of nothing starts no timer, and an answer names none.
TEST_F(change_requests, say_when_they_are_undone) {
    EXPECT_EQ(change("[]", {{"confirm", 60}})["result"]["undone_in_s"], nullptr);
    const json left = change(seven, {{"confirm", 60}})["result"]["undone_in_s"];
    ASSERT_TRUE(left.is_number()) << left;
    EXPECT_GE(left, 59);
    EXPECT_TRUE(ask({{"request", "confirm"}}).contains("result"));
    EXPECT_EQ(change(six)["result"]["undone_in_s"], nullptr);
}

TEST_F(change_requests, each_answer_names_its_configuration) {
    const auto names_the_running_one = [&](const json& answer) {
        const json result = answer.value("result", json::object());
        EXPECT_EQ(result.value("id", json()), states()["states"][0]["id"]) << answer;
        EXPECT_TRUE(result.contains("undone_in_s")) << answer;
    };
    names_the_running_one(change(six));
    names_the_running_one(lines("10.6.0.0/16 via 10.0.2.2"));
    names_the_running_one(ask({{"request", "rollback"}}));
    names_the_running_one(ask({{"request", "reload"}}));
}

/// Part of a candidate: a later change may complete it.
TEST_F(change_requests, a_rehearsal_of_an_invalid_configuration_says_why) {
    const std::string alone = R"([{"add": {"port": {"name": "more", "device": "net_x7"}}}])";
    const json rehearsed = change(alone, {{"dry", true}})["result"];
    EXPECT_NE(rehearsed["invalid"]["what"].get<std::string>().find("port 'more' has no addresses"),
              std::string::npos)
        << rehearsed;
    EXPECT_FALSE(rehearsed["compare"].empty());
    EXPECT_EQ(change(alone)["error"]["what"], rehearsed["invalid"]["what"]);
    EXPECT_FALSE(change(seven, {{"dry", true}})["result"].contains("invalid"));
    const json no_link =
        change(R"([{"replace": {"port": {"name": "west", "pcie": {"link": "x"}}}}])",
               {{"dry", true}})["result"];
    EXPECT_TRUE(no_link.contains("invalid")) << no_link;
}

/// The line of a file that another object came from is no place in the request.
TEST_F(change_requests, that_make_other_objects_wrong_have_no_place) {
    const json overlaps =
        change(R"([{"add": {"address": {"port": "west", "address": "10.0.2.9/24"}}}])")["error"];
    EXPECT_TRUE(overlaps["what"].get<std::string>().starts_with("port 'east' has 10.0.2.254/24"))
        << overlaps;
    EXPECT_EQ(overlaps["where"], nullptr) << overlaps;
    const json routes =
        change(R"([{"del": {"address": {"port": "east", "address": "10.0.2.254/24"}}},
                   {"add": {"address": {"port": "east", "address": "10.0.8.1/24"}}}])")["error"];
    EXPECT_TRUE(routes["what"].get<std::string>().starts_with("routes: 10.9.0.0/16")) << routes;
    EXPECT_EQ(routes["where"], nullptr) << routes;
    const std::string west = l_.controller().running().ports.at("west").device;
    const json device = change(R"([{"add": {"port": {"name": "a", "device": ")" + west +
                               R"(", "addresses": ["10.0.9.1/24"]}}}])")["error"];
    EXPECT_EQ(device["where"], "socket:1") << device;
}

TEST_F(change_requests, pages_end_between_characters) {
    constexpr size_t page = 512 * 1024;
    std::string omegas;
    for (int i = 0; i < 120; ++i) omegas += "Ω";
    const auto whole = [&](size_t rules, const std::string& description) {
        std::string list;
        for (size_t i = 0; i < rules; ++i)
            list += std::string(i == 0 ? "" : ",") + R"({"action": "permit", "name": ")" +
                    std::to_string(100'000 + i) + R"(", "dscp": 10})";
        changed(R"([{"replace": {"acl": {"name": "l", "rules": [)" + list + R"(]}}},
                    {"set": {"port": {"name": "west", "description": ")" +
                description + R"("}}}])");
        std::string text;
        for (json from = 0; !from.is_null();) {
            const json one = ask({{"request", "configuration"}, {"from", from}})["result"];
            text += one["text"].get<std::string>();
            from = one["next"];
        }
        return text;
    };
    changed(R"([{"add": {"acl": {"name": "l", "rules": []}}}])");
    // The page's end is in the description, in front of a character or within it.
    const size_t ten = whole(10, omegas).find("Ω"), eleven = whole(11, omegas).find("Ω");
    const size_t rules = 10 + (page - ten) / (eleven - ten);
    for (const std::string& description : {omegas, "x" + omegas}) {
        const std::string text = whole(rules, description);
        const size_t at = text.find("Ω");
        ASSERT_LT(at, page);
        ASSERT_GT(at + omegas.size(), page);
        EXPECT_NE(text.find(description), std::string::npos);
    }
}

TEST_F(change_requests, a_long_configuration_by_the_page) {
    std::string many;
    for (unsigned i = 0; i < 30000; ++i)
        many += "172." + std::to_string(16 + i / 4096) + "." + std::to_string(i / 16 % 256) + "." +
                std::to_string(i % 16 * 16) + "/28 via 10.0.2.2\n";
    EXPECT_EQ(lines(many)["result"]["routes"]["set"], 30000);
    std::string text;
    json from = 0;
    int pages = 0;
    while (!from.is_null()) {
        const json page = ask({{"request", "configuration"}, {"from", from}})["result"];
        text += page["text"].get<std::string>();
        from = page["next"];
        ++pages;
    }
    EXPECT_GT(pages, 1);
    const auto loaded = sources::load_text(text, "pages.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_TRUE(state::diff(l_.controller().running(), *loaded)->empty());
    // Two clients at a time have a place each.
    const sources::socket_peer here = client_, other{.pid = 7, .uid = 0, .connection = 77};
    from = ask({{"request", "configuration"}})["result"]["next"];
    client_ = other;
    EXPECT_EQ(refused({{"request", "configuration"}, {"from", from}})["code"], "EBUSY");
    std::string its_text;
    for (json at = 0; !at.is_null();) {
        const json page = ask({{"request", "configuration"}, {"from", at}})["result"];
        its_text += page["text"].get<std::string>();
        at = page["next"];
    }
    EXPECT_EQ(its_text, text);
    client_ = here;
    std::string rest;
    for (json at = from; !at.is_null();) {
        const json page = ask({{"request", "configuration"}, {"from", at}})["result"];
        rest += page["text"].get<std::string>();
        at = page["next"];
    }
    EXPECT_EQ(rest, text.substr(from.get<size_t>())) << "the other client took nothing of it";
    from = ask({{"request", "configuration"}})["result"]["next"];
    changed(seven);
    EXPECT_EQ(refused({{"request", "configuration"}, {"from", from}})["code"], "EBUSY");
    EXPECT_EQ(l_.egress_port("172.16.0.1"), 1);
}

}  // namespace
}  // namespace turnpike
