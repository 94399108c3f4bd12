// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_tunnels.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sources/fields.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::reader;

/// A unicast address that is not link-local.
ip_address read_end(const reader& from) {
    const ip_address a = from.taken(parse_address(from.text()));
    const bool nobodys = a.v6 ? a == ip_address{.v6 = true} : a.v4() == 0 || a.v4() == 0xffff'ffff;
    if (a.is_multicast() || a.is_link_local() || nobodys)
        from.refuse(fmt::format("is {}; should be one host's, and not link-local", a.text()));
    return a;
}

/// A unicast address, or an any-source multicast group of more than link scope (RFC 5771, RFC 4607, RFC 4291
/// section 2.7).
ip_address read_remote(const reader& from, bool by_interface) {
    const ip_address a = from.taken(parse_address(from.text()));
    if (!a.is_multicast()) return read_end(from);
    const auto refuse = [&](std::string_view what) {
        from.refuse(fmt::format("is the group {}{}", a.text(), what));
    };
    if (a.v6) {
        const unsigned flags = a.bytes[1] >> 4, scope = a.bytes[1] & 0xf;
        if (scope < 3 || scope == 0xf)
            refuse("; its scope should be from ff03::/16 to ff0e::/16, more than one link's");
        if (flags == 3 && load_be<uint16_t>(&a.bytes[2]) == 0)
            refuse(", one of ff3x::/32, whose groups have one source; should be any source's");
    } else if (a.v4() >> 8 == 0xe0'00'00) {
        refuse("; should be none of 224.0.0.0/24, which are one link's");
    } else if (a.v4() >> 24 == 232) {
        refuse(", one of 232.0.0.0/8, whose groups have one source; should be any source's");
    }
    if (!by_interface)
        refuse(", which needs the key 'interface': the port, VLAN or bridge that it is reached by");
    return a;
}

}  // namespace

void read_tunnel(const reader& from, configuration& into, bool replace) {
    constexpr uint64_t least_mtu = 68, max_mtu = 65'000;
    constexpr uint16_t usual_mtu = 1500;
    key_list()
        .add(interface_fields(), of_tunnel)
        .expect(from, {"name", "vni", "local", "remote", "interface", "udp_port", "vrf", "mtu",
                       "ttl", "dscp", "dont_fragment", "checksum", "ignore_reserved"});
    state::tunnel t;
    const std::string name = from.at("name").name();
    t.where.text = from.where();
    t.vni = static_cast<uint32_t>(from.at("vni").number(1, state::last_vni));
    t.local = read_end(from.at("local"));
    t.remote = read_remote(from.at("remote"), from.has("interface"));
    if (from.has("interface")) {
        t.interface = from.at("interface").text();
        if (!t.to_group())
            from.at("interface")
                .refuse(fmt::format("is how a group is reached; 'remote' is {}, one host, whose "
                                    "packets go by the routes",
                                    t.remote.text()));
    }
    t.udp_port = from.number_or("udp_port", t.udp_port, 1, 65'535);
    if (from.has("vrf")) t.vrf = read_vrf_of(from.at("vrf"));
    t.mtu =
        from.number_or("mtu", static_cast<uint16_t>(usual_mtu - t.overhead()), least_mtu, max_mtu);
    // At most 254: stage ip_forward decrements it (datapath/stages/vxlan_output.cpp).
    t.ttl = from.number_or("ttl", t.ttl, 1, 254);
    if (from.has("dscp")) {
        if (from.at("dscp").text() == "inherit")
            t.dscp.reset();
        else
            t.dscp = static_cast<uint8_t>(from.at("dscp").number(0, 63));
    }
    t.checksum = t.local.v6;
    const auto truth = [&](std::string_view key, bool& of) {
        if (from.has(key)) of = from.at(key).truth();
    };
    truth("checksum", t.checksum);
    truth("ignore_reserved", t.ignore_reserved);
    truth("dont_fragment", t.dont_fragment);
    if (t.local.v6 && from.has("dont_fragment"))
        from.at("dont_fragment").refuse("has no meaning over IPv6: routers do not fragment there");
    if (state::tunnel* const there = into.tunnels.find(name); there != nullptr && replace) {
        *there = std::move(t);
        read_fields(from, interface_fields(), of_tunnel, into, *into.interfaces.find(name));
        return;
    }
    state::interface on_it;
    on_it.port = name;
    on_it.where = t.where;
    read_fields(from, interface_fields(), of_tunnel, into, on_it);
    const bool taken = into.ports.find(name) != nullptr || into.bridges.find(name) != nullptr ||
                       !into.interfaces.add(name, std::move(on_it));
    if (taken)
        from.at("name").refuse(
            fmt::format("is '{}', which something else is called already", name));
    into.tunnels.add(name, std::move(t));
}

void add_tunnel(std::string& to, const std::string& name, const state::tunnel& t) {
    const auto add = [&]<class... T>(fmt::format_string<T...> text, T&&... values) {
        fmt::format_to(std::back_inserter(to), text, std::forward<T>(values)...);
    };
    add("  - name: {}\n    vni: {}\n    local: {}\n    remote: {}\n", quoted(name), t.vni,
        quoted(t.local.text()), quoted(t.remote.text()));
    if (t.to_group()) add("    interface: {}\n", quoted(t.interface));
    if (!t.vrf.empty()) add("    vrf: {}\n", quoted(t.vrf));
    add("    udp_port: {}\n    mtu: {}\n    ttl: {}\n", t.udp_port, t.mtu, t.ttl);
    add("    dscp: {}\n", t.dscp ? std::to_string(*t.dscp) : std::string("inherit"));
    if (!t.local.v6) add("    dont_fragment: {}\n", t.dont_fragment);
    add("    checksum: {}\n    ignore_reserved: {}\n", t.checksum, t.ignore_reserved);
}

}  // namespace turnpike::sources
