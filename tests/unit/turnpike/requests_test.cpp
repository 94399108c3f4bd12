// SPDX-License-Identifier: BSD-3-Clause
// Control requests to a forwarding router: replies match the tables, and an invalid
// request changes nothing.
#include <nlohmann/json.hpp>
#include <random>

#include "request_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using requests = request_lab;

std::vector<std::string> column(const json& rows, const char* name) {
    std::vector<std::string> out;
    for (const json& r : rows) out.push_back(r.at(name).get<std::string>());
    return out;
}

TEST_F(requests, greeting_and_help_name_all_there_is) {
    const json hello = json::parse(control::requests::greeting());
    EXPECT_EQ(hello["schema"], "turnpike.control/1");
    EXPECT_TRUE(hello["version"].is_string());
    const json help = ask({{"request", "help"}})["result"];
    for (const char* name : {"help", "show", "check", "diff", "apply", "change", "routes", "reload",
                             "confirm", "rollback", "history", "save", "configuration", "clear"})
        EXPECT_TRUE(help["requests"].contains(name)) << name;
    EXPECT_FALSE(help["requests"].contains("states"))
        << "a name of earlier releases, still answered";
    EXPECT_EQ(ask({{"request", "states"}}), ask({{"request", "history"}}));
    for (const auto& [what, text] : help["show"].items())
        if (what != "route") {
            EXPECT_TRUE(shown(what).is_object()) << what;
        }
}

TEST_F(requests, the_report_is_the_report) {
    l_.egress_port("10.9.0.1");
    const json r = shown("report");
    EXPECT_EQ(r["schema"], "turnpike.report/2");
    EXPECT_EQ(r["balance"], observe::to_json(l_.controller().report())["balance"]);
    EXPECT_EQ(shown("drops")["drops"], r["drops"]);
    EXPECT_EQ(shown("ports")["ports"][0]["mtu"], 1500);
    EXPECT_EQ(shown("ports")["ports"][1]["mac"], "02:00:00:00:00:0c");
    const json east = shown("interfaces")["interfaces"][1];
    EXPECT_EQ(east["name"], "east");
    EXPECT_EQ(east["addresses"], (json{"10.0.2.254/24", "2001:db8:2::fe/64"}));
    EXPECT_EQ(shown("workers")["workers"][0]["rx_queues"].size(), 2U);
    EXPECT_EQ(shown("config")["changes"], 1);
    EXPECT_EQ(shown("memory")["fib4"]["routes"], r["routes"]["ipv4"]);
}

