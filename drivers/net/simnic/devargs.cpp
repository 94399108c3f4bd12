// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.hpp"

#include <array>
#include <span>

#include "argument_text.hpp"
#include "descriptor.hpp"

namespace turnpike::simnic {
namespace {

constexpr uint32_t longest_generated_bytes = max_frame_bytes + fcs_bytes;
constexpr uint32_t max_flows = 1u << 24;

bool read_size(std::string_view text, traffic& t) {
    if (text == "imix") {
        t.size = traffic::sizes::imix;
        return true;
    }
    const size_t dash = text.find('-');
    if (!read_number<uint32_t>(text.substr(0, dash), 64, longest_generated_bytes, t.smallest))
        return false;
    t.largest = t.smallest;
    return dash == std::string_view::npos ||
           read_number<uint32_t>(text.substr(dash + 1), t.smallest, longest_generated_bytes,
                                 t.largest);
}

bool read_link(std::string_view text, device_arguments& a) {
    for (const auto& [name, gbps] :
         {std::pair{"0", 0.0}, {"10", 10.0}, {"25", 25.0}, {"40", 40.0}, {"100", 100.0}})
        if (text == name) {
            a.link_gbps = gbps;
            return true;
        }
    return false;
}

struct wire_row {
    std::string_view kind;
    wire_kind is;
    bool named;
};
constexpr wire_row wires[] = {
    {"sink", wire_kind::sink, false}, {"gen", wire_kind::gen, false},
    {"peer", wire_kind::peer, true},  {"tap", wire_kind::tap, true},
    {"pcap", wire_kind::pcap, true},  {"record", wire_kind::record, true}};

bool read_wire(std::string_view text, device_arguments& a) {
    const size_t colon = text.find(':');
    const bool named = colon != std::string_view::npos;
    for (const wire_row& row : wires) {
        if (row.kind != text.substr(0, colon) || row.named != named) continue;
        a.wire = row.is;
        a.wire_name = named ? text.substr(colon + 1) : std::string_view{};
        return named != a.wire_name.empty();
    }
    return false;
}

bool read_power_of_two(std::string_view text, uint16_t& into) {
    uint16_t n = 0;
    if (!read_number<uint16_t>(text, 128, 4096, n) || (n & (n - 1)) != 0) return false;
    into = n;
    return true;
}

constexpr unsigned bit_of(wire_kind k) { return 1u << static_cast<unsigned>(k); }
constexpr unsigned any_wire = ~0u, generator = bit_of(wire_kind::gen),
                   player = generator | bit_of(wire_kind::pcap),
                   sender = player | bit_of(wire_kind::peer) | bit_of(wire_kind::tap);

std::string names_of(unsigned some) {
    std::string names;
    for (const wire_row& row : wires)
        if ((some & bit_of(row.is)) != 0)
            names += (names.empty() ? "wire=" : ", ") + std::string(row.kind);
    return names;
}

struct argument {
    std::string_view name;
    std::string_view takes;
    unsigned wires;  ///< bitmap of the wires that accept the argument
    bool (*read)(std::string_view, device_arguments&);
};

constexpr std::array table{
    argument{"profile", {}, any_wire, nullptr},
    argument{"pcie", "a link such as gen3x8", any_wire,
             [](std::string_view v, device_arguments& a) {
                 const auto link = pcie::parse_link(v);
                 if (!link) return false;
                 a.link.gen = link->gen;
                 a.link.lanes = link->lanes;
                 return true;
             }},
    argument{
        "mps", "a power of two from 128 to 4096", any_wire,
        [](std::string_view v, device_arguments& a) { return read_power_of_two(v, a.link.mps); }},
    argument{
        "mrrs", "a power of two from 128 to 4096", any_wire,
        [](std::string_view v, device_arguments& a) { return read_power_of_two(v, a.link.mrrs); }},
    argument{"engine", "inline or thread", any_wire,
             [](std::string_view v, device_arguments& a) {
                 a.threaded = v == "thread";
                 return v == "inline" || v == "thread";
             }},
    argument{"engine_cpu", "the number of a CPU, 0 to 1023", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_number(v, 0, 1023, a.engine_cpu);
             }},
    argument{"memory", "warm or cold", any_wire,
             [](std::string_view v, device_arguments& a) {
                 a.cold = v == "cold";
                 return v == "cold" || v == "warm";
             }},
    argument{"link", "0 (unpaced), 10, 25, 40 or 100 (Gb/s)", any_wire, read_link},
    argument{"queues", "1 to 16", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint16_t>(v, 1, 16, a.queues);
             }},
    argument{"mac", "a unicast MAC address such as 02:00:00:00:00:01", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_mac(v, a.mac) && !a.mac.is_group() && !a.mac.is_zero();
             }},
    argument{"wire",
             "sink, gen, peer:NAME (another simnic), tap:NAME (an interface to create), pcap:FILE "
             "or record:FILE",
             any_wire, read_wire},
    argument{"size", "frame bytes with FCS: 64 to 9732, a range a-b, or imix", generator,
             [](std::string_view v, device_arguments& a) { return read_size(v, a.traffic); }},
    argument{"l2flows", "1 to 16777216 flows by MAC addresses", generator,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, max_flows, a.traffic.l2_flows);
             }},
    argument{"l2peers", "1 to 16777216 destinations of l2flows", generator,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, max_flows, a.traffic.l2_peers);
             }},
    argument{"draw", "turn or zipf", generator,
             [](std::string_view v, device_arguments& a) {
                 a.traffic.zipf = v == "zipf";
                 return v == "turn" || v == "zipf";
             }},
    argument{"vlan", "a VLAN ID, 1 to 4094", generator,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint16_t>(v, 1, 4094, a.traffic.vlan);
             }},
    argument{"l3flows", "1 to 16777216 flows by IP addresses", generator,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, max_flows, a.traffic.l3_flows);
             }},
    argument{"ip", "4 or 6", generator,
             [](std::string_view v, device_arguments& a) {
                 a.traffic.ipv6 = v == "6";
                 return v == "4" || v == "6";
             }},
    argument{
        "dst_mac", "a MAC address such as 02:00:00:00:00:01", player,
        [](std::string_view v, device_arguments& a) { return read_mac(v, a.traffic.dst_mac); }},
    argument{
        "src", "the first flow's IPv4 source, such as 198.18.0.0", player,
        [](std::string_view v, device_arguments& a) { return read_ipv4(v, a.traffic.src_ip); }},
    argument{
        "dst", "the first flow's IPv4 destination, such as 198.19.0.0", player,
        [](std::string_view v, device_arguments& a) { return read_ipv4(v, a.traffic.dst_ip); }},
    argument{
        "rate", "packets per second up to 1000M, such as 500k or 1.5M; 0: unpaced", player,
        [](std::string_view v, device_arguments& a) { return read_rate(v, a.traffic.rate_pps); }},
    argument{
        "loss", "a share of the frames, 0 to 1", sender,
        [](std::string_view v, device_arguments& a) { return read_share(v, a.impaired.loss); }},
    argument{"duplicate", "a share of the frames, 0 to 1", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_share(v, a.impaired.duplicate);
             }},
    argument{
        "reorder", "a share of the frames, 0 to 1", sender,
        [](std::string_view v, device_arguments& a) { return read_share(v, a.impaired.reorder); }},
    argument{
        "corrupt", "a share of the frames, 0 to 1", sender,
        [](std::string_view v, device_arguments& a) { return read_share(v, a.impaired.corrupt); }},
    argument{"loss_every", "a number of frames, 2 to 1000000", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 2, 1'000'000, a.impaired.loss_every);
             }},
    argument{"loss_until", "a number of frames, 1 to 1000000000", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, 1'000'000'000, a.impaired.loss_until);
             }},
    argument{"outage", "a number of frames before it, and of lost frames, such as 5000-400", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_pair(v, 1'000'000'000, a.impaired.outage_after, a.impaired.outage);
             }},
    argument{"cap", "packets per second up to 1000M, such as 500k or 1.5M", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_rate(v, a.impaired.cap_pps) && a.impaired.cap_pps >= 1;
             }},
    argument{"buffer", "a number of frames, 1 to 3840", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, impaired::max_buffer, a.impaired.buffer);
             }},
    argument{"delay", "microseconds, 0 to 1000000", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 0, 1'000'000, a.impaired.delay_us);
             }},
    argument{"seed", "a number below 2^32", sender,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 0, UINT32_MAX, a.impaired.seed);
             }},
    argument{"flap", "milliseconds up and down, by turns, such as 500-100", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_pair(v, 1'000'000, a.impaired.up_ms, a.impaired.down_ms);
             }},
    argument{"clock", "a frequency in Hz, 1000 to 1000000000", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint64_t>(v, 1000, max_clock_hz, a.clock.hz);
             }},
    argument{"clock_step", "milliseconds between steps, 1 to 1000000", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, 1'000'000, a.clock.step_ms);
             }},
    argument{"vanish", "milliseconds after the start, 1 to 1000000", any_wire,
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, 1'000'000, a.vanish_ms);
             }},
};

