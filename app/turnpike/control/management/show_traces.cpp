// SPDX-License-Identifier: BSD-3-Clause
// Trace requests and their display.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "control/forwarding/traces.hpp"
#include "control/management/show.hpp"
#include "control/management/trace_json.hpp"

namespace turnpike::control {
namespace {

using datapath::packet_trace, datapath::trace_step, datapath::stage;
using nlohmann::json;

constexpr uint64_t max_traced = 1000;

std::string hex(std::span<const uint8_t> bytes) {
    std::string out;
    for (const uint8_t b : bytes) out += fmt::format("{:02x}", b);
    return out;
}

/// Index of a port.
uint16_t index_of_port(controller& c, const request_fields& f) {
    const std::string name = f.text("port");
    for (const auto& p : c.ports().open())
        if (p->name == name) return p->port_index;
    throw error{ENOENT, "port", "names '" + name.substr(0, 80) + "', which is not a port"};
}
std::string name_of_port(controller& c, uint16_t port_index) {
    for (const auto& p : c.ports().open())
        if (p->port_index == port_index) return p->name;
    return {};  // the port was removed
}

/// VLAN tags from the outermost on, and the Ethertype behind them.
void add_tags(json& out, std::span<const uint8_t> frame) {
    const auto hexadecimal = [](uint16_t type) { return fmt::format("0x{:04x}", type); };
    auto type = uint16_t{packet::header_at<packet::ethernet_header>(frame.data()).type};
    out["ethertype"] = hexadecimal(type);
    json tags = json::array();
    for (size_t at = packet::ethernet_bytes;
         packet::is_vlan_type(type) && at + sizeof(packet::vlan_tag) <= frame.size();
         at += sizeof(packet::vlan_tag)) {
        const auto& tag = packet::header_at<packet::vlan_tag>(&frame[at]);
        tags.push_back({{"vlan", tag.tci & packet::vlan_id_mask},
                        {"priority", tag.tci >> 13},
                        {"type", hexadecimal(type)}});
        type = tag.type;
    }
    if (tags.empty()) return;
    out["tags"] = std::move(tags);
    out["inner_ethertype"] = hexadecimal(type);
}

void add_headers(controller& c, json& out, std::span<const uint8_t> bytes);

/// The VNI and the inner frame of a packet to a port of VXLAN (RFC 7348): 4789, or the port of a tunnel.
void add_vxlan(controller& c, json& out, std::span<const uint8_t> udp) {
    const uint16_t port = load_be<uint16_t>(udp.data() + sizeof(uint16_t));
    const auto& tunnels = c.running().tunnels;
    if (port != packet::vxlan_port &&
        std::none_of(tunnels.begin(), tunnels.end(),
                     [&](const auto& t) { return t.second.udp_port == port; }))
        return;
    constexpr size_t headers = sizeof(packet::udp_header) + sizeof(packet::vxlan_header);
    if (udp.size() < headers) return;
    const auto& vxlan =
        packet::header_at<packet::vxlan_header>(udp.data() + sizeof(packet::udp_header));
    if ((vxlan.flags & packet::vxlan_has_vni) == 0) return;
    out["vni"] = vxlan.vni >> 8;
    json inner = json::object();
    add_headers(c, inner, udp.subspan(headers));
    if (!inner.empty()) out["inner"] = std::move(inner);
}

void add_headers(controller& c, json& out, std::span<const uint8_t> bytes) {
    if (bytes.size() < packet::ethernet_bytes) return;
    const auto& ethernet = packet::header_at<packet::ethernet_header>(bytes.data());
    out["destination_mac"] = ethernet.destination.text();
    out["source_mac"] = ethernet.source.text();
    add_tags(out, bytes);
    const auto ip = datapath::ip_ends_of(bytes);
    if (!ip) return;
    out["source"] = ip->source.text();
    out["destination"] = ip->destination.text();
    out["protocol"] = ip->protocol;
    const bool has_ports =
        ip->protocol == packet::protocol_tcp || ip->protocol == packet::protocol_udp;
    if (!has_ports || ip->rest.size() < sizeof(packet::udp_header)) return;
    out["source_port"] = load_be<uint16_t>(ip->rest.data());
    out["destination_port"] = load_be<uint16_t>(ip->rest.data() + sizeof(uint16_t));
    if (ip->protocol == packet::protocol_udp) add_vxlan(c, out, ip->rest);
}

/// The headers of a frame, and its first bytes.
json lead_json(controller& c, const packet_trace::lead& lead) {
    json out = {{"bytes", lead.frame_bytes}, {"lead", hex(lead.span())}};
    add_headers(c, out, lead.span());
    return out;
}

/// A step, with current names and next hops.
json step_json(controller& c, const trace_step& s) {
    json out = {{"stage", datapath::stage_table[static_cast<size_t>(s.ran)].name}};
    if (s.pass != 1) out["pass"] = s.pass;
    if (s.copy != 0) out["copy"] = s.copy;
    if (s.packets != 1) out["packets"] = s.packets;
    if (s.ran == stage::iface_input) out["interface"] = c.interfaces().name_of(s.in);
    if (s.ran == stage::bridge) {
        const auto [bridge, vlan] = c.bridges().name_of(s.domain);
        out["bridge"] = bridge;
        if (vlan != 0) out["vlan"] = vlan;
    }
    if (s.ran == stage::lookup) out["next_hop"] = nexthop_json(c, s.nexthop);
    if (s.out) out["egress"] = c.interfaces().name_of(s.out->interface);
    if (s.drop != datapath::drop_reason::none) {
        const datapath::drop_text& text = datapath::text_of(s.drop);
        out["reason"] = text.name;
        out["meaning"] = text.meaning;
        out["remedy"] = text.remedy;
    }
    if (s.ran == stage::punt) out["why"] = name(s.punt);
    return out;
}

}  // namespace

json trace_json(controller& c, const packet_trace& t) {
    json path = json::array();
    for (const trace_step& s : t.path()) path.push_back(step_json(c, s));
    return {{"port", name_of_port(c, t.port)},
            {"queue", t.queue},
            {"received", lead_json(c, t.received)},
            {"path", std::move(path)},
            {"truncated", t.truncated},
            {"sent", t.sent.frame_bytes == 0 ? json(nullptr) : lead_json(c, t.sent)}};
}

json start_trace(controller& c, const request_fields& f) {
    f.expect("packets port address dropped");
    datapath::trace_filter filter;
    filter.packets = static_cast<uint32_t>(f.number_or("packets", 10, 0, max_traced));
    if (f.has("port")) filter.port = index_of_port(c, f);
    if (f.has("address")) filter.address = parsed(parse_address(f.text("address")), "address");
    filter.dropped = f.truth_or("dropped", false);
    c.tracing().begin(filter);
    return {{"packets", filter.packets}};
}

json show_trace(controller& c, const request_fields& f) {
    constexpr uint64_t page = 32;  // traces of one or two kilobytes each
    const auto all = c.tracing().written();
    const uint64_t from = f.number_or("from", 0, 0, max_traced),
                   most = f.number_or("most", page, 1, page);
    const uint64_t end = std::min<uint64_t>(all.size(), from + most);
    json list = json::array();
    for (uint64_t i = from; i < end; ++i) {
        json one = trace_json(c, *all[i].trace);
        one["lcore"] = all[i].lcore;
        one["control"] = all[i].control;
        one["age_s"] = static_cast<double>(rte_rdtsc() - all[i].trace->tsc) /
                       static_cast<double>(rte_get_tsc_hz());
        list.push_back(std::move(one));
    }
    return {{"requested", c.tracing().requested()},
            {"written", all.size()},
            {"traces", std::move(list)},
            {"next", end < all.size() ? json(end) : json(nullptr)}};
}

}  // namespace turnpike::control
