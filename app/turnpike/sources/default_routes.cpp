// SPDX-License-Identifier: BSD-3-Clause
#include "sources/default_routes.hpp"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "base/hardware.hpp"
#include "base/ifindex.hpp"
#include "netlink/link_socket.hpp"
#include "netlink/parse.hpp"
#include "state/default_route.hpp"
#include "state/pci_device.hpp"

namespace turnpike::sources {
namespace {

constexpr int answer_ms = 5000;
constexpr int max_dumps = 3;  ///< of one kind, where changes make the kernel's answer inconsistent
constexpr uint32_t loopback = 1;

/// The tables that the rules of a family look up.
struct looked_up {
    std::set<uint32_t> tables{};
    bool all = false;

    looked_up(std::span<const netlink::rule> rules, bool v6) {
        bool any = false;
        for (const netlink::rule& r : rules) {
            if (r.v6 != v6) continue;
            any = true;
            if (r.l3mdev) all = true;
            if (r.action == FR_ACT_TO_TBL) tables.insert(r.table);
        }
        if (!any) tables = {RT_TABLE_MAIN, RT_TABLE_DEFAULT};
    }
    [[nodiscard]] bool has(uint32_t table) const { return all || tables.contains(table); }
};

/// Calls a function for each interface of a nexthop object.
void for_each_interface(uint32_t id, std::span<const netlink::next_hop> all,
                        const std::function<void(uint32_t)>& act) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& h) { return h.id == id; });
    if (found == all.end()) return;
    if (found->path.interface != 0) act(found->path.interface);
    for (const auto& member : found->group)  // the members of a group are single next hops
        for (const netlink::next_hop& h : all)
            if (h.id == member.id && h.path.interface != 0) act(h.path.interface);
}

struct dump_end {
    int code = 0;
    bool consistent = true;
};

/// One dump.
result<dump_end> read_dump(netlink::link_socket& with, uint16_t type, uint8_t family,
                           uint32_t interface, const std::function<void(netlink::content&&)>& add) {
    const auto sequence = with.ask(type, family, 0, interface);
    if (!sequence) return tl::unexpected<error>(sequence.error());
    std::vector<uint8_t> buffer(netlink::link_socket::datagram_bytes);
    dump_end out;
    for (bool ended = false; !ended;) {
        pollfd ready{.fd = with.fd(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, answer_ms) == 0)
            return fail(ETIMEDOUT, "netlink", "the kernel does not answer a dump request");
        const auto got = with.receive(buffer);
        if (!got) return tl::unexpected<error>(got.error());
        netlink::parse(std::span(buffer).first(*got), [&](netlink::message&& m) {
            if (m.sequence != *sequence) return;
            out.consistent &= !m.interrupted;
            if (const auto* done = std::get_if<netlink::done>(&m.what)) {
                ended = true;
                out.code = done->code;
            } else {
                add(std::move(m.what));
            }
        });
    }
    return out;
}

/// All objects of a type. A kernel without this type has none.
template <class T>
result<std::vector<T>> read_objects(netlink::link_socket& with, uint16_t type, uint8_t family,
                                    uint32_t interface,
                                    const std::function<bool(const T&)>& wanted = {}) {
    for (int n = 1;; ++n) {
        std::vector<T> out;
        auto done = read_dump(with, type, family, interface, [&](netlink::content&& c) {
            if (T* one = std::get_if<T>(&c); one != nullptr && (!wanted || wanted(*one)))
                out.push_back(std::move(*one));
        });
        if (!done) return tl::unexpected<error>(done.error());
        const bool is_none = done->code == EOPNOTSUPP || done->code == EAFNOSUPPORT;
        if (done->code != 0 && !is_none)
            return fail(done->code, "netlink", "the kernel refuses a dump request");
        if (done->consistent || n == max_dumps) return out;
    }
}

bool is_default_route(const netlink::route& r) { return r.to.length == 0 && r.type == RTN_UNICAST; }

/// As default_route_conflict(), for an interface that the device takes.
std::string conflict_at(const std::string& device, std::string taken) {
    // sysfs has an interface's first name; a device may have an alternative one.
    std::array<char, IF_NAMESIZE> name{};
    if (::if_indextoname(ifindex_of(taken), name.data()) != nullptr) taken = name.data();
    for (const std::string& interface : with_upper_interfaces("/sys", taken)) {
        const uint32_t index = ifindex_of(interface);
        if (index == 0) continue;  // another network namespace has it
        const auto routes = read_default_routes(index);
        if (!routes)
            return fmt::format("it is unknown whether a default route leaves by {}: {}", interface,
                               routes.error().text);
        const auto found = routes->find(index);
        if (found == routes->end()) continue;
        return fmt::format(
            "device '{}' takes all packets of {}, by which a default route of this machine "
            "leaves{} "
            "(ip route show table {}): it would be cut off; use another interface, give net_xsk a "
            "`filter` (doc/xsk.md), or move the default route first (ip route replace default ...)",
            device_name_of(device), taken, interface == taken ? std::string() : ", as " + interface,
            found->second);
    }
    return {};
}

}  // namespace

