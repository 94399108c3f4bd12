// SPDX-License-Identifier: BSD-3-Clause
// The kinds of values that commands take.
#include <algorithm>
#include <stdexcept>

#include "base/arguments.hpp"
#include "commands.hpp"

namespace turnpike::ctl {
namespace {

const char* no_seconds(const std::string& text) {
    const size_t point = std::min(text.find('.'), text.size());
    uint32_t whole = 0, rest = 0;
    const std::string fraction = point < text.size() ? text.substr(point + 1) : "0";
    const bool good = read_number<uint32_t>(text.substr(0, point), 0, 86400, whole) &&
                      fraction.size() <= 3 && read_number<uint32_t>(fraction, 0, 999, rest) &&
                      (whole != 0 || rest != 0);
    return good ? nullptr : "should be seconds, e.g. 2 or 0.5, up to 86400";
}

const char* no_number(const std::string& text) {
    uint32_t number = 0;
    return read_number<uint32_t>(text, 0, UINT32_MAX, number)
               ? nullptr
               : "should be a whole number, at most 4294967295";
}

constexpr value_kind kinds[] = {
    {"FILE", "a file's name", {}, {}, {}, true},
    {"PATH", "a file's name", {}, {}, {}, true},
    {"SECONDS", "seconds, e.g. 2 or 0.5", {}, {}, {}, false, no_seconds},
    {"ADDRESS", "an IPv4 or IPv6 address", "neighbours", "neighbours", "address"},
    {"PREFIX", "a prefix, e.g. 10.9.0.0/16, or an address", "routes", "routes", "to"},
    {"PORT", "a port's name", "ports", "ports", "name"},
    {"ORIGIN", "an origin of routes, e.g. configured, or a protocol, e.g. bgp", "route-summary",
     "summary", "origin"},
    {"LIST", "an access list's name", "acl", "acl", "list"},
    {"VRF", "a VRF's name; main: the main table", "vrfs", "vrfs", "name"},
    {"BRIDGE", "a bridge's name", "bridges", "bridges", "name"},
    {"TUNNEL", "a tunnel's name", "tunnels", "tunnels", "name"},
    {"MIRROR", "a mirror's name", "mirrors", "mirrors", "name"},
    {"NAMES", "names, separated by commas"},
    {"VLANS", "VLAN IDs and ranges, e.g. 10,20-29"},
    {"VLAN", "a VLAN ID, or untagged"},
    {"PAIRS", "VLAN IDs on the wire and in the bridge, e.g. 110:20,111:21"},
    {"CIDR", "an address with prefix length, e.g. 10.0.1.1/24"},
    {"CIDRS", "addresses with prefix length, separated by commas"},
    {"MAC", "a MAC address, e.g. 02:00:00:00:00:01"},
    {"MACS", "a MAC address, optionally with a mask: 02:00:00:00:00:00/ff:ff:ff:00:00:00"},
    {"TYPE", "an Ethertype, e.g. 0x88b5, or ipv4, arp, ipv6, lldp, llc"},
    {"DEVICE", "an EAL vdev with its arguments, or a PCI address"},
    {"NUMBER", "a whole number", {}, {}, {}, false, no_number},
    {"CAPTURED", "a port's name; any: all ports", "ports", "ports", "name"},
    {"DIRECTION", "in, out or both"},
    {"FILTER", "a filter as of tcpdump, e.g. \"udp port 53\" (pcap-filter(7))"},
    {"REASON", "a drop reason, e.g. no_route"},
    {"BYTES", "bytes, e.g. 65536, 64K, 100M or 1G"},
    {"NAME", "a name"},
    {"INTERFACE", "a port's or interface's name, e.g. west or west.10", "interfaces", "interfaces",
     "name"},
    {"PCAP", "FILE:N, frame N from 1 of a pcap or pcapng file", {}, {}, {}, true},
    {"FRAME", "a frame's bytes, two hexadecimal digits each"},
    {"RULE", "a rule's name or, if no rule has that name, its position from 1"},
    {"PROTOCOL", "tcp, udp, icmp..., or a number"},
    {"PORTS", "a port or a range, e.g. 80 or 1024-65535"},
    {"FLAGS", "TCP flags, e.g. \"+syn -ack\""},
    {"KEY", "a setting, e.g. tx.drain_us, or an object's key, e.g. mtu"},
    {"VALUE", "the new value"},
    {"TEXT", "a text of one line"},
    {"WORD", "a word"},
};

}  // namespace

std::span<const value_kind> value_kinds() noexcept { return kinds; }

const value_kind& kind_of(std::string_view name) {
    for (const value_kind& k : kinds)
        if (k.name == name) return k;
    throw std::logic_error("unknown kind of value in a usage");
}

}  // namespace turnpike::ctl