TEST_F(requests, a_port_with_shutdown_is_administratively_down) {
    EXPECT_EQ(shown("ports")["ports"][0]["link"], "up");
    const json edit = {{"set", {{"port", {{"name", "west"}, {"shutdown", true}}}}}};
    ASSERT_TRUE(ask({{"request", "change"}, {"do", {edit}}}).contains("result"));
    l_.controller().poll_links(100'000);
    EXPECT_EQ(shown("ports")["ports"][0]["link"], "shutdown");
    EXPECT_EQ(shown("interfaces")["interfaces"][0]["admin_up"], false);
    EXPECT_EQ(shown("interfaces")["interfaces"][1]["admin_up"], true);
}

TEST_F(requests, routes_are_those_of_the_tables) {
    const json r = shown("report");
    const json all = shown("routes");
    EXPECT_EQ(all["next"], nullptr);
    EXPECT_EQ(all["routes"].size(),
              r["routes"]["ipv4"].get<size_t>() + r["routes"]["ipv6"].get<size_t>());
    // Each listed route is the result of a lookup of its first address, unless a longer prefix
    // covers it.
    for (const json& route : all["routes"]) {
        const auto to = *parse_prefix(route["to"].get<std::string>());
        const json found = shown("route", {{"address", to.address.text()}});
        if (found["to"] == route["to"]) {
            EXPECT_EQ(found["next_hop"], route["next_hop"]) << route;
        }
    }
    EXPECT_EQ(column(shown("routes", {{"to", "10.9.0.0/16"}})["routes"], "to"),
              std::vector<std::string>{"10.9.0.0/16"});
    EXPECT_EQ(column(shown("routes", {{"to", "10.9.0.0/16"}, {"longer", true}})["routes"], "to"),
              (std::vector<std::string>{"10.9.0.0/16", "10.9.9.0/24"}));
    EXPECT_EQ(column(shown("routes", {{"to", "10.8.0.0/15"}, {"longer", true}})["routes"], "to"),
              (std::vector<std::string>{"10.9.0.0/16", "10.9.9.0/24"}));
    EXPECT_TRUE(shown("routes", {{"to", "10.9.9.1"}})["routes"].empty());
    const json by_page = [&] {
        json pages = json::array();
        json from = "0.0.0.0/0";
        while (!from.is_null()) {
            const json one = shown("routes", {{"from", from}, {"most", 2}});
            EXPECT_LE(one["routes"].size(), 2U);
            pages.insert(pages.end(), one["routes"].begin(), one["routes"].end());
            from = one["next"];
        }
        return pages;
    }();
    EXPECT_EQ(by_page, all["routes"]);
}

TEST_F(requests, a_route_is_what_a_worker_finds) {
    const json by = shown("route", {{"address", "10.9.1.1"}});
    EXPECT_EQ(by["to"], "10.9.0.0/16");
    EXPECT_EQ(by["origin"], "configured");
    EXPECT_EQ(by["type"], "adjacency");
    EXPECT_EQ(by["via"], "10.0.2.2");
    EXPECT_EQ(by["mac"], "02:00:00:00:00:0d");
    EXPECT_EQ(by["interface"], "east");
    EXPECT_EQ(shown("route", {{"address", "10.9.9.1"}})["reason"], "route_blackhole");
    EXPECT_EQ(shown("route", {{"address", "10.0.1.254"}})["origin"], "address");
    EXPECT_EQ(shown("route", {{"address", "10.0.1.7"}})["origin"], "connected");
    EXPECT_EQ(shown("route", {{"address", "10.0.2.2"}})["to"], "10.0.2.2/32");
    const json none = shown("route", {{"address", "203.0.113.1"}});
    EXPECT_EQ(none["reason"], "no_route");
    EXPECT_EQ(none["to"], nullptr);
    EXPECT_EQ(shown("route", {{"address", "2001:db8:2::fe"}})["type"], "local");
}

TEST_F(requests, learned_neighbours_are_flushed) {
    const auto flush = [&](const json& more) {
        json request = {{"request", "flush"}, {"what", "neighbours"}};
        request.update(more);
        return ask(request);
    };
    const auto listed = [&] { return column(shown("neighbours")["neighbours"], "address"); };
    const auto before = listed();
    ASSERT_NE(std::find(before.begin(), before.end(), "10.0.2.2"), before.end());
    EXPECT_EQ(flush({{"port", "esat"}})["error"]["what"], "'esat' is not an interface");
    EXPECT_EQ(flush({{"address", "10.0.2"}})["error"]["where"], "address");
    EXPECT_EQ(flush({{"mac", "02:00:00:00:00:01"}})["error"]["code"], "EINVAL");
    EXPECT_EQ(flush({{"address", "10.0.7.7"}})["result"]["flushed"], 0);
    unsigned dynamic = 0;
    const json entries = shown("neighbours");
    for (const json& n : entries["neighbours"]) dynamic += n["static"] == false;
    EXPECT_EQ(flush(json::object())["result"]["flushed"], dynamic) << entries;
    EXPECT_EQ(ask({{"request", "flush"}, {"what", "fdb"}, {"bridge", "lan"}})["error"]["what"],
              "'lan' is not a bridge");
}

TEST_F(requests, the_version_and_the_log) {
    const json now = shown("version");
    EXPECT_FALSE(now["turnpike"].get<std::string>().empty());
    EXPECT_EQ(now["dpdk"].get<std::string>().rfind("DPDK ", 0), 0U);
    EXPECT_EQ(now["pid"], ::getpid());
    observe::log(observe::log_level::notice, "a line", {{"port", "east"}});
    observe::log(observe::log_level::warning, "another line");
    const json lines = shown("log", {{"most", 2}})["log"];
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0]["text"], "a line");
    EXPECT_EQ(lines[0]["fields"]["port"], "east");
    EXPECT_EQ(lines[1]["level"], "warning");
    EXPECT_LE(lines[0]["time"].get<std::string>(), lines[1]["time"].get<std::string>());
}

