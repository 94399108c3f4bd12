// SPDX-License-Identifier: BSD-3-Clause
#include "sources/settings.hpp"

#include "sources/fields.hpp"

namespace turnpike::sources {
namespace {

using datapath::punt_class;
using state::configuration;
using yaml::reader;

constexpr uint64_t max_rate = 10'000'000;
constexpr uint64_t day_ms = 24 * 3600 * 1000;
constexpr std::string_view hash_words[] = {"addresses", "flow", "inner"};

std::vector<state::listen_address> read_listen(const reader& from, const value_type& type) {
    return read_distinct(from, type, [](const reader& one) {
        return one.taken(state::parse_listen_address(one.text()));
    });
}

std::vector<state::listen_address> read_collectors(const reader& from, const value_type& type) {
    return read_distinct(from, type, [](const reader& one) {
        return one.taken(state::parse_collector(one.text()));
    });
}

std::string read_agent(const reader& from, const value_type&) {
    return from.taken(parse_address(from.text())).text();
}

std::vector<uint16_t> read_udp_ports(const reader& from, const value_type& type) {
    auto out = read_distinct(from, type, [&](const reader& port) {
        return static_cast<uint16_t>(port.number(type.least, type.max_element));
    });
    if (out.empty()) from.refuse("is empty; without the key, UDP port 4789");
    return out;
}

template <punt_class Class>
constexpr accessor<configuration> punt_rate_at() {
    constexpr auto c = static_cast<size_t>(Class);
    return {
        [](const reader& from, const value_type& type, const configuration&, configuration& into) {
            into.punt_rate.of[c] = static_cast<uint32_t>(from.number(type.least, type.most));
        },
        [](const configuration& of, const value_type&) {
            return written_value{{std::to_string(of.punt_rate.of[c])}};
        },
        [](configuration& of) { of.punt_rate.of[c] = datapath::punt_class_texts[c].rate; }};
}

using state::neighbour_limits;

constexpr field<configuration> settings_rows[] = {
    {"metrics.listen",
     one_or(list_type("an address with its port, a port of 127.0.0.1, or unix:/PATH", "addresses",
                      state::metrics::max_listeners)),
     "Listeners of metrics for Prometheus: doc/metrics.md",
     access<member<&configuration::metrics, &state::metrics::listen>, read_listen>()},
    {"sflow.collectors",
     one_or(list_type("an address, and its UDP port (6343)", "addresses",
                      state::sflow::max_collectors)),
     "sFlow collectors: doc/sflow.md",
     access<member<&configuration::sflow, &state::sflow::collectors>, read_collectors>()},
    {"sflow.agent", text_type("an IP address", UINT64_MAX, "ADDRESS"),
     "Address of the sFlow agent; default: the source address of the datagrams",
     access<member<&configuration::sflow, &state::sflow::agent>, read_agent>()},
    {"sflow.sample", number_type(0, 16'777'216, "packets"),
     "sFlow samples one packet of so many, of each port; 0: none",
     access<&configuration::sflow, &state::sflow::sample>()},
    {"sflow.direction", word_type(state::sampling_direction_names),
     "sFlow samples received packets, sent ones, or both",
     access<&configuration::sflow, &state::sflow::direction>()},
    {"sflow.header", number_type(14, 512, "bytes"),
     "Bytes of the header of a sampled or dropped packet",
     access<&configuration::sflow, &state::sflow::header_bytes>()},
    {"sflow.counters_s", number_type(0, 3600, "s"),
     "Interval of the counters of ports for sFlow; 0: none",
     access<&configuration::sflow, &state::sflow::counters_s>()},
    {"sflow.drops", number_type(0, 10'000, "per second"),
     "Maximum rate of sFlow's drop notifications, of each worker and of control; 0: none",
     access<&configuration::sflow, &state::sflow::drops_per_s>()},
    {"tx.drain_us", number_type(0, 1'000'000, "us"),
     "Maximum time that a packet waits for a transmit burst to fill",
     access<&configuration::sending, &state::tx::drain_us>(), is_always_compared},
    {"idle.sleep_us", number_type(0, 10'000, "us"),
     "Maximum sleep of an idle worker; 0: workers never sleep",
     access<&configuration::idle, &state::idle::sleep_us>(), is_always_compared},
    {"icmp.rate", number_type(0, max_rate, "per second"),
     "Maximum rate of echo replies, of Packet Too Big, and of other ICMP errors on an interface",
     access<&configuration::messages, &state::icmp::rate>(), is_always_compared},
#define TURNPIKE_PUNT_ROW(name, rate, says)                              \
    {"punt_rate." #name, number_type(1, max_rate, "packets per second"), \
     "Maximum rate of the class: " says, punt_rate_at<punt_class::name>()},
    TURNPIKE_PUNT_CLASSES(TURNPIKE_PUNT_ROW)
#undef TURNPIKE_PUNT_ROW
        {"drop_bogons", truth_type(), "Drops packets to the blocks of RFC 6890: doc/routing.md",
         access<&configuration::drops_special>()},
    {"interface_counters", truth_type(),
     "Counts packets of interfaces that share a port: doc/control.md",
     access<&configuration::interface_counters>()},
    {"latency.sample", number_type(0, 16'777'216, "packets"),
     "Measures the latency of one packet of so many, of each worker; 0: none: doc/measure.md",
     access<&configuration::latency_sample>()},
    {"resolve_via_default", truth_type(),
     "Default routes resolve gateways of recursive routes too: doc/routing.md",
     access<&configuration::default_resolves>()},
    {"ecmp.hash", word_type(hash_words), "Fields of a flow's hash: doc/routing.md",
     access<&configuration::sharing, &state::ecmp::hash>(), is_always_compared},
    {"ecmp.seed", number_type(0, UINT32_MAX),
     "Seed of the hash; without it, derived from the first port's MAC address",
     access<&configuration::sharing, &state::ecmp::seed>()},
    {"ecmp.vxlan_ports",
     number_list_type("a UDP port", "UDP ports", 1, UINT16_MAX, packet::max_vxlan_ports),
     "UDP ports of VXLAN for the hash inner",
     access<member<&configuration::sharing, &state::ecmp::vxlan_ports>, read_udp_ports>()},
    {"ecmp.use_neigh", word_type(state::use_neigh_names),
     "Address families whose silent gateways ECMP leaves out",
     access<&configuration::sharing, &state::ecmp::use_neigh>()},
    {"neighbours.max_entries", number_type(8, 1u << 20), "Maximum number of neighbour entries",
     access<&configuration::limits, &neighbour_limits::limit>(), is_always_compared},
    {"neighbours.queue_len", number_type(0, 64, "packets"),
     "Maximum number of packets that wait for a neighbour",
     access<&configuration::limits, &neighbour_limits::queue_len>(), is_always_compared},
    {"neighbours.rate", number_type(1, max_rate, "per second"),
     "Maximum rate of unsolicited messages on an interface",
     access<&configuration::limits, &neighbour_limits::rate>(), is_always_compared},
    {"neighbours.solicit_rate", number_type(1, 1'000'000, "per second"),
     "Maximum rate of multicast solicitations on an interface",
     access<&configuration::limits, &neighbour_limits::solicit_rate>(), is_always_compared},
    {"neighbours.reachable_ms", number_type(10, day_ms, "ms"), "REACHABLE_TIME of RFC 4861",
     access<&configuration::limits, &neighbour_limits::reachable_ms>(), is_always_compared},
    {"neighbours.retransmit_ms", number_type(10, 60'000, "ms"), "RETRANS_TIMER of RFC 4861",
     access<&configuration::limits, &neighbour_limits::retransmit_ms>(), is_always_compared},
    {"neighbours.attempts", number_type(1, 100),
     "MAX_UNICAST_SOLICIT and MAX_MULTICAST_SOLICIT of RFC 4861",
     access<&configuration::limits, &neighbour_limits::attempts>(), is_always_compared},
    {"neighbours.negative_ms", number_type(10, day_ms, "ms"),
     "Lifetime of an unused entry of a silent neighbour",
     access<&configuration::limits, &neighbour_limits::negative_ms>(), is_always_compared},
    {"neighbours.gc_stale_ms", number_type(10, day_ms, "ms"), "Lifetime of an unused stale entry",
     access<&configuration::limits, &neighbour_limits::gc_stale_ms>(), is_always_compared},
};

}  // namespace

std::span<const field<configuration>> settings_fields() noexcept { return settings_rows; }

key_list settings_keys() {
    key_list out;
    out.add(process_fields(), of_process)
        .add(settings_fields(), of_settings)
        .add("neighbours.static");
    return out;
}

void read_settings(const reader& from, configuration& into) {
    read_fields(from, process_fields(), of_process, into, into);
    read_fields(from, settings_fields(), of_settings, into, into);
    if (const auto size = find_field(from, "mempool.buffer_size"))
        into.fixed.pool.where.text = size->where();
    if (from.has("workers")) into.workers_where.text = from.at("workers").where();
    if (from.has("control_plane")) into.control_plane.where.text = from.at("control_plane").where();
    if (from.has("sflow")) into.sflow.where.text = from.at("sflow").where();
    if (from.has("metrics")) into.metrics.where.text = from.at("metrics").where();
}

}  // namespace turnpike::sources