std::map<uint32_t, uint32_t> interfaces_of_default_routes(
    std::span<const netlink::rule> rules, std::span<const netlink::route> routes,
    std::span<const netlink::next_hop> next_hops) {
    const looked_up v4(rules, false), v6(rules, true);
    std::map<uint32_t, uint32_t> out;
    for (const netlink::route& r : routes) {
        if (!is_default_route(r) || !(r.to.address.v6 ? v6 : v4).has(r.table)) continue;
        const auto add = [&](uint32_t interface) {
            if (interface != 0 && interface != loopback) out.emplace(interface, r.table);
        };
        for (const netlink::nexthop& h : r.nexthops) add(h.interface);
        if (r.nexthops.empty()) for_each_interface(r.next_hop, next_hops, add);
    }
    return out;
}

result<std::map<uint32_t, uint32_t>> read_default_routes(uint32_t only) {
    auto socket = netlink::link_socket::open({}, 0);
    if (!socket) return tl::unexpected<error>(socket.error());
    std::vector<netlink::rule> rules;
    std::vector<netlink::route> routes;
    for (const auto family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
        auto some_rules = read_objects<netlink::rule>(*socket, RTM_GETRULE, family, 0);
        if (!some_rules) return tl::unexpected<error>(some_rules.error());
        rules.insert(rules.end(), some_rules->begin(), some_rules->end());
        auto some =
            read_objects<netlink::route>(*socket, RTM_GETROUTE, family, only, is_default_route);
        if (!some) return tl::unexpected<error>(some.error());
        routes.insert(routes.end(), some->begin(), some->end());
    }
    auto next_hops = read_objects<netlink::next_hop>(*socket, RTM_GETNEXTHOP, AF_UNSPEC, 0);
    if (!next_hops) return tl::unexpected<error>(next_hops.error());
    return interfaces_of_default_routes(rules, routes, *next_hops);
}

std::set<std::string> with_upper_interfaces(const std::string& sysfs,
                                            const std::string& interface) {
    namespace fs = std::filesystem;
    constexpr std::string_view prefix = "upper_";
    std::set<std::string> out{interface};
    std::vector<std::string> unread{interface};
    while (!unread.empty()) {
        const fs::path folder = fs::path(sysfs) / "class/net" / unread.back();
        unread.pop_back();
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder, none)) {
            const std::string name = entry.path().filename();
            if (name.compare(0, prefix.size(), prefix) != 0) continue;
            if (const auto [upper, is_new] = out.insert(name.substr(prefix.size())); is_new)
                unread.push_back(*upper);
        }
    }
    return out;
}

namespace {

std::string line_of(const std::filesystem::path& file) {
    std::string out;
    std::getline(std::ifstream(file), out);
    return out;
}

/// Whether a device's arguments leave DPDK this interface of its PCI function: mana's mac=, mlx4's port=; and it is no
/// representor of a virtual function.
bool is_selected(const std::filesystem::path& interface, const std::string& device) {
    if (line_of(interface / "phys_port_name").find("pf") == 0) return false;
    if (const auto mac = device_argument(device, "mac"); !mac.empty())
        return line_of(interface / "address") == mac;
    const auto port = device_argument(device, "port");
    return port.empty() || line_of(interface / "dev_port") == port;
}

}  // namespace

std::set<std::string> interfaces_taken_by(const std::string& sysfs, const std::string& device) {
    namespace fs = std::filesystem;
    std::set<std::string> out;
    if (std::string taken = state::interface_taken_by(device); !taken.empty())
        out.insert(std::move(taken));
    for (const std::string& address : state::pci_addresses_of(device)) {
        const fs::path folder = fs::path(sysfs) / "bus/pci/devices" / address;
        std::error_code none;
        if (!state::is_bifurcated(fs::read_symlink(folder / "driver", none).filename().string()))
            continue;
        for (const auto& entry : fs::directory_iterator(folder / "net", none))
            if (is_selected(entry.path(), device)) out.insert(entry.path().filename());
    }
    return out;
}

std::string default_route_conflict(const std::string& device) {
    for (const std::string& taken : interfaces_taken_by("/sys", device))
        if (std::string why = conflict_at(device, taken); !why.empty()) return why;
    return {};
}

}  // namespace turnpike::sources