TEST_F(requests, where_gateways_of_recursive_routes_are) {
    const auto change = [&](const json& route) {
        const json done = ask({{"request", "change"}, {"do", {{{"replace", {{"route", route}}}}}}});
        EXPECT_TRUE(done.contains("result")) << done;
    };
    change({{"to", "10.8.0.0/16"}, {"via", "192.0.2.1"}, {"recursive", true}});
    json shows = shown("routes", {{"to", "10.8.0.0/16"}})["routes"][0];
    EXPECT_EQ(shows["type"], "unresolved");
    EXPECT_EQ(shows["recursive"], true);
    EXPECT_EQ(shows["via"], "192.0.2.1");
    EXPECT_EQ(shows["reason"], "192.0.2.1: no route leads there");
    EXPECT_EQ(shows["gateways"][0]["through"], nullptr);
    EXPECT_EQ(shows["members"][0]["reason"], "route_unreachable") << "as it is dropped";
    change({{"to", "192.0.2.0/24"}, {"via", "10.0.2.2"}});
    shows = shown("route", {{"address", "10.8.0.1"}});
    EXPECT_EQ(shows["type"], "group");
    EXPECT_EQ(shows["interface"], "east");
    EXPECT_FALSE(shows.contains("reason"));
    EXPECT_EQ(shows["gateways"],
              json({{{"via", "192.0.2.1"}, {"weight", 1}, {"through", "192.0.2.0/24"}}}));
    EXPECT_EQ(shows["members"][0]["via"], "10.0.2.2");
    change({{"to", "10.8.0.0/16"}, {"via", {"10.8.0.9", "192.0.2.1"}}, {"recursive", true}});
    shows = shown("routes", {{"to", "10.8.0.0/16"}})["routes"][0];
    EXPECT_EQ(shows["type"], "group");
    EXPECT_EQ(shows["via"], (json{"10.8.0.9", "192.0.2.1"}));
    EXPECT_EQ(shows["gateways"][0]["through"], "10.8.0.0/16");
    EXPECT_EQ(shows["reason"],
              "10.8.0.9: leads back to itself, or through more than 8 recursive routes");
    EXPECT_EQ(shows["members"].size(), 1U);
}

