// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.hpp"

#include <cmath>
#include <span>
#include <type_traits>

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

template <auto First, auto... Rest>
auto& member_of(device_arguments& a) {
    return ((a.*First).*....*Rest);
}
/// A number within limits, and another value, for a member.
template <auto Least, auto Most, auto... Path>
bool number_into(std::string_view text, device_arguments& a) {
    auto& into = member_of<Path...>(a);
    return read_number<std::remove_reference_t<decltype(into)>>(text, Least, Most, into);
}
template <auto Read, auto... Path>
bool value_into(std::string_view text, device_arguments& a) {
    return Read(text, member_of<Path...>(a));
}

constexpr argument table[] = {
    {"profile", {}, any_wire, nullptr},
    {"pcie", "a link such as gen3x8", any_wire,
     [](std::string_view v, device_arguments& a) {
         const auto link = pcie::parse_link(v);
         if (!link) return false;
         a.link.gen = link->gen;
         a.link.lanes = link->lanes;
         return true;
     }},
    {"mps", "a power of two from 128 to 4096", any_wire,
     value_into<read_power_of_two, &device_arguments::link, &pcie::link::mps>},
    {"mrrs", "a power of two from 128 to 4096", any_wire,
     value_into<read_power_of_two, &device_arguments::link, &pcie::link::mrrs>},
    {"engine", "inline or thread", any_wire,
     [](std::string_view v, device_arguments& a) {
         a.threaded = v == "thread";
         return v == "inline" || v == "thread";
     }},
    {"engine_cpu", "the number of a CPU, 0 to 1023", any_wire,
     number_into<0, 1023, &device_arguments::engine_cpu>},
    {"memory", "warm or cold", any_wire,
     [](std::string_view v, device_arguments& a) {
         a.cold = v == "cold";
         return v == "cold" || v == "warm";
     }},
    {"link", "0 (unpaced), 10, 25, 40 or 100 (Gb/s)", any_wire, read_link},
    {"queues", "1 to 16", any_wire, number_into<1, 16, &device_arguments::queues>},
    {"mac", "a unicast MAC address such as 02:00:00:00:00:01", any_wire,
     [](std::string_view v, device_arguments& a) {
         return read_mac(v, a.mac) && !a.mac.is_group() && !a.mac.is_zero();
     }},
    {"wire",
     "sink, gen, peer:NAME (another simnic), tap:NAME (an interface to create), pcap:FILE "
     "or record:FILE",
     any_wire, read_wire},
    {"size", "frame bytes with FCS: 64 to 9732, a range a-b, or imix", generator,
     value_into<read_size, &device_arguments::traffic>},
    {"l2flows", "1 to 16777216 flows by MAC addresses", generator,
     number_into<1, max_flows, &device_arguments::traffic, &traffic::l2_flows>},
    {"l2peers", "1 to 16777216 destinations of l2flows", generator,
     number_into<1, max_flows, &device_arguments::traffic, &traffic::l2_peers>},
    {"draw", "turn or zipf", generator,
     [](std::string_view v, device_arguments& a) {
         a.traffic.zipf = v == "zipf";
         return v == "turn" || v == "zipf";
     }},
    {"vlan", "a VLAN ID, 1 to 4094", generator,
     number_into<1, 4094, &device_arguments::traffic, &traffic::vlan>},
    {"l3flows", "1 to 16777216 flows by IP addresses", generator,
     number_into<1, max_flows, &device_arguments::traffic, &traffic::l3_flows>},
    {"ip", "4 or 6", generator,
     [](std::string_view v, device_arguments& a) {
         a.traffic.ipv6 = v == "6";
         return v == "4" || v == "6";
     }},
    {"dst_mac", "a MAC address such as 02:00:00:00:00:01", player,
     value_into<read_mac, &device_arguments::traffic, &traffic::dst_mac>},
    {"src", "the first flow's IPv4 source, such as 198.18.0.0", player,
     value_into<read_ipv4, &device_arguments::traffic, &traffic::src_ip>},
    {"dst", "the first flow's IPv4 destination, such as 198.19.0.0", player,
     value_into<read_ipv4, &device_arguments::traffic, &traffic::dst_ip>},
    {"rate", "packets per second up to 1000M, such as 500k or 1.5M; 0: unpaced", player,
     value_into<read_rate, &device_arguments::traffic, &traffic::rate_pps>},
    {"loss", "a share of the frames, 0 to 1", sender,
     value_into<read_share, &device_arguments::impaired, &impairments::loss>},
    {"duplicate", "a share of the frames, 0 to 1", sender,
     value_into<read_share, &device_arguments::impaired, &impairments::duplicate>},
    {"reorder", "a share of the frames, 0 to 1", sender,
     value_into<read_share, &device_arguments::impaired, &impairments::reorder>},
    {"corrupt", "a share of the frames, 0 to 1", sender,
     value_into<read_share, &device_arguments::impaired, &impairments::corrupt>},
    {"loss_every", "a number of frames, 2 to 1000000", sender,
     number_into<2, 1'000'000, &device_arguments::impaired, &impairments::loss_every>},
    {"loss_until", "a number of frames, 1 to 1000000000", sender,
     number_into<1, 1'000'000'000, &device_arguments::impaired, &impairments::loss_until>},
    {"outage", "a number of frames before it, and of lost frames, such as 5000-400", sender,
     [](std::string_view v, device_arguments& a) {
         return read_pair(v, 1'000'000'000, a.impaired.outage_after, a.impaired.outage);
     }},
    {"cap", "packets per second up to 1000M, such as 500k or 1.5M", sender,
     [](std::string_view v, device_arguments& a) {
         return read_rate(v, a.impaired.cap_pps) && a.impaired.cap_pps >= 1;
     }},
    {"buffer", "a number of frames, 1 to 3840", sender,
     number_into<1, impaired::max_buffer, &device_arguments::impaired, &impairments::buffer>},
    {"delay", "microseconds, 0 to 1000000", sender,
     number_into<0, 1'000'000, &device_arguments::impaired, &impairments::delay_us>},
    {"seed", "a number below 2^32", sender,
     number_into<0, UINT32_MAX, &device_arguments::impaired, &impairments::seed>},
    {"flap", "milliseconds up and down, by turns, such as 500-100", any_wire,
     [](std::string_view v, device_arguments& a) {
         return read_pair(v, 1'000'000, a.impaired.up_ms, a.impaired.down_ms);
     }},
    {"clock", "a frequency in Hz, 1000 to 1000000000", any_wire,
     number_into<1000, max_clock_hz, &device_arguments::clock, &timestamp_clock::hz>},
    {"clock_step", "milliseconds between steps, 1 to 1000000", any_wire,
     number_into<1, 1'000'000, &device_arguments::clock, &timestamp_clock::step_ms>},
    {"vanish", "milliseconds after the start, 1 to 1000000", any_wire,
     number_into<1, 1'000'000, &device_arguments::vanish_ms>},
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

/// Frames on the impaired wire's line, as far as the rate is known.
double frames_on_line(const device_arguments& a) {
    const impairments& i = a.impaired;
    const double rate = a.traffic.rate_pps, cap = i.cap_pps;
    const bool queues = cap > 0 && (rate == 0 || rate > cap);
    const double leaves = queues ? cap : rate;
    return (leaves * i.delay_us / 1e6 + (queues ? i.buffer : 0)) * (1 - i.loss + i.duplicate);
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
    if (i.delay_us != 0 && frames_on_line(out) > impaired::max_delayed)
        return fail(EINVAL, "delay",
                    "holds at most " + std::to_string(impaired::max_delayed) +
                        " frames (rate times delay, duplicates and a full buffer): these "
                        "would be " +
                        std::to_string(static_cast<uint64_t>(std::ceil(frames_on_line(out)))));
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
