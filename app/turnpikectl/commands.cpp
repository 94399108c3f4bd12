// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "capture.hpp"
#include "complete.hpp"
#include "edit.hpp"
#include "keys.hpp"
#include "manual.hpp"
#include "object_view.hpp"
#include "objects.hpp"
#include "page.hpp"
#include "ping.hpp"
#include "print.hpp"
#include "tables.hpp"
#include "top_view.hpp"
#include "traces.hpp"
#include "transfer.hpp"
#include "watch.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// The FDB filter of a request; numbers are sent as JSON numbers.
void add_stations(const given& g, json& request) {
    for (const auto& [word, kind] :
         {std::pair("bridge", "BRIDGE"), {"port", "PORT"}, {"mac", "MAC"}})
        if (g.has(word)) request[word] = g.value(kind);
    if (g.has("vlan")) request["vlan"] = std::stoul(g.value("NUMBER"));
}

result<json> flush_fdb(const given& g) {
    json request = {{"request", "flush"}, {"what", "fdb"}};
    add_stations(g, request);
    return request;
}
result<json> flush_neighbours(const given& g) {
    json request = {{"request", "flush"}, {"what", "neighbours"}};
    if (g.has("ADDRESS")) request["address"] = g.value("ADDRESS");
    if (g.has("port")) request["port"] = g.value("PORT");
    return request;
}
std::string flushed(const given& g, const json& result) {
    return fmt::format("flushed: {} {} entries\n", result.value("flushed", 0U),
                       g.words.front().second == "fdb" ? "FDB" : "neighbour");
}

result<json> show(const given& g) {
    const std::string& what = g.words.at(1).second;
    if (what == "help") return json{{"request", "help"}};
    json request = {{"request", "show"}, {"what", what == "vlans" ? "bridges" : what}};
    if (g.has("not-followed")) request["what"] = "not-followed";
    if (g.has("ADDRESS")) request["address"] = g.value("ADDRESS");
    if (g.has("PREFIX")) request["to"] = g.value("PREFIX");
    if (g.has("longer")) request["longer"] = true;
    if (g.has("origin")) request["origin"] = g.value("ORIGIN");
    if (g.has("VRF") && what != "vrfs") request["vrf"] = g.value("VRF");
    if (what == "acl") request["most"] = 1024;
    if (what == "acl" && !g.has("LIST") && !g.as_json()) request["rules"] = false;
    if (what == "log" && g.has("NUMBER")) request["most"] = std::stoul(g.value("NUMBER"));
    if (g.has("interface")) request["port"] = g.value("INTERFACE");
    if (g.has("reason")) request["reason"] = g.value("REASON");
    add_stations(g, request);
    return request;
}

result<json> with_file(const given& g) {
    auto request = file_request(g.words.front().second, g.value("FILE"));
    if (request) add_change_options(g, *request);
    return request;
}

result<json> roll_back(const given& g) {
    json request = {{"request", "rollback"}};
    if (g.has("NUMBER")) request["back"] = std::stoul(g.value("NUMBER"));
    add_change_options(g, request);
    return request;
}
result<json> reload(const given& g) {
    json request = {{"request", "reload"}};
    add_change_options(g, request);
    return request;
}

result<json> show_history(const given&) { return json{{"request", "history"}}; }

/// In a prompt, the change that its `commit confirm` began.
result<json> confirm(const given& g) {
    json request = {{"request", "confirm"}};
    if (g.pending_id != 0) request["id"] = g.pending_id;
    return request;
}

result<json> clear(const given& g) {
    json request = {{"request", "clear"}, {"what", "counters"}};
    if (g.has("PORT")) request["port"] = g.value("PORT");
    return request;
}
std::string cleared(const given& g, const json&) {
    return "cleared: counters" + (g.has("PORT") ? " of port " + g.value("PORT") : "") + "\n";
}

std::string report_text(const given&, const json& result) {
    return result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}
