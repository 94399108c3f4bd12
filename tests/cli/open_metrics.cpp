// SPDX-License-Identifier: BSD-3-Clause
// Prints a scrape in both formats, for open_metrics_test.py: every kind of thing more than once, names that must be
// escaped, and numbers that are not there. print-open-metrics prometheus|openmetrics
#include <cstdio>
#include <string_view>

#include "counters/latency_histogram.hpp"
#include "observe/open_metrics.hpp"

namespace {

using namespace turnpike::observe;

constexpr const char* awkward = "a \"quoted\\name\"\nof two lines";

void add_workers(report& r) {
    for (const unsigned lcore : {1U, 7U}) {
        worker_report w;
        w.lcore = lcore;
        w.tsc_hz = r.tsc_hz;
        w.total_cycles = 4'000'000'000;
        w.stages = {{"rx", 10, 100, 0, 0}, {"tx", 10, 200, 0, 0}};
        if (lcore == 1) {  // the other one got no packet, and nothing is counted there
            w.packets = 1'000'000;
            w.busy_cycles = 100'000'000;
            w.bursts = {100, 20, 0, 0, 3, 31'000};
            w.core.values = {{"cycles", 3e9}, {"instructions", 6e9}, {"ipc", 2},
                             {"ipp", 6e3},    {"core_cpp", 3e3},     {"core_ghz", 1.5}};
        }
        r.workers.push_back(w);
    }
}

void add_lists(report& r) {
    for (const char* direction : {"in", "out"}) {
        acl_report a;
        a.interface = "west";
        a.direction = direction;
        a.list = "edge";
        a.permitted = 5;
        a.rules = {{"tiny-fragment", "deny", "", 4, 2, 128, {}},
                   {"web", "permit", "k\xf6ln.yaml:3", 1, 4, 400, {}},
                   {"", "permit", "f.yaml:4", 6, 3, 300, {}},
                   {"#1", "permit", "f.yaml:5", 7, 0, 0, {}},
                   {awkward, "deny", "f.yaml:6", 2, 0, 0, {}},
                   {"neighbour-discovery", "permit", "", 5, 0, 0, {}},
                   {"default", "permit", "", 3, 1, 60, {}}};
        r.acls.push_back(a);
    }
    acl_report longest;
    longest.interface = "east";
    longest.direction = "in";
    longest.list = "listed";
    uint64_t life = 100;
    for (int line = 1; line <= 64; ++line)
        longest.rules.push_back({"", "permit", "f.yaml:" + std::to_string(line), ++life, 0, 0, {}});
    for (const char* own : {"tiny-fragment", "neighbour-discovery", "default"})
        longest.rules.push_back({own, "permit", "", ++life, 0, 0, {}});
    r.acls.push_back(longest);
    acl_report longer = longest;
    longer.direction = "out";
    longer.list = "long";
    longer.rules.push_back({"", "permit", "f.yaml:65", ++life, 0, 0, {}});
    r.acls.push_back(longer);
}

void add_punt(report& r) {
    for (const char* interface : {"west", awkward}) {
        punt_report p;
        p.interface = interface;
        p.of = turnpike::datapath::punt_class::routing;
        p.punted = 10;
        p.dropped = 2;
        r.punt.push_back(p);
    }
}

inventory objects() {
    inventory all;
    for (const char* name : {"west", awkward}) {
        const uint64_t max = all.bridges.size() * 100;
        all.interfaces.push_back(
            {.name = name, .kind = "routed", .port = name, .vlan = 7, .mtu = 1500, .up = true});
        if (all.bridges.empty())  // nothing counts the other one
            all.interfaces.back().counted = {
                .rx_packets = 3, .rx_bytes = 300, .tx_packets = 2, .tx_bytes = 200};
        all.vrfs.push_back({name, 100'000, 3});
        all.fibs.push_back({name, "ipv4", 1 << 20});
        all.fibs.push_back({name, "ipv6", 4096});
        for (const char* protocol : {"operator", "bgp"}) all.sources.push_back({name, protocol, 9});
        all.bridges.push_back({.name = name, .entries = 5, .max_entries = max, .flooded = 2});
        all.tunnels.push_back(
            {.name = name, .remote = "10.0.2.2", .vni = 100, .inner = {.rx_bytes = 77}});
        all.mirrors.push_back(
            {.name = name, .packets = 5, .bytes = 500, .lost = 1, .unreachable = 2});
        all.host_interfaces.push_back({.name = name, .carrier = true, .to_kernel = 4});
        all.tables.push_back({name, 4, 16});
        all.left_out.push_back({name, 2});
    }
    for (const char* out : {"west", awkward}) {
        latency_report pair{.in = "east",
                            .out = out,
                            .bins = {},
                            .samples = 8,
                            .sum_ns = 1'000'000,
                            .max_ns = 900'000};
        pair.bins.resize(turnpike::counters::latency_histogram::bins);
        pair.bins[turnpike::counters::latency_histogram::bin_of(1000)] = 6;
        pair.bins[turnpike::counters::latency_histogram::bin_of(900'000)] = 2;
        all.latencies.push_back(std::move(pair));
    }
    all.sflow.push_back({.datagrams = 3, .samples = 9});
    all.netlink.push_back({.messages = 3});
    all.not_followed.push_back({.reason = "interface", .routes = 2});
    all.gather_s = 0.001;
    return all;
}

/// One object of each kind named "counted", each number of it another: open_metrics_test.py has them by name.
void add_counted(scraped& s) {
    const char* const name = "counted";
    port_report p;
    p.name = name;
    p.link_up = true;
    p.admin_up = false;
    p.link_mbps = 8;
    p.rx_missed = 101;
    p.rx_no_buffer = 102;
    p.totals = {.rx_packets = 103,
                .tx_packets = 104,
                .rx_bytes = 105,
                .tx_bytes = 106,
                .originated = 107,
                .consumed = 108};
    s.numbers.ports.insert(s.numbers.ports.end() - 1, p);
    s.numbers.changes = 111;
    s.unfinished = {.unsaved = true, .unconfirmed = false};
    s.numbers.mempool.overhead = 0.125;
    s.numbers.mempool.low_water = 121;
    s.numbers.mempool.buffer_size = 122;
    s.numbers.mempool.in_use_at_start = 123;
    s.numbers.mempool.in_use = 124;
    s.numbers.mempool.kept_by_drivers = 125;
    acl_report list;
    list.interface = "west";
    list.direction = "in";
    list.list = name;
    list.permitted = 131;
    list.denied = 132;
    list.bytes = 133;
    s.numbers.acls.push_back(list);
    punt_report punted;
    punted.interface = name;
    punted.punted = 141;
    punted.dropped = 142;
    s.numbers.punt.push_back(punted);
    inventory& all = s.objects;
    all.interfaces.push_back(
        {.name = name,
         .kind = "routed",
         .mtu = 151,
         .up = true,
         .counted = {{.rx_packets = 152, .rx_bytes = 153, .tx_packets = 154, .tx_bytes = 155}}});
    all.vrfs.push_back({name, 161, 162});
    all.fibs.push_back({name, "ipv4", 163});
    all.fibs.push_back({name, "ipv6", 164});
    all.sources.push_back({name, "bgp", 165});
    all.bridges.push_back({.name = name,
                           .entries = 171,
                           .max_entries = 172,
                           .learned = 173,
                           .moved = 174,
                           .aged = 175,
                           .dampened = 176,
                           .refused = 177,
                           .rx_packets = 178,
                           .rx_bytes = 179,
                           .tx_packets = 180,
                           .flooded = 181});
    all.tunnels.push_back(
        {.name = name,
         .remote = "10.0.2.3",
         .vni = 101,
         .inner = {.rx_packets = 191, .rx_bytes = 192, .tx_packets = 193, .tx_bytes = 194}});
    all.mirrors.push_back(
        {.name = name, .packets = 201, .bytes = 202, .lost = 203, .unreachable = 204});
    all.host_interfaces.push_back({.name = name,
                                   .admin_up = false,
                                   .carrier = true,
                                   .to_kernel = 211,
                                   .from_kernel = 212,
                                   .lost = 213});
    all.tables.push_back({name, 221, 222});
    all.left_out.push_back({name, 223});
    all.not_followed.push_back({.reason = name, .routes = 224});
    all.sflow = {{.datagrams = 231,
                  .unsent = 232,
                  .samples = 233,
                  .drops = 234,
                  .lost_samples = 235,
                  .lost_drops = 236}};
    all.netlink = {{.messages = 241, .refused = 242, .overruns = 243, .synchronizing = true}};
}

}  // namespace

int main(int argc, char** argv) {
    scraped s;
    report& r = s.numbers;
    r.version = "1";
    r.duration_s = 2;
    r.tsc_hz = 2'000'000'000;
    add_workers(r);
    for (const char* name : {"west", awkward, "(removed)"}) {
        port_report p;
        p.name = name;
        p.driver = "net_simnic";
        p.link_mbps = name == std::string_view("west") ? 25'000 : 0;
        p.totals.rx_packets = 500'000;
        p.totals.drops[3] = 7;
        p.totals.drop_bytes[3] = 700;
        p.totals.drops[4] = UINT64_C(1) << 60;
        r.ports.push_back(p);
    }
    r.mempool.buffers = 8191;
    r.neighbours = {{"reachable", 4}, {"failed", 1}, {"limit", 16384}};
    add_lists(r);
    add_punt(r);
    s.objects = objects();
    add_counted(s);
    const bool open = argc > 1 && std::string_view(argv[1]) == "openmetrics";
    std::fputs(to_exposition(s, open ? exposition_format::open_metrics_1_0
                                     : exposition_format::prometheus_0_0_4)
                   .c_str(),
               stdout);
}
