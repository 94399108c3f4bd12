// SPDX-License-Identifier: BSD-3-Clause
#include "run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::throughput {
namespace {

using yaml::reader;

constexpr uint64_t hour_ms = 3'600'000, million = 1'000'000;

/// Frames per second.
double rate_of(const reader& r) { return static_cast<double>(r.number(1, 1'000'000'000)); }

double rate_or(const reader& r, std::string_view key, double otherwise) {
    return r.has(key) ? rate_of(r.at(key)) : otherwise;
}
double seconds_or(const reader& r, std::string_view key, double otherwise) {
    return r.has(key) ? static_cast<double>(r.at(key).number(1, hour_ms)) / 1e3 : otherwise;
}
double ratio_or(const reader& r, std::string_view key, double otherwise) {
    return r.has(key) ? static_cast<double>(r.at(key).number(0, million - 1)) / 1e6 : otherwise;
}

vxlan_tunnel tunnel_of(const reader& r, const run_port& p) {
    r.expect_map({"vni", "remote", "inner_mac"});
    if (!p.address) r.refuse("needs the port's own address (address: ...)");
    std::optional<ip_address> remote = p.gateway;
    if (r.has("remote")) remote = r.at("remote").taken(parse_address(r.at("remote").text()));
    if (!remote || remote->v6 != p.address->v6)
        r.refuse(
            "needs the address of the device's VTEP (remote: ...), of the same family as the "
            "port's");
    vxlan_tunnel t{.vni = static_cast<uint32_t>(r.at("vni").number(1, (1u << 24) - 1)),
                   .local = *p.address,
                   .remote = *remote};
    if (r.has("inner_mac")) {
        t.inner_mac = r.at("inner_mac").taken(parse_mac(r.at("inner_mac").text()));
        if (t.inner_mac->is_group()) r.at("inner_mac").refuse("should be a unicast MAC address");
    }
    return t;
}

run_port port_of(const reader& r) {
    r.expect_map({"name", "device", "address", "gateway", "gateway_mac", "vxlan"});
    run_port p{.name = r.at("name").name(), .device = r.at("device").text(), .where = r.where()};
    if (r.has("address")) p.address = r.at("address").taken(parse_address(r.at("address").text()));
    if (r.has("gateway")) {
        p.gateway = r.at("gateway").taken(parse_address(r.at("gateway").text()));
        if (!p.address || p.address->v6 != p.gateway->v6)
            r.at("gateway").refuse(
                "needs the station's own address of the same family (address: ...)");
    }
    if (r.has("gateway_mac")) {
        p.gateway_mac = r.at("gateway_mac").taken(parse_mac(r.at("gateway_mac").text()));
        if (p.gateway)
            r.at("gateway_mac").refuse("excludes gateway, by which the MAC address is resolved");
        if (p.gateway_mac->is_group())
            r.at("gateway_mac").refuse("should be a unicast MAC address");
    }
    if (r.has("vxlan")) p.vxlan = tunnel_of(r.at("vxlan"), p);
    return p;
}

/// A file that the run file names: relative to the run file's folder.
std::string path_of(const reader& r) {
    const std::filesystem::path run_file = r.where().substr(0, r.where().rfind(':'));
    return run_file.parent_path() / r.text();
}

std::vector<ip_prefix> prefixes_of(const reader& r) {
    std::vector<ip_prefix> out;
    for (const reader& p : r.list("prefixes")) out.push_back(p.taken(parse_prefix(p.text())));
    if (out.empty()) r.refuse("should have at least one prefix");
    return out;
}

/// Captures instead of flows: one for each direction, one that is split, or one and the same with exchanged addresses.
void read_capture(const reader& r, run& out) {
    for (const char* key : {"flows_by", "ip", "flows", "vlan", "sizes", "destinations", "seed"})
        if (r.has(key))
            r.at(key).refuse("is of flows; the frames of a capture are sent as they are");
    constexpr size_t max_learning_frames = 65536;
    const reader pcap = r.at("pcap");
    const std::vector<reader> files =
        pcap.is_list() ? pcap.list("two captures") : std::vector{pcap};
    if (pcap.is_list() && files.size() != 2)
        pcap.refuse("should be a file, or two: the frames of each port");
    const bool splits = r.has("split");
    if (splits && files.size() == 2) r.at("split").refuse("is of one capture");
    out.both_ways = splits || files.size() == 2;
    if (r.has("both_ways")) {
        if (out.both_ways && !r.at("both_ways").truth())
            r.at("both_ways").refuse("should be true: each port has its frames");
        out.both_ways = r.at("both_ways").truth();
    }
    auto& both = out.traffic.captured;
    for (size_t i = 0; i < 2; ++i) out.pcap_files[i] = files[i % files.size()].text();
    both[0] = files[0].taken(capture::open(path_of(files[0])));
    if (splits)
        both = r.at("split").taken(both[0]->split(prefixes_of(r.at("split"))));
    else if (files.size() == 2)
        both[1] = files[1].taken(capture::open(path_of(files[1])));
    else
        both[1] = out.both_ways ? both[0]->exchanged(SIZE_MAX, false)
                                : both[0]->exchanged(max_learning_frames, true);
    if (both[1]->frames().empty())
        r.at("both_ways").refuse("needs a capture with unicast frames, or one for each port");
    const size_t frames = std::max(both[0]->frames().size(), both[1]->frames().size());
    out.traffic.flows = static_cast<uint32_t>(std::min(frames, max_learning_frames));
    out.sizes.push_back(size_of(both));
}

void read_destinations(const reader& r, run& out) {
    const reader file = r.at("destinations");
    if (out.traffic.by_mac) file.refuse("needs flows by IP addresses (flows_by: ip)");
    out.destinations_file = file.text();
    out.seed = r.number_or<uint64_t>("seed", 1, 0, UINT32_MAX);
    const auto text = yaml::read_file(path_of(file));
    if (!text) file.refuse("cannot be read: " + text.error().message());
    auto drawn =
        destination_list::draw(*text, file.text(), out.traffic.ipv6, out.traffic.flows, out.seed);
    if (!drawn) file.refuse("cannot be used: " + drawn.error().message());
    out.traffic.destinations = std::move(*drawn);
}

void read_traffic(const reader& r, run& out) {
    r.expect_map({"flows_by", "ip", "flows", "vlan", "sizes", "both_ways", "pcap", "split",
                  "destinations", "seed"});
    if (r.has("pcap")) return read_capture(r, out);
    if (r.has("split")) r.at("split").refuse("is of a capture (pcap)");
    traffic& t = out.traffic;
    if (r.has("flows_by")) t.by_mac = r.at("flows_by").word({"ip", "mac"}) == 1;
    if (r.has("ip")) t.ipv6 = r.at("ip").word({"4", "6"}) == 1;
    // Without a table, addresses differ in their last 16 bits.
    const uint64_t max_flows = r.has("destinations") ? 1u << 20 : 1u << 16;
    t.flows = r.number_or<uint32_t>("flows", t.by_mac ? l2_flows_of_paper : l3_flows_of_paper, 1,
                                    max_flows);
    if (r.has("destinations")) read_destinations(r, out);
    if (r.has("seed") && !t.destinations) r.at("seed").refuse("is of destinations (a file)");
    t.vlan = r.number_or<uint16_t>("vlan", 0, 1, 4094);
    if (r.has("both_ways")) out.both_ways = r.at("both_ways").truth();
    if (!r.has("sizes")) return;
    for (const reader& size : r.at("sizes").list("frame sizes")) {
        frame_size parsed = size.taken(parse_frame_size(size.text(), t));
        if (std::any_of(out.sizes.begin(), out.sizes.end(),
                        [&](const auto& s) { return s.name == parsed.name; }))
            size.refuse("is there twice");
        out.sizes.push_back(std::move(parsed));
    }
    if (out.sizes.empty()) r.at("sizes").refuse("should have at least one frame size");
}

search::goal goal_of(const reader& r) {
    if (!r.is_map()) return r.taken(search::preset(r.text()));
    r.expect_map({"name", "preset", "loss_ppm", "exceed_ppm", "trial_ms", "sum_ms",
                  "first_trial_ms", "width_ppm"});
    search::goal g;
    if (r.has("preset")) g = r.at("preset").taken(search::preset(r.at("preset").text()));
    g.name = r.has("name") || g.name.empty() ? r.at("name").name() : g.name;
    g.loss_ratio = ratio_or(r, "loss_ppm", g.loss_ratio);
    g.exceed_ratio = ratio_or(r, "exceed_ppm", g.exceed_ratio);
    g.final_duration_s = seconds_or(r, "trial_ms", g.final_duration_s);
    g.duration_sum_s =
        seconds_or(r, "sum_ms", r.has("trial_ms") ? g.final_duration_s : g.duration_sum_s);
    g.initial_duration_s =
        seconds_or(r, "first_trial_ms", r.has("trial_ms") ? 0 : g.initial_duration_s);
    g.width = ratio_or(r, "width_ppm", g.width);
    if (auto good = search::check(g); !good) r.refuse("is no goal: " + good.error().text);
    return g;
}

void read_throughput(const reader& r, throughput_plan& out) {
    r.expect_map({"method", "preset", "loss_ppm", "trial_ms", "trials", "resolution", "goals"});
    out.method = r.at("method").word({"rfc2544", "mlrsearch"}) == 0 ? search_method::binary
                                                                    : search_method::mlr;
    if (out.method == search_method::mlr) {
        for (const char* key : {"preset", "loss_ppm", "trial_ms", "trials", "resolution"})
            if (r.has(key))
                r.at(key).refuse(
                    "is of method rfc2544; with mlrsearch it is an attribute of each goal");
        for (const reader& goal : r.at("goals").list("goals")) {
            out.goals.push_back(goal_of(goal));
            for (size_t i = 0; i + 1 < out.goals.size(); ++i)
                if (out.goals[i].name == out.goals.back().name)
                    goal.refuse("has the name of another goal");
        }
        if (out.goals.empty()) r.at("goals").refuse("should have at least one goal");
        return;
    }
    if (r.has("goals")) r.at("goals").refuse("is of method mlrsearch");
    if (r.has("preset")) {
        (void)r.at("preset").word({"paper"});
        // Section 13.4: 8 trials of 20 s, less than 0.01 % lost, a rate change of 0.1 Mpps.
        out = {.method = search_method::binary,
               .loss_ratio = std::nextafter(1e-4, 0.0),
               .trial_s = 20,
               .trials = 8,
               .resolution_fps = 0.1e6};
    }
    out.loss_ratio = ratio_or(r, "loss_ppm", out.loss_ratio);
    out.trial_s = seconds_or(r, "trial_ms", out.trial_s);
    out.trials = r.number_or<unsigned>("trials", out.trials, 1, 1000);
    out.resolution_fps = rate_or(r, "resolution", out.resolution_fps);
}

void read_latency(const reader& r, latency_plan& out) {
    r.expect_map({"trial_ms", "percent", "direct"});
    out.trial_s = seconds_or(r, "trial_ms", 120);
    if (r.has("direct")) {
        for (const reader& device : r.at("direct").list("devices"))
            out.direct.push_back({.name = "direct" + std::to_string(out.direct.size()),
                                  .device = device.text(),
                                  .where = device.where()});
        if (out.direct.size() != 2) r.at("direct").refuse("should have two devices");
    }
    if (!r.has("percent")) return;
    out.percent.clear();
    for (const reader& p : r.at("percent").list("percentages"))
        out.percent.push_back(static_cast<unsigned>(p.number(1, 100)));
    if (out.percent.empty())
        r.at("percent").refuse("should have at least one percentage of the throughput");
}

void read_recovery(const reader& r, recovery_plan& out) {
    r.expect_map({"rate", "overload_ms", "then_ms", "repeats"});
    out = {.repeats = r.number_or<unsigned>("repeats", 1, 1, 1000),
           .rate_fps = rate_or(r, "rate", 0),
           .overload_s = seconds_or(r, "overload_ms", 60),
           .then_s = seconds_or(r, "then_ms", 60)};
}

void read_reset(const reader& r, reset_plan& out) {
    r.expect_map({"rate", "trial_ms", "after_ms", "command", "repeats"});
    out = {.repeats = r.number_or<unsigned>("repeats", 1, 1, 1000),
           .rate_fps = rate_or(r, "rate", 0),
           .trial_s = seconds_or(r, "trial_ms", 120)};
    constexpr double max_default_s = 5;
    out.after_s = seconds_or(r, "after_ms", std::min(max_default_s, out.trial_s / 4));
    if (r.has("command")) out.command = r.at("command").text();
    if (out.after_s >= out.trial_s)
        (r.has("after_ms") ? r.at("after_ms") : r.at("trial_ms"))
            .refuse("resets the device after the trial's end: after_ms should be below trial_ms");
}

void read_rates(const reader& r, run& out) {
    r.expect_map({"max", "min", "tolerance_ppm", "max_lag_us", "settle_ms", "attempts", "realtime",
                  "relearn_ms"});
    out.max_fps = rate_or(r, "max", 0);
    out.min_fps = rate_or(r, "min", 0);
    if (out.max_fps != 0 && out.min_fps >= out.max_fps) r.at("min").refuse("should be below max");
    out.tolerance = ratio_or(r, "tolerance_ppm", out.tolerance);
    if (r.has("max_lag_us"))
        out.max_lag_s = static_cast<double>(r.at("max_lag_us").number(1, 10 * million)) / 1e6;
    out.settle_s = seconds_or(r, "settle_ms", out.settle_s);
    if (r.has("relearn_ms"))
        out.relearn_s = static_cast<double>(r.at("relearn_ms").number(0, hour_ms)) / 1e3;
    if (r.has("realtime")) out.realtime = r.at("realtime").truth();
    out.attempts = r.number_or<unsigned>("attempts", out.attempts, 1, 1000);
}

void check_procedures(const reader& r, const run& of) {
    const bool searches = of.throughput.method != search_method::none;
    const bool recovers = of.system_recovery.repeats != 0, resets = of.reset.repeats != 0;
    if (!searches && of.latency.trial_s == 0 && of.frame_loss_trial_s == 0 &&
        of.back_to_back.repeats == 0 && !recovers && !resets)
        r.refuse(
            "names no procedure: throughput, latency, frame_loss, back_to_back, system_recovery or "
            "reset");
    if (searches) return;
    if (of.latency.trial_s != 0)
        r.at("latency").refuse("is measured at shares of the throughput: it needs throughput");
    for (const auto& [key, lacks] :
         {std::pair{"system_recovery", recovers && of.system_recovery.rate_fps == 0},
          {"reset", resets && of.reset.rate_fps == 0}})
        if (lacks)
            r.at(key).refuse("is measured at the throughput: it needs throughput, or its own rate");
}

run run_of(const reader& r) {
    r.expect_map({"name", "ports", "traffic", "rate", "throughput", "latency", "frame_loss",
                  "back_to_back", "system_recovery", "reset"});
    run out;
    out.name = r.has("name") ? r.at("name").text() : "";
    for (const reader& port : r.at("ports").list("ports")) {
        out.ports.push_back(port_of(port));
        const auto last = std::prev(out.ports.end());
        if (std::any_of(out.ports.begin(), last,
                        [&](const run_port& p) { return p.name == last->name; }))
            port.refuse("has the name of another port");
    }
    if (out.ports.empty() || out.ports.size() % 2 != 0 || out.ports.size() > max_ports)
        r.at("ports").refuse("should have two ports, or further pairs: up to {}", max_ports);
    if (r.has("traffic") && out.ports.size() > 2)
        for (const char* key : {"pcap", "destinations"})
            if (r.at("traffic").has(key)) r.at("traffic").at(key).refuse("is of two ports");
    if (r.has("traffic")) read_traffic(r.at("traffic"), out);
    if (out.sizes.empty())
        out.sizes.push_back({std::to_string(smallest_frame_bytes(out.traffic)),
                             {smallest_frame_bytes(out.traffic)}});
    for (size_t i = 0; i < out.ports.size(); ++i)
        if (!out.traffic.captured[0] && !out.ports[i].vxlan && out.ports[i].address &&
            out.ports[i].address->v6 != out.traffic.ipv6)
            r.at("ports").list("ports")[i].at("address").refuse(
                "is not of the traffic's IP version");
    if (r.has("rate")) read_rates(r.at("rate"), out);
    if (r.has("throughput")) read_throughput(r.at("throughput"), out.throughput);
    if (r.has("latency")) read_latency(r.at("latency"), out.latency);
    if (r.has("frame_loss")) {
        r.at("frame_loss").expect_map({"trial_ms"});
        out.frame_loss_trial_s = seconds_or(r.at("frame_loss"), "trial_ms", 60);
    }
    if (r.has("back_to_back")) {
        const reader b = r.at("back_to_back");
        b.expect_map({"repeats", "max_frames"});
        out.back_to_back = {b.number_or<unsigned>("repeats", 50, 1, 1000),
                            b.number_or<uint32_t>("max_frames", 100'000, 1, 100 * million)};
    }
    if (r.has("system_recovery")) read_recovery(r.at("system_recovery"), out.system_recovery);
    if (r.has("reset")) read_reset(r.at("reset"), out.reset);
    check_procedures(r, out);
    return out;
}

result<run> read_document(const result<std::string>& text, const std::string& name) {
    if (!text) return tl::unexpected<error>(text.error());
    const auto document = yaml::parse_yaml(*text, name, "run");
    if (!document) return tl::unexpected<error>(document.error());
    try {
        return run_of(reader(*document));
    } catch (const yaml::complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

}  // namespace

uint32_t encapsulation_bytes(const run& r) noexcept {
    uint32_t most = 0;
    for (const run_port& p : r.ports) most = std::max(most, p.encapsulation_bytes());
    return most;
}

result<run> read_run(const std::string& path) { return read_document(yaml::read_file(path), path); }

result<run> parse_run(std::string_view text, const std::string& name) {
    return read_document(std::string(text), name);
}

}  // namespace turnpike::throughput