std::string valid(const given&, const json& result) {
    return printable(result.value("valid", std::string())) + ": valid\n";
}
std::string would_change(const given&, const json& result) {
    return "would change: " + changes_text(result);
}
std::string changed(const given& g, const json& result) {
    const std::string left = undone_in(result, g.option("--confirm"));
    return "changed: " + changes_text(result) +
           (left.empty() ? "" : "undone in " + left + " s unless turnpikectl confirm\n");
}

std::string confirmed(const given&, const json& result) {
    return "confirmed: " + printable(result.value("confirmed", std::string())) + "\n";
}

constexpr command local(std::string_view usage, std::string_view help, int (*run)(const given&)) {
    return {usage, help, nullptr, nullptr, {}, {}, run};
}

#define TURNPIKE_RULE_KEYS                                                               \
    "[name NAME] [family ipv4|ipv6] [protocol PROTOCOL] [source PREFIX] "                \
    "[destination PREFIX] [source_ports PORTS] [destination_ports PORTS] "               \
    "[tcp_flags FLAGS] [icmp_type NUMBER] [icmp_code NUMBER] [dscp NUMBER] [vlan VLAN] " \
    "[fragments true|false] [source_mac MACS] [destination_mac MACS] [ethertype TYPE] "  \
    "[--confirm SECONDS]"

