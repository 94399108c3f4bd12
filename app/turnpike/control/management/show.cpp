// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/show.hpp"
#include "base/arguments.hpp"
#include "control/forwarding/captures.hpp"
#include "control/forwarding/traces.hpp"
#include "control/management/inventory.hpp"
#include "control/management/metrics_source.hpp"
#include "net/ip.hpp"
#include "observe/log.hpp"
#include "sources/fields.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "version.hpp"

#include <fmt/format.h>
#include <rte_version.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace turnpike::control {
namespace {

using nlohmann::json;

json name_or_null(const std::string& name) { return name.empty() ? json(nullptr) : json(name); }

/// Since the start, or since `clear counters`.
json shown_of(controller& c) { return observe::to_json(c.shown_report(false)); }

json counted(const controller& c, const char* name, json what) {
    return with_period(c, {{name, std::move(what)}});
}

json show_report(controller& c, const request_fields&) { return observe::to_json(c.report()); }

/// Whether an interface's port is administratively down.
bool is_shut_down(const state::configuration& in, const std::string& port) {
    const state::port* const at = in.ports.find(port);
    return at != nullptr && at->shutdown;
}

/// The time that a port's counters cover: since it was added, or the last `clear`.
double since_s(const observe::port_report& p, const observe::report& of) {
    return p.duration_s > 0 ? p.duration_s : of.duration_s;
}

/// Ports as in the report, each with the time that its counters cover.
json shown_ports(controller& c) {
    const observe::report shown = c.shown_report(false);
    json ports = std::move(observe::to_json(shown)["ports"]);
    for (size_t i = 0; i < shown.ports.size(); ++i)
        ports[i]["since_s"] = since_s(shown.ports[i], shown);
    return ports;
}

/// Configuration and report of each port.
json show_ports(controller& c, const request_fields&) {
    json ports = shown_ports(c);
    for (json& p : ports) {
        const auto& open = c.ports().open();
        const auto at = std::find_if(open.begin(), open.end(), [&](const auto& o) {
            return o->name == p["name"].template get_ref<const std::string&>();
        });
        if (at == open.end()) continue;
        const state::port& config = (*at)->config;
        p.update(json::parse(sources::json_of(sources::port_fields(), sources::of_port, config)));
        const datapath::port_snapshot& seen = c.snapshot().port[(*at)->port_index];
        p["mac"] = seen.mac.text();
        if (config.shutdown && p["link"] == "down") p["link"] = "shutdown";
        const auto whose = [](bool device) { return device ? "device" : "software"; };
        p["udp_checksums"] = {{"sent", whose(seen.inserts_udp_sums)},
                              {"received", whose(seen.checks_udp_sums)}};
    }
    return counted(c, "ports", std::move(ports));
}

/// PCIe transactions of each port, from every available source.
json show_pcie(controller& c, const request_fields&) {
    json all = json::array();
    for (json& p : shown_ports(c)) {
        json one = std::move(p["pcie"]);
        for (const char* name : {"name", "driver", "rx_packets", "tx_packets", "since_s"})
            one[name] = std::move(p[name]);
        all.push_back(std::move(one));
    }
    return counted(c, "ports", std::move(all));
}

json show_interfaces(controller& c, const request_fields&) {
    json all = json::array();
    json rates = interface_rates_json(c);
    const observe::inventory shown = shown_objects(c, add_interfaces);
    for (const observe::interface_report& of : shown.interfaces) {
        const std::string& name = of.name;
        const state::interface& says = c.running().interfaces.at(name);
        const datapath::interface& i = c.snapshot().interfaces[c.interfaces().indexes().at(name)];
        all.push_back({{"name", name},
                       {"kind", of.kind},
                       {"port", name_or_null(of.port)},
                       {"vlan", says.vlan == 0 ? json(nullptr) : json(says.vlan)},
                       {"bridge", name_or_null(says.bridge)},
                       {"peer", name_or_null(says.peer)},
                       {"admin_up", !i.admin_down && !is_shut_down(c.running(), of.port)},
                       {"mtu", i.mtu},
                       {"mac", i.mac.text()}});
        all.back().update(json::parse(sources::json_of(
            sources::interface_fields(), sources::of_routed | sources::of_tunnel, says)));
        all.back().update(traffic_json(of.counted));
        all.back()["rates"] = rates.contains(name) ? std::move(rates[name]) : json();
    }
    return counted(c, "interfaces", std::move(all));
}

/// The rules as a file has them; none of turnpike's own.
void add_texts(const controller& c, json& list) {
    const auto* const is = c.running().acls.find(list["list"].get_ref<const std::string&>());
    size_t at = list.value("first_rule", size_t{0});
    for (json& rule : list["rules"]) {
        const bool is_own = is == nullptr || rule["where"].is_null() || at >= (*is)->rules.size();
        rule["text"] = is_own ? json() : json(sources::rule_text((*is)->rules[at], (*is)->l2));
        ++at;
    }
}

/// By page, of rules or, without them, of lists. Lists that no interface has are last, without counts.
json show_acl(controller& c, const request_fields& f) {
    const bool rules = f.truth_or("rules", true);
    acls::page page = c.shown_acls(f.number_or("from", 0, 0, UINT64_MAX), page_of(f), rules);
    observe::report report = c.shown_report(false);
    report.acls = std::move(page.lists);
    json r = observe::to_json(report);
    for (json& list : r["acl"]) {
        add_texts(c, list);
        if (!rules) list.erase("rules");
        if (!list["port"].is_null()) continue;
        for (const char* count : {"permitted", "denied", "table_bytes"}) list[count] = nullptr;
        if (!rules) continue;
        for (json& rule : list["rules"])
            for (const char* count : {"packets", "bytes"}) rule[count] = nullptr;
    }
    json out = counted(c, "acl", std::move(r["acl"]));
    out["next"] = page.next ? json(*page.next) : json(nullptr);
    return out;
}

json show_drops(controller& c, const request_fields& f) {
    const std::string port = f.has("port") ? f.text("port") : std::string(),
                      reason = f.has("reason") ? f.text("reason") : std::string();
    if (f.has("reason") && datapath::find_drop(reason) == nullptr)
        throw error{EINVAL, "reason", "'" + reason.substr(0, 80) + "' is not a drop reason"};
    json by_port = json::object(), port_since_s = json::object();
    std::map<std::string, uint64_t> all;
    const observe::report shown = c.shown_report(false);
    for (const observe::port_report& p : shown.ports) {
        if (f.has("port") && p.name != port) continue;
        auto drops = observe::drops_of(p.totals);
        if (f.has("reason"))
            std::erase_if(drops, [&](const auto& one) { return one.first != reason; });
        for (const auto& [name, packets] : drops) all[name] += packets;
        by_port[p.name] = std::move(drops);
        port_since_s[p.name] = since_s(p, shown);
    }
    if (f.has("port") && by_port.empty())
        throw error{EINVAL, "port", "'" + port.substr(0, 80) + "' is not a port"};
    json out = counted(c, "drops", std::move(all));
    out["ports"] = std::move(by_port);
    out["port_since_s"] = std::move(port_since_s);
    return out;
}

/// Packets for control by ingress interface and class, and the rate of each class.
json show_punt(controller& c, const request_fields&) {
    json r = shown_of(c), rates = json::object();
    for (size_t i = 0; i < datapath::punt_classes; ++i)
        rates[std::string(datapath::punt_class_texts[i].name)] = c.running().punt_rate.of[i];
    json out = counted(c, "punt", std::move(r["punt"]));
    for (json& p : out["punt"]) p["rate"] = rates[p["class"].get_ref<const std::string&>()];
    out["rates"] = std::move(rates);
    return out;
}

json show_cost(controller& c, const request_fields&) {
    json r = shown_of(c);
    json out = counted(c, "workers", std::move(r["workers"]));
    for (const char* name : {"tsc_hz", "verdict", "counters"}) out[name] = std::move(r[name]);
    return out;
}

json show_isa(controller& c, const request_fields&) {
    return {{"isa", std::move(shown_of(c)["isa"])}};
}

/// Queues by lcore.
json show_workers(controller& c, const request_fields&) {
    std::map<uint16_t, std::string> names;
    for (const auto& p : c.ports().open()) names[p->port_index] = p->name;
    json all = json::array();
    for (const auto& worker_slot : c.workers().all()) {
        if (!worker_slot->forwards) continue;
        const datapath::worker_parts& w = worker_slot->worker.parts();
        json queues = json::array();
        for (const datapath::rx_queue& q : c.snapshot().queues[w.number].rx)
            queues.push_back({{"port", names[q.port]}, {"queue", q.queue_id}});
        all.push_back({{"lcore", w.lcore}, {"rx_queues", std::move(queues)}});
    }
    return {{"workers", std::move(all)}};
}

json show_config(controller& c, const request_fields&) {
    const state::configuration& d = c.running();
    size_t routes_in_all = d.routes.size();
    for (const auto& [name, v] : d.vrfs) routes_in_all += v.routes.size();
    return {{"file", d.file},
            {"changes", c.changes()},
            {"ports", d.ports.size()},
            {"interfaces", d.interfaces.size()},
            {"bridges", d.bridges.size()},
            {"tunnels", d.tunnels.size()},
            {"mirrors", d.mirrors.size()},
            {"acls", d.acls.size()},
            {"vrfs", d.vrfs.size()},
            {"static_neighbours", d.neighbours.size()},
            {"routes", routes_in_all},
            {"learned_routes", c.followed().route_count()}};
}

json show_version(controller& c, const request_fields&) {
    return {{"turnpike", version},      {"dpdk", rte_version()},
            {"pid", ::getpid()},        {"uptime_s", c.report(false).duration_s},
            {"file", c.running().file}, {"changes", c.changes()}};
}

json show_log(controller&, const request_fields& f) {
    json list = json::array();
    for (const observe::log_line& l :
         observe::recent_log_lines(f.number_or("most", 100, 1, observe::log_history))) {
        json fields = json::object();
        for (const auto& [name, value] : l.fields) fields[std::string(name)] = value;
        list.push_back({{"time", observe::time_text(l.at)},
                        {"level", observe::name(l.level)},
                        {"text", l.text},
                        {"fields", std::move(fields)}});
    }
    return {{"log", std::move(list)}};
}

json show_memory(controller& c, const request_fields&) {
    // The sums of all VRFs.
    const auto fib_json = [&](const auto& stats_of) {
        uint64_t routes_in_all = 0, bytes = 0, live_bytes = 0;
        for (const auto& [name, index] : c.routing().vrfs().indexes()) {
            const fib::statistics s = stats_of(c.routing().tables().of(index));
            routes_in_all += s.routes;
            bytes += s.bytes();
            live_bytes += s.live_bytes;
        }
        return json{{"routes", routes_in_all}, {"bytes", bytes}, {"live_bytes", live_bytes}};
    };
    const auto fdb_json = [](const bridges& b) {
        return b.table() == nullptr ? json(nullptr)
                                    : json{{"stations", b.fdb_entries()},
                                           {"bytes", b.table()->stats().bytes},
                                           {"limit", datapath::max_fdb_entries}};
    };
    return {
        {"mempool", std::move(shown_of(c)["mempool"])},
        {"fib4", fib_json([](const routes& r) { return r.v4().stats(); })},
        {"fib6", fib_json([](const routes& r) { return r.v6().stats(); })},
        {"acl_bytes", c.lists().table_bytes()},
        {"fdb", fdb_json(c.bridges())},
        {"neighbours",
         {{"known", c.routing().neighbours().size()},
          {"limit", c.routing().neighbours().limits().limit}}},
        {"next_hops", {{"in_use", c.nexthops().in_use()}, {"capacity", c.nexthops().capacity()}}}};
}

/// Numbers of prefixes by reason.
json not_followed_json(const netlink_monitor& follower) {
    json out = json::object();
    const auto counts = follower.known().count_not_followed();
    for (size_t why = 1; why < counts.size(); ++why)
        if (counts[why] != 0) out[std::string(sources::not_followed_names[why])] = counts[why];
    return out;
}

json show_table_sizes(controller& c, const request_fields&) {
    json all = json::array();
    for (const observe::table_report& t : table_sizes(c))
        all.push_back({{"name", t.name},
                       {"entries", t.entries},
                       {"max_entries", t.max_entries == 0 ? json(nullptr) : json(t.max_entries)}});
    return {{"tables", std::move(all)}};
}

/// Interfaces that the kernel has, and the state of netlink.
json show_control_plane(controller& c, const request_fields&) {
    const state::control_plane& says = c.running().control_plane;
    const netlink_monitor* follower = c.host_interfaces().follower();
    json all = json::array();
    const observe::inventory shown = shown_objects(c, add_host_interfaces);
    for (const observe::host_interface_report& t : shown.host_interfaces)
        all.push_back({{"name", t.name},
                       {"index", t.index},
                       {"admin_up", t.admin_up},
                       {"carrier", t.carrier},
                       {"given", t.to_kernel},
                       {"taken", t.from_kernel},
                       {"not_taken", t.lost}});
    json out = with_period(c, {{"netlink", says.netlink},
                               {"namespace", name_or_null(says.network_namespace)},
                               {"rate", says.rate},
                               {"interfaces", std::move(all)},
                               {"routes", c.followed().route_count()},
                               {"asking", nullptr}});
    json& no_room = out["no_room"];
    c.routing().no_room().each([&](const char* reason, size_t count) { no_room[reason] = count; });
    if (follower == nullptr || shown.netlink.empty()) return out;
    const observe::netlink_report& n = shown.netlink.front();
    out["asking"] = n.synchronizing;
    out["messages"] = n.messages;
    out["refused"] = n.refused;
    out["overruns"] = n.overruns;
    out["whole"] = n.whole;
    out["not_followed"] = follower->known().others();
    out["not_followed_by"] = not_followed_json(*follower);
    return out;
}

/// Prefixes whose routes in the kernel are not followed, each with the reason. `from`: "TABLE PREFIX", as in `next`.
json show_not_followed(controller& c, const request_fields& f) {
    const uint64_t most = page_of(f);
    uint32_t table = 0;
    ip_prefix to;
    if (f.has("from")) {
        const std::string from = f.text("from");
        const std::string_view number = std::string_view(from).substr(0, from.find(' '));
        const auto prefix = parse_prefix(from.substr(std::min(number.size() + 1, from.size())));
        if (!read_number<uint32_t>(number, 0, UINT32_MAX, table) || !prefix)
            throw error{EINVAL, "from", "should be a page's `next`"};
        to = *prefix;
    }
    json all = json::array(), out = {{"reasons", json::object()}, {"next", nullptr}};
    if (const netlink_monitor* const follower = c.host_interfaces().follower()) {
        out["reasons"] = not_followed_json(*follower);
        auto listed = follower->known().list_not_followed(most + 1, table, to);
        if (listed.size() > most) {
            out["next"] = fmt::format("{} {}", listed.back().table, listed.back().to.text());
            listed.pop_back();
        }
        for (const auto& r : listed)
            all.push_back({{"to", r.to.text()},
                           {"vrf", r.vrf.empty() ? "main" : r.vrf},
                           {"reason", sources::not_followed_names[static_cast<size_t>(r.why)]},
                           {"protocol", sources::protocol_name(r.protocol)},
                           {"metric", r.metric}});
    }
    out["routes"] = std::move(all);
    return out;
}

struct subject {
    std::string_view name;
    json (*make)(controller&, const request_fields&);
    std::string_view members;  ///< of the request, separated by blanks
    std::string_view help;
};
/// The name of a subject in earlier releases, or the name itself.
const std::string& present_name(const std::string& of) {
    static const std::string neigh_suppress = "neigh-suppress";
    return of == "heard" ? neigh_suppress : of;
}

constexpr subject subjects[] = {
    {"report", show_report, "", "the whole report, turnpike.report/2, always since the start"},
    {"ports", show_ports, "", "devices, their settings and counters"},
    {"interfaces", show_interfaces, "", "addresses, cross-connects and ACLs"},
    {"routes", show_routes, "to longer from most vrf origin",
     "active routes; to: a prefix, longer: its longer prefixes, too; origin: an origin or "
     "protocol"},
    {"route-summary", show_route_summary, "vrf",
     "numbers of active routes by family, origin and protocol"},
    {"route", show_route, "address vrf", "lookup of an address in the workers' FIB"},
    {"neighbours", show_neighbours, "port address from most",
     "neighbour entries; filters: port (an interface), address"},
    {"next-hops", show_next_hops, "from most", "next hops of routes"},
    {"control-plane", show_control_plane, "",
     "interfaces that the kernel has, and the state of netlink"},
    {"not-followed", show_not_followed, "from most",
     "prefixes whose routes in the kernel turnpike cannot forward by, with the reasons"},
    {"vrfs", show_vrfs, "", "VRFs, their interfaces and numbers of routes"},
    {"bridges", show_bridges, "", "bridges, their members, and counters by VLAN"},
    {"fdb", show_fdb, "bridge port vlan mac from most",
     "FDB entries; filters: bridge, port, vlan, mac"},
    {"neigh-suppress", show_neigh_suppress, "bridge from most",
     "IP-to-MAC bindings in bridges with neigh_suppress; filter: bridge"},
    {"tunnels", show_tunnels, "", "tunnels, with counters by tunnel and by VNI"},
    {"latency", show_latency, "",
     "time of sampled packets from rx_burst to tx_burst, by pair of ports"},
    {"mirrors", show_mirrors, "", "mirrors, with the frames that they copied"},
    {"sflow", show_sflow, "", "export to sFlow collectors: samples, datagrams and losses"},
    {"acl", show_acl, "from most rules", "ACLs where they are bound, with counters"},
    {"drops", show_drops, "port reason", "dropped packets, by reason; filters: port, reason"},
    {"rates", show_rates, "history",
     "packets and bits per second of ports, tunnels, bridges and drops, and the load of workers"},
    {"punt", show_punt, "", "packets for the control thread, by interface and class"},
    {"trace", show_trace, "from most", "recorded packet traces; from: number of the first"},
    {"captures", show_captures, "", "captures, and the packets that they wrote and lost"},
    {"cost", show_cost, "", "cycles per packet, by worker and stage"},
    {"pcie", show_pcie, "", "PCIe transactions per packet, modelled and counted, by port"},
    {"isa", show_isa, "", "the kernels that were selected for this CPU"},
    {"workers", show_workers, "", "RX queues by lcore"},
    {"config", show_config, "", "the running configuration, and its number of changes"},
    {"tables", show_table_sizes, "", "entries of the tables, and their limits"},
    {"memory", show_memory, "", "mbufs, tables, neighbours"},
    {"version", show_version, "", "versions of turnpike and DPDK, and the time since the start"},
    {"log", show_log, "most", "the last lines of the log; most: how many (100)"},
};

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
    throw error{EINVAL, std::string(name), what};
}

}  // namespace