uint64_t bit_of(std::string_view key) {
    uint64_t bit = 1;
    for (const argument& a : table) {
        if (a.name == key) break;
        bit <<= 1;
    }
    return bit;
}

result<void> read_value(const argument& a, std::string_view value, device_arguments& out) {
    if (a.name == "profile") {  // lists the valid profiles itself
        auto policy = policy_of(value);
        if (!policy) return tl::unexpected<error>(policy.error());
        out.policy = *policy;
        return {};
    }
    if (a.read(value, out)) return {};
    return fail(EINVAL, std::string(a.name) + "=" + std::string(value),
                std::string(a.name) + " takes " + std::string(a.takes));
}

/// Check combinations of arguments.
result<void> check_whole(uint64_t given, const device_arguments& out) {
    const auto has = [given](std::string_view key) { return (given & bit_of(key)) != 0; };
    if (has("engine_cpu") && !out.threaded)
        return fail(EINVAL, "engine_cpu", "takes effect with engine=thread only");
    for (const argument& a : table)
        if ((a.wires & bit_of(out.wire)) == 0 && has(a.name))
            return fail(EINVAL, std::string(a.name), "is for " + names_of(a.wires) + " only");
    const impairments& i = out.impaired;
    if (i.loss + i.duplicate + i.reorder + i.corrupt > 1)
        return fail(EINVAL, "loss, duplicate, reorder, corrupt",
                    "are shares of all frames: together at most 1");
    if (has("buffer") && !has("cap"))
        return fail(EINVAL, "buffer", "needs cap, the rate at which frames leave it");
    if (has("loss_until") && !has("loss_every"))
        return fail(EINVAL, "loss_until", "needs loss_every, the losses that it ends");
    if (has("l2flows") && has("l3flows"))
        return fail(EINVAL, "l2flows", "excludes l3flows: flows differ by MAC or by IP addresses");
    if (has("l2peers") && !has("l2flows"))
        return fail(EINVAL, "l2peers", "needs l2flows, whose destinations it counts");
    if (largest_generated_bytes(out.traffic) > longest_generated_bytes)
        return fail(EINVAL, "vlan", "makes frames of that size longer than 9732 bytes");
    if (out.traffic.ipv6 && (has("src") || has("dst")))
        return fail(EINVAL, has("src") ? "src" : "dst",
                    "takes IPv4 addresses; with ip=6 the addresses are fixed");
    const uint32_t least = least_generated_bytes(out.traffic.ipv6);
    if (out.traffic.size == traffic::sizes::range && out.traffic.smallest < least &&
        out.wire == wire_kind::gen)
        return fail(EINVAL, "size=" + std::to_string(out.traffic.smallest),
                    "an IPv6 frame with its stamp has " + std::to_string(least) + " bytes or more");
    return {};
}

}  // namespace

result<device_arguments> parse_arguments(std::string_view text) {
    static const auto fallback = policy_of("ixgbe");
    if (!fallback) return tl::unexpected<error>(fallback.error());
    device_arguments out;
    out.policy = *fallback;
    const auto given = read_arguments(
        text, std::span(table),
        [&out](const argument& a, std::string_view value) { return read_value(a, value, out); });
    if (!given) return tl::unexpected<error>(given.error());
    if (auto good = check_whole(*given, out); !good) return tl::unexpected<error>(good.error());
    return out;
}

}  // namespace turnpike::simnic
