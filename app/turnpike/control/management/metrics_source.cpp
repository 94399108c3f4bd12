// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/metrics_source.hpp"

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "control/controller.hpp"
#include "control/management/inventory.hpp"
#include "control/management/show.hpp"
#include "observe/metrics_pages.hpp"
#include "observe/open_metrics.hpp"
#include "sources/netlink_rib.hpp"

namespace turnpike::control {
namespace {

/// Targets are few, so their uses are summed; routes are not visited.
void add_sources(const std::string& vrf, const controller& c, observe::inventory& to) {
    const state::route_set& learned = c.followed().routes.at(vrf);
    to.sources.push_back({vrf_label(vrf), "operator", c.running().routes_of(vrf).size()});
    std::map<uint8_t, uint64_t> by_protocol;
    for (size_t t = 0; t < learned.targets().size(); ++t)
        if (const uint32_t n = learned.uses_of(t); n != 0)
            by_protocol[learned.targets()[t].protocol] += n;
    for (const auto& [protocol, n] : by_protocol)
        to.sources.push_back({vrf_label(vrf), sources::protocol_name(protocol), n});
}

void add_vrfs(controller& c, observe::inventory& to) {
    for (const auto& [name, index] : c.routing().vrfs().indexes()) {
        const routes& table = c.routing().tables().of(index);
        const fib::statistics v4 = table.v4().stats(), v6 = table.v6().stats();
        to.vrfs.push_back({vrf_label(name), v4.routes, v6.routes});
        to.fibs.push_back({vrf_label(name), "ipv4", v4.bytes()});
        to.fibs.push_back({vrf_label(name), "ipv6", v6.bytes()});
        add_sources(name, c, to);
    }
}

void add_left_out(controller& c, observe::inventory& to) {
    const netlink_monitor* const monitor = c.host_interfaces().follower();
    if (monitor == nullptr) return;
    c.routing().no_room().each([&](const char* reason, size_t count) {
        to.left_out.push_back({reason, count});
    });
    const auto counts = monitor->known().count_not_followed();
    for (size_t why = 1; why < counts.size(); ++why)
        to.not_followed.push_back({std::string(sources::not_followed_names[why]), counts[why]});
}

void add_tables(controller& c, observe::inventory& to) {
    to.tables.push_back({"next_hops", c.nexthops().in_use(), c.nexthops().capacity()});
    to.tables.push_back(
        {"neighbours", c.routing().neighbours().size(), c.routing().neighbours().limits().limit});
    if (c.bridges().table() != nullptr)
        to.tables.push_back({"fdb", c.bridges().fdb_entries(), datapath::max_fdb_entries});
}

}  // namespace

std::vector<observe::table_report> table_sizes(controller& c) {
    observe::inventory all;
    for (const auto add : {add_vrfs, add_bridges, add_tables}) add(c, all);
    return observe::all_tables(all);
}

observe::scraped scrape(controller& c, bool page) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    observe::scraped out;
    out.numbers = c.report(false);
    out.numbers.acls = c.lists().report(observe::max_collected_rules);
    out.unfinished = c.unfinished();
    add_counted_objects(c, out.objects);
    for (const auto add : {add_vrfs, add_left_out, add_tables}) add(c, out.objects);
    if (page) {
        out.rates = page_rates(c).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        out.changes = c.changes_text();
    }
    out.objects.gather_s = std::chrono::duration<double>(clock::now() - begun).count();
    return out;
}

}  // namespace turnpike::control