bool request_fields::has(std::string_view name) const { return all_.contains(name); }

std::string request_fields::text(std::string_view name) const {
    const json& value = member(name);
    if (!value.is_string()) refuse(name, "should be a text");
    return value.get<std::string>();
}

std::string request_fields::json_text(std::string_view name) const {
    return member(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

const json& request_fields::member(std::string_view name) const {
    const auto at = all_.find(name);
    if (at == all_.end()) refuse(name, "is missing");
    return *at;
}

bool request_fields::truth_or(std::string_view name, bool otherwise) const {
    const auto at = all_.find(name);
    if (at == all_.end()) return otherwise;
    if (!at->is_boolean()) refuse(name, "should be true or false");
    return at->get<bool>();
}

uint64_t request_fields::number_or(std::string_view name, uint64_t otherwise, uint64_t least,
                                   uint64_t most) const {
    const auto at = all_.find(name);
    if (at == all_.end()) return otherwise;
    if (!at->is_number_unsigned() || at->get<uint64_t>() < least || at->get<uint64_t>() > most)
        refuse(name, "should be a whole number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    return at->get<uint64_t>();
}

void request_fields::expect(std::string_view names) const {
    const std::string known = " request what " + std::string(names) + " ";
    for (const auto& [name, value] : all_.items())
        if (name.empty() || name.find(' ') != std::string::npos ||
            known.find(" " + name + " ") == std::string::npos)
            refuse(name, names.empty() ? "is not known here"
                                       : "is not known here; there are: " + std::string(names));
}

json show(controller& c, const request_fields& f) {
    const std::string what = f.text("what");
    std::string names;
    for (const subject& s : subjects) {
        if (s.name == present_name(what)) {
            f.expect(s.members);
            return s.make(c, f);
        }
        names += (names.empty() ? "" : ", ") + std::string(s.name);
    }
    throw error{EINVAL, "what",
                "there is no '" + what.substr(0, 80) + "' to show; there are " + names};
}

json with_period(const controller& c, json shown) {
    shown["since_s"] = c.duration_s() - c.cleared_at().duration_s();
    shown["cleared"] = c.cleared();
    return shown;
}

json show_help() {
    json out = json::object();
    for (const subject& s : subjects) out[std::string(s.name)] = s.help;
    return out;
}

}  // namespace turnpike::control
