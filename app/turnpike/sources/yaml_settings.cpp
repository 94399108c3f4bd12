// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace turnpike::sources {

using yaml::reader;

state::tx read_tx(const reader& from, state::tx out) {
    from.expect_map({"drain_us"});
    out.drain_us = from.number_or("drain_us", out.drain_us, 0, 1'000'000);
    return out;
}

state::idle read_idle(const reader& from, state::idle out) {
    from.expect_map({"sleep_us"});
    out.sleep_us = from.number_or("sleep_us", out.sleep_us, 0, 10'000);
    return out;
}

state::icmp read_icmp(const reader& from, state::icmp out) {
    from.expect_map({"rate"});
    out.rate = from.number_or("rate", out.rate, 0, 10'000'000);
    return out;
}

state::punt_rate read_punt_rate(const reader& from, state::punt_rate out) {
    from.expect_map(
        {"routing", "local", "neighbours", "icmp_error", "too_big", "resolve", "other"});
    for (size_t c = 0; c < datapath::punt_classes; ++c)
        out.of[c] = from.number_or(datapath::punt_class_texts[c].name, out.of[c], 1, 10'000'000);
    return out;
}

state::metrics read_metrics(const reader& from) {
    from.expect_map({"listen"});
    state::metrics out;
    out.where.text = from.where();
    const reader listen = from.at("listen");
    const auto add = [&](const reader& one) {
        const auto address = one.taken(state::parse_listen_address(one.text()));
        if (std::ranges::find(out.listen, address) != out.listen.end())
            one.refuse(fmt::format("names {} twice", address.text()));
        out.listen.push_back(address);
    };
    if (!listen.is_list()) {
        add(listen);
        return out;
    }
    for (const reader& one : listen.list("addresses")) add(one);
    if (out.listen.size() > state::metrics::max_listeners)
        listen.refuse(fmt::format("names {} addresses; at most {} are possible", out.listen.size(),
                                  state::metrics::max_listeners));
    return out;
}

state::ecmp read_ecmp(const reader& from, state::ecmp out) {
    from.expect_map({"hash", "seed", "vxlan_ports", "use_neigh"});
    if (from.has("use_neigh"))
        out.use_neigh =
            static_cast<state::use_neigh>(from.at("use_neigh").word({"none", "ipv6", "both"}));
    if (from.has("hash"))
        out.hash =
            static_cast<packet::flow_fields>(from.at("hash").word({"addresses", "flow", "inner"}));
    if (from.has("seed")) out.seed = from.at("seed").number(0, UINT32_MAX);
    if (from.has("vxlan_ports")) {
        const reader ports = from.at("vxlan_ports");
        out.vxlan_ports.clear();
        for (const reader& port : ports.list("UDP ports")) {
            const auto number = static_cast<uint16_t>(port.number(1, UINT16_MAX));
            if (std::ranges::find(out.vxlan_ports, number) != out.vxlan_ports.end())
                port.refuse(fmt::format("names UDP port {} twice", number));
            out.vxlan_ports.push_back(number);
        }
        if (out.vxlan_ports.empty() || out.vxlan_ports.size() > packet::max_vxlan_ports)
            ports.refuse(fmt::format("names {} UDP ports; 1 to {} can be told to be VXLAN's",
                                     out.vxlan_ports.size(), packet::max_vxlan_ports));
    }
    return out;
}

state::neighbour_limits read_neighbour_limits(const reader& from, state::neighbour_limits out) {
    constexpr uint64_t day_ms = 24 * 3600 * 1000;
    from.expect_map({"max_entries", "queue_len", "rate", "solicit_rate", "reachable_ms",
                     "retransmit_ms", "attempts", "negative_ms", "gc_stale_ms", "static"});
    out.limit = from.number_or("max_entries", out.limit, 8, 1u << 20);
    out.queue_len = from.number_or("queue_len", out.queue_len, 0, 64);
    out.rate = from.number_or("rate", out.rate, 1, 10'000'000);
    out.solicit_rate = from.number_or("solicit_rate", out.solicit_rate, 1, 1'000'000);
    out.reachable_ms = from.number_or("reachable_ms", out.reachable_ms, 10, day_ms);
    out.retransmit_ms = from.number_or("retransmit_ms", out.retransmit_ms, 10, 60'000);
    out.attempts = from.number_or("attempts", out.attempts, 1, 100);
    out.failed_ms = from.number_or("negative_ms", out.failed_ms, 10, day_ms);
    out.forget_ms = from.number_or("gc_stale_ms", out.forget_ms, 10, day_ms);
    return out;
}

}  // namespace turnpike::sources