constexpr command table[] = {
    {"show report", "the complete report since the start, as JSON", show, report_text},
    {"show ports", "ports, their settings and counters", show, nullptr, "ports",
     "name driver link mtu mac rx_packets tx_packets rx_missed drops description"},
    local("show ports PORT",
          "all about a port: link and its last change, counters, drops, interfaces, bridge",
          show_object),
    {"show interfaces", "interfaces with addresses, patches and ACLs", show, nullptr, "interfaces",
     "name kind port vrf mtu mac admin_up addresses peer acl_in acl_out l2_in l2_out description"},
    local("show interfaces INTERFACE",
          "all about an interface: rates, counters, bridge, VLANs, ACLs, neighbours, and its port",
          show_object),
    {"show routes [PREFIX [longer]] [origin ORIGIN] [vrf VRF]",
     "active routes: all, of one prefix, of the prefix and all longer ones, or of an origin (as "
     "configured) or protocol (as bgp)",
     show, routes_text, "routes"},
    {"show route-summary [vrf VRF]", "numbers of active routes by family, origin and protocol",
     show, nullptr, "summary", "family origin protocol routes"},
    {"show route ADDRESS [vrf VRF]", "the result of a route lookup", show, route_text},
    {"show vrfs [VRF]", "VRFs and their numbers of routes", show, nullptr, "vrfs",
     "name table interfaces ipv4 ipv6"},
    {"show neighbours [ADDRESS] [interface INTERFACE]", "neighbour entries", show, nullptr,
     "neighbours", "interface address state mac gateway static held next_hop"},
    {"show next-hops", "next hops of routes", show, next_hops_text, "next_hops"},
    {"show control-plane", "interfaces mirrored to the kernel, and the state of the netlink routes",
     show, control_plane_text},
    {"show control-plane not-followed",
     "prefixes whose routes in the kernel turnpike cannot forward by, with the reasons", show,
     nullptr, "routes", "to vrf reason protocol metric"},
    {"show bridges [BRIDGE]", "bridges, their members and VLANs, and their counters", show,
     bridges_text, "bridges"},
    {"show vlans", "VLANs of bridges: the members that send them untagged, and tagged", show,
     vlans_text},
    {"show fdb [bridge BRIDGE] [port PORT] [vlan NUMBER] [mac MAC]", "FDB entries", show, nullptr,
     "fdb", "bridge vlan mac port kind age_s"},
    {"show neigh-suppress [bridge BRIDGE]",
     "IP to MAC bindings learnt by bridges with neigh_suppress", show, nullptr, "bindings",
     "bridge vlan address mac port"},
    {"show tunnels [TUNNEL]", "tunnels and their counters", show, nullptr, "tunnels",
     "name vni local remote interface vrf bridge mtu rx_packets rx_bytes tx_packets tx_bytes"},
    {"show mirrors [MIRROR]", "mirrors and their copies", show, nullptr, "mirrors",
     "name ports bridge direction vlan list sample length to to_vlan vni packets bytes lost "
     "unreachable"},
    {"show sflow", "export to sFlow collectors: samples, datagrams and losses", show},
    {"show acl [LIST]", "bound ACLs and their counters; the rules of one of them with theirs", show,
     acl_text, "acl"},
    {"show trace", "paths of the packets recorded by `trace`", show, traces_text},
    {"show captures", "running captures, packets written and lost", show, nullptr, "captures",
     "capture ports filter accepted written lost bytes done why"},
    {"show drops [port PORT] [reason REASON]", "dropped packets, by reason", show, drops_text},
    {"show rates", "packets and bits per second over 1 s, 10 s and 1 min, and the load of workers",
     show, rates_text},
    {"show latency", "time of sampled packets from rx_burst to tx_burst, by pair of ports", show,
     nullptr, "latency", "in out samples mean_ns p50_ns p99_ns p999_ns max_ns"},
    {"show punt", "packets for the control thread, by interface and class", show, nullptr, "punt",
     "interface class rate punted dropped"},
    {"show cost", "cycles per packet, by worker, and the limiting resource", show, cost_text},
    {"show pcie", "PCIe transactions per packet, by port", show, pcie_text},
    {"show isa", "the selected instruction set kernels", show},
    {"show workers", "workers (lcores) and the receive queues that they poll", show, nullptr,
     "workers", "lcore rx_queues"},
    {"show config", "the running configuration, and its number of changes", show},
    local("show running-config", "the running configuration, as `save -` prints it", show_running),
    {"show history", "configurations available to rollback, and a change that awaits confirmation",
     show_history, history_text},
    {"show tables", "entries of tables and their limits", show, nullptr, "tables",
     "name entries max_entries"},
    {"show memory", "memory of mbuf pools, tables and neighbours", show},
    {"show version", "versions of turnpike and DPDK, and the time since the start", show},
    {"show log [NUMBER]", "the last NUMBER lines of the log (100)", show, nullptr, "log",
     "time level text"},
    {"show help", "requests that this turnpike supports", show},
    {"check FILE", "validate a configuration file", with_file, valid},
    {"diff FILE", "show the changes that applying the file would make", with_file, would_change},
    {"apply FILE [--confirm SECONDS]", "apply a configuration file, completely or not at all",
     with_file, changed},
    {"reload", "apply the startup configuration file", reload, changed},
    local("edit [--confirm SECONDS] [--yes]",
          "edit the running configuration in $EDITOR, show the differences, and apply it; undone "
          "unless confirmed within SECONDS (120)",
          edit_configuration),
    {"confirm", "confirm a change made with --confirm", confirm, confirmed},
    {"rollback [NUMBER]", "restore the configuration of NUMBER changes ago (1); see `show history`",
     roll_back, changed},
    local("save [FILE]",
          "write the running configuration to the startup file, or to FILE (-: print it)", save),
    {"route add|replace PREFIX via ADDRESS [port PORT [onlink]] [mtu NUMBER] [vrf VRF] [--confirm "
     "SECONDS]",
     "add a route via a neighbour", change_route, changed},
    {"route add|replace PREFIX via ADDRESS recursive [mtu NUMBER] [vrf VRF] [--confirm SECONDS]",
     "add a route via a gateway that is resolved by other routes", change_route, changed},
    {"route add|replace PREFIX port PORT [vrf VRF] [--confirm SECONDS]",
     "add an on-link route: its destinations are neighbours on the port", change_route, changed},
    {"route add|replace PREFIX nexthop via ADDRESS [port PORT [onlink]] [weight NUMBER] [nexthop "
     "via ADDRESS [port PORT [onlink]] [weight NUMBER]]... [mtu NUMBER] [vrf VRF] [--confirm "
     "SECONDS]",
     "add an ECMP route via several neighbours, balanced by flow", change_route, changed},
    {"route add|replace PREFIX nexthop via ADDRESS [weight NUMBER] [nexthop via ADDRESS [weight "
     "NUMBER]]... recursive "
     "[mtu NUMBER] [vrf VRF] [--confirm SECONDS]",
     "add an ECMP route via gateways that are resolved by other routes", change_route, changed},
    {"route add|replace PREFIX blackhole|unreachable|prohibit [vrf VRF] [--confirm SECONDS]",
     "add a route that discards its packets", change_route, changed},
    {"route del PREFIX [vrf VRF] [--confirm SECONDS]", "delete a route", change_route, changed},
    local("routes FILE [vrf VRF]",
          "apply lines \"add|replace|del ROUTE\", all or none (-: standard input)", send_routes),
    {"vrf add NAME [KEY VALUE]... [--confirm SECONDS]", "add a VRF", change_object, changed},
    {"vrf replace VRF KEY VALUE [--confirm SECONDS]", "change a VRF", change_object, changed},
    {"vrf del VRF [--confirm SECONDS]", "delete a VRF and its routes", change_object, changed},
    {"neighbour add|replace ADDRESS mac MAC [port PORT] [--confirm SECONDS]",
     "add a static neighbour entry", change_object, changed},
    {"neighbour del ADDRESS [port PORT] [--confirm SECONDS]", "delete a static neighbour entry",
     change_object, changed},
    {"neighbour flush [ADDRESS] [port PORT]",
     "delete learned neighbour entries; gateways are resolved again", flush_neighbours, flushed},
    {"address add|del PORT CIDR [--confirm SECONDS]", "add or delete an address of a port",
     change_address, changed},
    {"address replace PORT CIDR... [--confirm SECONDS]", "replace all addresses of a port",
     change_address, changed},
    {"port add PORT KEY VALUE [KEY VALUE]... [--confirm SECONDS]", "add a port, with its device",
     change_object, changed},
    {"port replace PORT KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "change the given keys of a port; acl.in none: unbind the ACL", change_object, changed},
    {"port del PORT [--confirm SECONDS]", "delete a port", change_object, changed},
    {"patch add|replace|del PORT PORT [--confirm SECONDS]", "cross-connect two ports", change_patch,
     changed},
    {"interface add|replace PORT NUMBER KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "a routed sub-interface for a VLAN of a port, or of a bridge", change_object, changed},
    {"interface del PORT NUMBER [--confirm SECONDS]", "delete a sub-interface", change_object,
     changed},
    {"bridge add|replace NAME members NAMES [KEY VALUE]... [--confirm SECONDS]",
     "add a learning bridge; with addresses it also routes", change_object, changed},
    {"bridge del BRIDGE [--confirm SECONDS]", "delete a bridge; its ports become unconfigured",
     change_object, changed},
    {"member add|replace BRIDGE PORT [KEY VALUE]... [--confirm SECONDS]",
     "add a port to a bridge, e.g. mode access vlan 10", change_object, changed},
    {"member del BRIDGE PORT [--confirm SECONDS]", "remove a port from a bridge", change_object,
     changed},
    {"tunnel add|replace NAME KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "a VXLAN tunnel to a unicast or multicast remote address, for use as a bridge port",
     change_object, changed},
    {"tunnel del NAME [--confirm SECONDS]", "delete a tunnel that is not a bridge port",
     change_object, changed},
    {"mirror add|replace NAME KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "copy frames of ports or a bridge to a port or, in ERSPAN or VXLAN, to an address, e.g. ports "
     "west to "
     "probe",
     change_object, changed},
    {"mirror del NAME [--confirm SECONDS]", "delete a mirror", change_object, changed},
    {"fdb add|replace BRIDGE MAC port PORT [vlan NUMBER] [--confirm SECONDS]",
     "add a static FDB entry", change_object, changed},
    {"fdb del BRIDGE MAC [vlan NUMBER] [--confirm SECONDS]", "delete a static FDB entry",
     change_object, changed},
    {"fdb flush [bridge BRIDGE] [port PORT] [vlan NUMBER] [mac MAC]", "delete learnt FDB entries",
     flush_fdb, flushed},
    {"acl add|replace LIST [layer 2|3] [default permit|deny] [memory_mb NUMBER] "
     "[rules FILE permit|deny|count] [--confirm SECONDS]",
     "an ACL; FILE has rules in ClassBench format (layer 3)", change_acl, changed},
    {"acl del LIST [--confirm SECONDS]", "delete an ACL that is not bound", change_acl, changed},
    {"rule add LIST permit|deny|count [at NUMBER] " TURNPIKE_RULE_KEYS,
     "add a rule at the end of an ACL, or at position NUMBER (from 1)", change_rule, changed},
    {"rule replace LIST RULE permit|deny|count " TURNPIKE_RULE_KEYS,
     "replace a rule, given by name or position", change_rule, changed},
    {"rule del LIST RULE [--confirm SECONDS]", "delete a rule, given by name or position",
     change_rule, changed},
    {"set port PORT KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a port, e.g. mtu 1400", set_keys, changed},
    {"set interface INTERFACE KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of an interface of a port, VLAN, bridge or tunnel, e.g. urpf strict", set_keys,
     changed},
    {"set bridge BRIDGE KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a bridge, e.g. ageing_s 600", set_keys, changed},
    {"set member BRIDGE PORT KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a member of a bridge, e.g. vlan 20", set_keys, changed},
    {"set tunnel TUNNEL KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a tunnel, e.g. ttl 32", set_keys, changed},
    {"set mirror MIRROR KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a mirror, e.g. sample 100", set_keys, changed},
    {"set vrf VRF KEY VALUE [KEY VALUE]... [--confirm SECONDS]", "set keys of a VRF, e.g. table 7",
     set_keys, changed},
    {"set neighbour ADDRESS KEY VALUE [KEY VALUE]... [--confirm SECONDS]",
     "set keys of a static neighbour, e.g. mac 02:00:00:00:00:01", set_keys, changed},
    {"unset port PORT KEY... [--confirm SECONDS]", "set keys of a port to their defaults",
     unset_keys, changed},
    {"unset interface INTERFACE KEY... [--confirm SECONDS]",
     "set keys of an interface of a port, VLAN, bridge or tunnel to their defaults", unset_keys,
     changed},
    {"unset bridge BRIDGE KEY... [--confirm SECONDS]", "set keys of a bridge to their defaults",
     unset_keys, changed},
    {"unset member BRIDGE PORT KEY... [--confirm SECONDS]",
     "set keys of a member of a bridge to their defaults", unset_keys, changed},
    {"unset tunnel TUNNEL KEY... [--confirm SECONDS]", "set keys of a tunnel to their defaults",
     unset_keys, changed},
    {"unset mirror MIRROR KEY... [--confirm SECONDS]", "set keys of a mirror to their defaults",
     unset_keys, changed},
    {"unset vrf VRF KEY... [--confirm SECONDS]", "set keys of a VRF to their defaults", unset_keys,
     changed},
    {"set KEY VALUE [KEY VALUE]... [--confirm SECONDS]", "change settings, e.g. tx.drain_us 20",
     set_settings, changed},
    {"unset KEY... [--confirm SECONDS]", "set settings to their defaults, e.g. tx.drain_us",
     unset_settings, changed},
    {"batch FILE [--confirm SECONDS]",
     "apply lines of the commands \"route\" to \"unset\" above, all or none (-: standard input)",
     change_many, changed},
    {"clear counters [port PORT]",
     "reset the counters of `show` to 0; the report's totals continue", clear, cleared},
    {"trace NUMBER [port PORT] [address ADDRESS] [dropped]",
     "record the paths of the next NUMBER packets: all, of a port, from or to an address, or "
     "dropped ones (0: stop)",
     trace, tracing},
    {"explain INTERFACE frame FRAME", "show the path of a frame received now; nothing is sent",
     explain, explained},
    {"explain INTERFACE [--pcap PCAP]", "show the path of a frame of a capture file", explain,
     explained},
    {"explain INTERFACE from ADDRESS to ADDRESS [protocol udp|tcp|icmp] [source_port NUMBER] "
     "[destination_port NUMBER] "
     "[ttl NUMBER] [vlan NUMBER] [bytes NUMBER] [source_mac MAC] [destination_mac MAC]",
     "show the path of a packet; defaults: UDP, 60 bytes, to the MAC address of the port", explain,
     explained},
    local("capture CAPTURED [--direction DIRECTION] [--control] [--vlan NUMBER] [--filter FILTER] "
          "[--drops] "
          "[--reason REASON] "
          "[--snaplen NUMBER] [--count NUMBER] [--write FILE] [--rotate-size BYTES] [--rotate-time "
          "SECONDS] "
          "[--files NUMBER]",
          "copy packets of a port (any: all ports) as pcapng to a file or standard output; also -c "
          "and -w",
          capture),
    local(
        "ping ADDRESS [count NUMBER] [size NUMBER] [dont-fragment] [interface INTERFACE] [vrf VRF]",
        "the system's ping by the kernel's host interfaces, whose packets turnpike forwards", ping),
    local("traceroute ADDRESS [interface INTERFACE] [vrf VRF]", "the system's traceroute, likewise",
          traceroute),
    local("watch drops|cost|ports [--interval SECONDS]",
          "show periodically, with rates since the last update; q quits", watch),
    local("top [--once] [--interval SECONDS]",
          "show workers, ports, drops, tunnels and bridges by their rates, each second; q quits",
          top),
    local("report [--html]", "print the report as JSON, or as an HTML page that stands alone",
          print_report),
    local("completion bash|zsh|fish", "print the completion script for a shell", print_script),
    local("complete [WORD...]", "", print_candidates),
    local("manual", "", print_manual),
};

constexpr common_option options[] = {
    {"--socket", "PATH",
     "turnpike's control socket ($TURNPIKE_SOCKET, or /run/turnpike/control.sock)"},
    {"--timeout", "SECONDS", "time to wait for an answer (60)"},
    {"--json", "", "print results as JSON, one object per line"},
    {"--comment", "TEXT", "of a change: words for `show history` and the log"},
    {"--help", "", "print this help, or the help of the commands that begin with the given words"},
    {"--version", "", "print the version"},
};

constexpr topic first_words[] = {{"show", "state and counters, as a table"},
                                 {"route", "routes"},
                                 {"neighbour", "static neighbour entries"},
                                 {"address", "addresses of ports"},
                                 {"port", "ports and their devices"},
                                 {"patch", "cross-connected ports"},
                                 {"interface", "VLANs of ports"},
                                 {"bridge", "bridges"},
                                 {"member", "bridge ports"},
                                 {"fdb", "FDB entries of bridges"},
                                 {"tunnel", "VXLAN tunnels"},
                                 {"mirror", "mirrors of ports"},
                                 {"set", "set keys of an object, or a setting"},
                                 {"unset", "set keys of an object, or settings, to their defaults"},
                                 {"acl", "ACLs"},
                                 {"rule", "ACL rules"},
                                 {"explain", "the path of a packet"}};

}  // namespace

bool given::has(std::string_view word) const {
    return std::any_of(words.begin(), words.end(), [&](const auto& w) { return w.first == word; });
}

std::vector<std::string> given::values(std::string_view kind) const {
    std::vector<std::string> out;
    for (const auto& [name, text] : words)
        if (name == kind) out.push_back(text);
    return out;
}

std::string given::value(std::string_view kind) const {
    const auto all = values(kind);
    return all.empty() ? std::string() : all.front();
}

std::string given::option(std::string_view name, std::string_view otherwise) const {
    const auto at = options.find(name);
    return at == options.end() ? std::string(otherwise) : at->second;
}

std::chrono::milliseconds given::seconds(std::string_view name, double otherwise) const {
    const auto at = options.find(name);
    const double s = at == options.end() ? otherwise : std::stod(at->second);
    return std::chrono::milliseconds(static_cast<int64_t>(s * 1000 + 0.5));
}

std::span<const command> commands() noexcept { return table; }
std::span<const common_option> common_options() noexcept { return options; }

std::string_view usual_socket() noexcept {
    const char* const named = std::getenv("TURNPIKE_SOCKET");
    return named != nullptr && *named != 0 ? named : default_socket;
}
bool is_change(const command& c) noexcept {
    return c.text == changed || c.run == send_routes || c.run == edit_configuration;
}
std::span<const topic> topics() noexcept { return first_words; }

}  // namespace turnpike::ctl