TEST_F(requests, neighbours_by_the_page) {
    for (uint32_t i = 0; i < 5; ++i) l_.offer(0, datagram(0x0a00'0210 + i));
    l_.settle();
    const json all = shown("neighbours");
    EXPECT_EQ(all["neighbours"].size(), l_.controller().routing().neighbours().size());
    EXPECT_EQ(all["neighbours"][0]["static"], true);
    json pages = json::array(), from = nullptr;
    do {
        json one = shown("neighbours",
                         from.is_null() ? json{{"most", 2}} : json{{"most", 2}, {"from", from}});
        pages.insert(pages.end(), one["neighbours"].begin(), one["neighbours"].end());
        from = one["next"];
    } while (!from.is_null());
    EXPECT_EQ(pages, all["neighbours"]);
    json by_port = json::array();
    for (const char* const port : {"west", "east"}) do {
            json more = {{"most", 2}, {"port", port}};
            if (!from.is_null()) more["from"] = from;
            json one = shown("neighbours", more);
            by_port.insert(by_port.end(), one["neighbours"].begin(), one["neighbours"].end());
            from = one["next"];
        } while (!from.is_null());
    EXPECT_EQ(by_port, all["neighbours"]);
    EXPECT_EQ(shown("neighbours", {{"address", "10.0.2.18"}})["neighbours"].size(), 1U);
    EXPECT_TRUE(
        shown("neighbours", {{"address", "10.0.2.18"}, {"port", "west"}})["neighbours"].empty());
    EXPECT_EQ(refused({{"request", "show"}, {"what", "neighbours"}, {"port", "esat"}})["where"],
              "port");
    EXPECT_EQ(shown("next-hops")["next_hops"].size(), l_.controller().nexthops().in_use());
    l_.controller().routing().neighbours().drop_all_pending(datapath::drop_reason::stopping);
}

TEST_F(requests, drops_by_port_and_reason) {
    l_.offer(0, datagram(0x0a09'0901));
    l_.offer(0, datagram(0xc000'0201));
    l_.settle();
    const json all = shown("drops");
    EXPECT_EQ(all["drops"], (json{{"no_route", 1}, {"route_blackhole", 1}})) << all;
    const json reason = shown("drops", {{"reason", "no_route"}, {"port", "west"}});
    EXPECT_EQ(reason["drops"], (json{{"no_route", 1}})) << reason;
    EXPECT_EQ(reason["ports"], (json{{"west", {{"no_route", 1}}}})) << reason;
    EXPECT_TRUE(shown("drops", {{"port", "east"}})["drops"].empty());
    EXPECT_EQ(refused({{"request", "show"}, {"what", "drops"}, {"port", "wets"}})["where"], "port");
    EXPECT_EQ(refused({{"request", "show"}, {"what", "drops"}, {"reason", "x"}})["where"],
              "reason");
}

TEST_F(requests, check_diff_and_apply) {
    const std::string other = named(router("{to: 10.8.0.0/16, via: 10.0.2.2}"));
    EXPECT_EQ(ask({{"request", "check"}, {"text", other}, {"name", "o.yaml"}})["result"]["valid"],
              "o.yaml");
    const json differs = ask({{"request", "diff"}, {"text", other}, {"name", "o.yaml"}})["result"];
    EXPECT_EQ(differs["routes"], (json{{"removed", 2}, {"set", 1}}));
    EXPECT_EQ(differs["text"], "3 routes");
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1) << "only asked";
    const json applied = ask({{"request", "apply"}, {"text", other}, {"name", "o.yaml"}})["result"];
    json without_lines = differs;
    EXPECT_FALSE(without_lines["compare"].empty());
    without_lines.erase("compare");
    without_lines["undone_in_s"] = nullptr;
    without_lines["id"] = applied["id"];
    EXPECT_EQ(applied, without_lines);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), std::nullopt);
    EXPECT_EQ(l_.egress_port("10.8.0.1"), 1);
    EXPECT_EQ(shown("config")["file"], "o.yaml");
    EXPECT_EQ(ask({{"request", "reload"}})["result"]["text"], "3 routes");
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1) << "again as in the file";
    write(router());
    EXPECT_EQ(ask({{"request", "apply"}, {"file", file_}})["result"]["text"], "2 routes");
    EXPECT_EQ(ask({{"request", "apply"}, {"file", file_}})["result"]["text"], "nothing");
}

/// Objects and tables of all VRFs, and lists that several places share.
TEST_F(requests, numbers_are_of_all_there_is) {
    EXPECT_EQ(shown("config")["vrfs"], 0);
    const json main_only = shown("memory");
    std::string both =
        router("{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.8.0.0/16, type: blackhole, vrf: red}",
               "vrfs: [{name: red}]\n"
               "mirrors: [{name: m, ports: [west], to: east, list: edge}]\n"
               "acl: [{name: edge, rules: [{action: deny, protocol: tcp}]}]\n");
    const auto bind = [&](const std::string& device, const std::string& more) {
        both.replace(both.find(device), device.size(), device + " acl: {" + more + "},");
    };
    bind("device: d0,", "in: edge");
    bind("device: d1,", "in: edge, out: edge");
    const json request = {{"text", named(both)}, {"name", "v.yaml"}, {"request", "diff"}};
    const json differs = ask(request)["result"];
    EXPECT_EQ(differs["mirrors"]["added"], json({"m"})) << differs;
    json apply = request;
    apply["request"] = "apply";
    ASSERT_TRUE(ask(apply).contains("result")) << ask(apply);
    const json config = shown("config");
    EXPECT_EQ(config["vrfs"], 1);
    EXPECT_EQ(config["mirrors"], 1);
    EXPECT_EQ(config["routes"], 2);
    const json memory = shown("memory"), report = shown("report");
    EXPECT_EQ(memory["fib4"]["routes"], report["routes"]["ipv4"]);
    EXPECT_GT(memory["fib4"]["bytes"], main_only["fib4"]["bytes"]);
    ASSERT_EQ(report["acl"].size(), 3U);
    EXPECT_EQ(memory["acl_bytes"], report["acl"][0]["table_bytes"]) << "one list, counted once";
}

TEST_F(requests, clear_counters) {
    l_.egress_port("10.9.0.1");
    l_.egress_port("10.9.9.1");
    const json before = shown("report");
    EXPECT_FALSE(before["drops"].empty());
    EXPECT_EQ(shown("drops")["cleared"], false);
    EXPECT_EQ(ask({{"request", "clear"}, {"what", "counters"}})["result"],
              (json{{"cleared", "counters"}}));
    for (const char* what : {"ports", "drops", "cost", "acl", "pcie"}) {
        EXPECT_EQ(shown(what)["cleared"], true) << what;
        EXPECT_TRUE(shown(what)["since_s"].is_number()) << what;
    }
    EXPECT_TRUE(shown("drops")["drops"].empty());
    EXPECT_EQ(shown("ports")["ports"][0]["rx_packets"], 0);
    EXPECT_EQ(shown("pcie")["ports"][0]["rx_packets"], 0);
    EXPECT_EQ(shown("pcie")["ports"][0]["why"]["modelled"], "no packets, no cost");
    EXPECT_EQ(shown("cost")["workers"][0]["packets"], 0);
    EXPECT_EQ(shown("report")["balance"], before["balance"]) << "the balance continues";
    EXPECT_EQ(refused({{"request", "clear"}, {"what", "everything"}})["where"], "what");
    EXPECT_EQ(refused({{"request", "clear"}})["where"], "what");
    EXPECT_EQ(refused({{"request", "clear"}, {"what", "counters"}, {"port", "wets"}})["where"],
              "port");
}

TEST_F(requests, acls_by_the_page) {
    constexpr size_t rules = 600;
    std::string all =
        "acl:\n  - {name: short, rules: [{action: deny, name: first, protocol: tcp}]}\n"
        "  - {name: free, layer: 2, rules: [{action: count, name: arps, ethertype: arp}]}\n"
        "  - name: long\n    rules:\n";
    for (size_t n = 0; n < rules; ++n)
        all += "      - {action: deny, name: r" + std::to_string(n) +
               ", protocol: udp, destination_ports: " + std::to_string(n + 1) + "}\n";
    std::string config = router();
    const std::string west = "device: d0,", east = "device: d1,";
    config.replace(config.find(west), west.size(), west + " acl: {in: short},");
    config.replace(config.find(east), east.size(), east + " acl: {in: long},");
    ASSERT_TRUE(l_.apply(config + all));
    const json whole = shown("report")["acl"];
    size_t all_rules = 0;  // and default actions
    for (const uint64_t most : {1024, 100, 7}) {
        std::vector<std::string> names, wanted;
        size_t pages = 0;
        for (json from = 0; !from.is_null(); ++pages) {
            const json page = ask(
                {{"request", "show"}, {"what", "acl"}, {"from", from}, {"most", most}})["result"];
            size_t on_page = 0;
            for (const json& list : page["acl"])
                for (const json& r : list["rules"]) {
                    names.push_back(list["list"].get<std::string>() + " " + r["name"].dump());
                    ++on_page;
                }
            EXPECT_LE(on_page, most);
            EXPECT_TRUE(page["since_s"].is_number());
            from = page["next"];
        }
        json all_lists = whole;
        all_lists.push_back(
            {{"list", "free"}, {"rules", {{{"name", "arps"}}, {{"name", "default"}}}}});
        for (const json& list : all_lists)
            for (const json& r : list["rules"])
                wanted.push_back(list["list"].get<std::string>() + " " + r["name"].dump());
        EXPECT_EQ(names, wanted) << most;
        all_rules = wanted.size();
        EXPECT_EQ(pages, (wanted.size() + most - 1) / most);
    }
    json page = ask({{"request", "show"}, {"what", "acl"}, {"from", 100}, {"most", 1}})["result"];
    EXPECT_EQ(page["acl"][0]["list"], "long");
    const std::string text = page["acl"][0]["rules"][0]["text"];
    EXPECT_TRUE(text.starts_with("{action: deny, name: \"r") && text.ends_with("}")) << text;
    page["acl"][0]["rules"][0].erase("text");
    EXPECT_EQ(page["acl"][0]["rules"][0],
              whole[1]["rules"][page["acl"][0]["first_rule"].get<size_t>()]);
    const json lists = ask({{"request", "show"}, {"what", "acl"}, {"rules", false}})["result"];
    ASSERT_EQ(lists["acl"].size(), 3U);
    EXPECT_EQ(lists["acl"][2]["list"], "free");
    EXPECT_FALSE(lists["acl"][1].contains("rules"));
    EXPECT_EQ(lists["acl"][1]["table_bytes"], whole[1]["table_bytes"]);
    EXPECT_TRUE(lists["acl"][1]["ipv4_search"].is_string());
    EXPECT_TRUE(lists["acl"][1]["ipv6_search"].is_string());
    EXPECT_TRUE(lists["next"].is_null());
    const json last =
        ask({{"request", "show"}, {"what", "acl"}, {"from", all_rules - 2}})["result"];
    ASSERT_EQ(last["acl"].size(), 1U);
    for (const char* none : {"port", "direction", "permitted", "denied", "table_bytes"})
        EXPECT_TRUE(last["acl"][0][none].is_null()) << none;
    EXPECT_EQ(last["acl"][0]["rules"][0]["text"],
              R"({action: count, name: "arps", ethertype: arp})");
    EXPECT_TRUE(last["acl"][0]["rules"][0]["packets"].is_null());
    EXPECT_TRUE(last["acl"][0]["rules"][1]["text"].is_null());
    EXPECT_EQ(refused({{"request", "show"}, {"what", "acl"}, {"rules", 7}})["where"], "rules");
}

TEST_F(requests, what_is_refused_changes_nothing_and_says_where) {
    const auto before = l_.controller().report().changes;
    std::string wrong = named(router());
    wrong.replace(wrong.find("10.0.2.2,"), 9, "10.0.9.9,");
    for (const char* how : {"check", "diff", "apply"}) {
        const json e = refused({{"request", how}, {"text", wrong}, {"name", "w.yaml"}});
        EXPECT_EQ(e["code"], "EINVAL");
        EXPECT_TRUE(e["where"].get<std::string>().starts_with("w.yaml:")) << e;
    }
    std::string no_link = named(router());
    no_link.insert(no_link.find("device: "), "pcie: {link: gen9x8}, ");
    for (const char* how : {"check", "diff", "apply"})
        EXPECT_TRUE(refused({{"request", how}, {"text", no_link}, {"name", "w.yaml"}})["where"]
                        .get<std::string>()
                        .ends_with("port 'west': pcie"))
            << how;
    const std::string restart = "workers: [1, 2]\n" + router();
    EXPECT_EQ(refused({{"request", "apply"}, {"text", restart}, {"name", "w.yaml"}})["code"],
              "EBUSY");
    EXPECT_EQ(refused({{"request", "apply"}, {"file", "/no/such.yaml"}})["code"], "ENOENT");
    std::ofstream(file_) << "ports: 7\n";
    EXPECT_TRUE(refused({{"request", "reload"}})["where"].get<std::string>().starts_with(file_));
    EXPECT_EQ(l_.controller().report().changes, before);
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
}

TEST_F(requests, each_wrong_request_is_told_why) {
    const std::pair<json, const char*> rows[] = {
        {{{"what", "ports"}}, "request"},
        {{{"request", 7}}, "request"},
        {{{"request", "dance"}}, "request"},
        {{{"request", "show"}}, "what"},
        {{{"request", "show"}, {"what", "money"}}, "what"},
        {{{"request", "show"}, {"what", "ports"}, {"port", "west"}}, "port"},
        {{{"request", "show"}, {"what", "route"}}, "address"},
        {{{"request", "show"}, {"what", "route"}, {"address", "10.0.0"}}, "address"},
        {{{"request", "show"}, {"what", "routes"}, {"to", "10.0.0.0/33"}}, "to"},
        {{{"request", "show"}, {"what", "routes"}, {"longer", true}}, "longer"},
        {{{"request", "show"}, {"what", "routes"}, {"to", "::/0"}, {"longer", "yes"}}, "longer"},
        {{{"request", "show"}, {"what", "routes"}, {"most", 0}}, "most"},
        {{{"request", "show"}, {"what", "routes"}, {"most", -1}}, "most"},
        {{{"request", "show"}, {"what", "neighbours"}, {"from", "nowhere ::1"}}, "from"},
        {{{"request", "show"}, {"what", "neighbours"}, {"from", "east"}}, "from"},
        {{{"request", "show"}, {"what", "not-followed"}, {"from", "main"}}, "from"},
        {{{"request", "show"}, {"what", "not-followed"}, {"from", "254 10.0.0.0/33"}}, "from"},
        {{{"request", "apply"}, {"text", "x"}}, "name"},
        {{{"request", "reload"}, {"file", "x"}}, "file"},
        {{{"request", "help"}, {"a b", 1}}, "a b"},
    };
    for (const auto& [request, where] : rows) {
        const json e = refused(request);
        EXPECT_EQ(e["where"], where) << request << e;
        EXPECT_EQ(e["code"], "EINVAL") << request;
        EXPECT_FALSE(e["what"].get<std::string>().empty());
    }
    for (const json& request :
         {json{{"request", "apply"}},
          json{{"request", "apply"}, {"text", ""}, {"name", "n"}, {"file", "f"}}})
        EXPECT_EQ(refused(request)["where"], nullptr);
}

TEST_F(requests, lines_that_are_no_requests) {
    using namespace std::string_view_literals;
    for (const std::string_view line :
         {"{"sv, "nonsense"sv, "\0\xff\xfe"sv, "[]"sv, "7"sv, "null"sv, "{} {}"sv,
          "{\"request\": \"\xff\"}"sv, "{\"request\": \"help\""sv, "{\"request\":{}}"sv})
        EXPECT_EQ(answer_to(line)["error"]["code"], "EINVAL") << line;
    EXPECT_NE(answer_to(std::string(1 << 20, '['))["error"]["what"], "");
    EXPECT_EQ(answer_to("{\"request\": " + std::string(100, '[') + std::string(100, ']') +
                        "}")["error"]["what"],
              "the JSON is nested too deep");
    // The error repeats the request's name, with control characters escaped for a terminal.
    const std::string odd = answer_to("{\"request\": \"\\u001b[31m\\n\"}")["error"]["what"];
    EXPECT_EQ(odd.find('\x1b'), std::string::npos);
}

/// Good requests with bytes changed, dropped and doubled: each gets one answer, and it forwards on.
TEST_F(requests, mangled_lines) {
    std::mt19937 random(18);
    const std::vector<std::string> good = {
        R"({"request": "show", "what": "routes", "to": "10.9.0.0/16", "longer": true, "most": 3})",
        R"({"request": "show", "what": "route", "address": "2001:db8:2::fe"})",
        R"({"request": "show", "what": "neighbours", "from": "east 10.0.2.2"})",
        R"({"request": "show", "what": "next-hops", "from": 4, "most": 1})",
        R"({"request": "diff", "text": "ports: []", "name": "x"})",
        R"({"request": "help"})"};
    for (int i = 0; i < 3000; ++i) {
        std::string line = good[random() % good.size()];
        for (unsigned edits = random() % 4; edits > 0 && !line.empty(); --edits) {
            const size_t at = random() % line.size();
            switch (random() % 3) {
                case 0:
                    line[at] = static_cast<char>(random());
                    break;
                case 1:
                    line.erase(at, 1 + random() % 3);
                    break;
                default:
                    line.insert(at, line.substr(at, 1 + random() % 5));
            }
        }
        answer_to(line);
    }
    EXPECT_EQ(l_.egress_port("10.9.0.1"), 1);
}

}  // namespace
}  // namespace turnpike
