// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/reader.hpp"
#include "config/yaml_file.hpp"
#include "sources/yaml_acl.hpp"
#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

using config::complaint;
using config::reader;
using state::desired;

constexpr unsigned max_lcore = 1023;
constexpr size_t max_ports = 32;  // RTE_MAX_ETHPORTS

state::eal read_eal(const reader& from) {
    from.expect_map({"args", "hugepages"});
    state::eal out;
    if (from.has("args")) {
        auto args = split_arguments(from.at("args").text());
        if (!args) from.at("args").refuse(args.error().text);
        out.args = std::move(*args);
        if (std::find(out.args.begin(), out.args.end(), "--") != out.args.end())
            from.at("args").refuse("holds '--': only EAL options belong here");
    }
    if (from.has("hugepages"))
        out.hugepages_optional = from.at("hugepages").word({"required", "optional"}) == 1;
    return out;
}

std::vector<unsigned> read_workers(const reader& from) {
    std::vector<unsigned> out;
    for (const reader& element : from.list("lcores")) {
        const auto lcore = static_cast<unsigned>(element.number(0, max_lcore));
        if (std::find(out.begin(), out.end(), lcore) != out.end())
            element.refuse(fmt::format("names lcore {} again", lcore));
        out.push_back(lcore);
    }
    if (out.empty()) from.refuse("is empty; leave the key out to use all lcores but the main one");
    return out;
}

state::mempool read_mempool(const reader& from) {
    from.expect_map({"buffers", "buffer_size", "ops"});
    state::mempool out;
    out.buffers = from.number_or("buffers", out.buffers, 512, 1u << 27);
    out.buffer_size = from.number_or("buffer_size", out.buffer_size, 128 + 64, 65535);
    if (from.has("ops")) {
        out.ops = from.at("ops").text();
        if (out.ops.empty() || out.ops.size() > 31)
            from.at("ops").refuse(
                "should be a mempool handler's name, like cache_aware or ring_mp_mc");
    }
    return out;
}

state::control_socket read_control(const reader& from) {
    from.expect_map({"socket", "group"});
    state::control_socket out;
    if (from.has("socket")) {
        out.path = from.at("socket").text();
        if (!out.path.starts_with('/') || out.path.ends_with('/') || out.path.size() > 107)
            from.at("socket").refuse(
                "should be a whole path, from / on, of at most 107 characters");
    }
    if (from.has("group")) out.group = from.at("group").text();
    return out;
}

state::tx read_tx(const reader& from) {
    from.expect_map({"drain_us"});
    state::tx out;
    out.drain_us = from.number_or("drain_us", out.drain_us, 0, 1'000'000);
    return out;
}

state::pcie read_pcie(const reader& from) {
    from.expect_map({"profile", "link", "mps", "mrrs"});
    state::pcie out;
    if (from.has("profile")) out.profile = from.at("profile").text();
    if (from.has("link")) out.link = from.at("link").text();
    out.mps = from.number_or("mps", out.mps, 128, 4096);
    out.mrrs = from.number_or("mrrs", out.mrrs, 128, 4096);
    return out;
}

/// A device called in one way only: "0000:3b:00.0" for "3b:00.0" and "3B:0.0", with its arguments.
std::string one_spelling(const std::string& device) {
    const std::string name = device.substr(0, device.find(','));
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    int used = 0;
    const auto whole = [&](int fields, int wanted) {
        return fields == wanted && static_cast<size_t>(used) == name.size();
    };
    if (!whole(std::sscanf(name.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &used),
               4)) {
        domain = 0;
        if (!whole(std::sscanf(name.c_str(), "%x:%x.%x%n", &bus, &slot, &function, &used), 3))
            return device;
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}{}", domain, bus, slot, function,
                       device.substr(name.size()));
}

/// A port, and the interface of its untagged frames.
void read_port(desired& into, const reader& from) {
    from.expect_map(
        {"name", "device", "mtu", "rx_queues", "descriptors", "addresses", "pcie", "acl"});
    state::port port;
    state::interface on_it;
    const std::string name = from.at("name").name();
    port.device = from.at("device").text();
    if (port.device.size() > 512) from.at("device").refuse("is longer than 512 characters");
    port.device = one_spelling(port.device);
    port.mtu = from.number_or("mtu", port.mtu, 68, 65535 - 18);
    port.rx_queues = from.number_or("rx_queues", port.rx_queues, 1, 1024);
    port.descriptors = from.number_or("descriptors", port.descriptors, 32, 32768);
    if (from.has("pcie")) port.bill = read_pcie(from.at("pcie"));
    if (from.has("addresses")) on_it.addresses = read_addresses(from.at("addresses"));
    if (from.has("acl")) read_bindings(into, from.at("acl"), on_it);
    if (port.mtu < 1280 && std::any_of(on_it.addresses.begin(), on_it.addresses.end(),
                                       [](const ip_prefix& p) { return p.address.v6; }))
        from.at("mtu").refuse("should be at least 1280 on a port with IPv6 (RFC 8200 section 5)");
    on_it.port = name;
    port.where.text = on_it.where.text = from.where();
    if (!into.ports.add(name, std::move(port)))
        from.at("name").refuse(fmt::format("is '{}' again; each port has its own", name));
    into.interfaces.add(name, std::move(on_it));
}

void read_ports(desired& into, const reader& from) {
    std::set<std::string, std::less<>> devices;
    for (const reader& element : from.list("ports")) {
        if (into.ports.size() == max_ports)
            element.refuse(fmt::format("is one more than {}", max_ports));
        read_port(into, element);
        const std::string device =
            state::device_name(into.ports.at(element.at("name").text()).device);
        if (!devices.insert(device).second)
            element.at("device").refuse(
                fmt::format("is '{}' again; each port has its own", device));
    }
    if (into.ports.empty()) from.refuse("is empty; there is nothing to forward");
}

void read_patches(const reader& from, desired& into) {
    for (const reader& element : from.list("pairs of ports")) {
        const auto ends = element.list("two ports");
        if (ends.size() != 2) element.refuse("should name two ports");
        std::string name[2];
        for (size_t i = 0; i < 2; ++i) {
            name[i] = ends[i].text();
            const state::interface* at = into.interfaces.find(name[i]);
            if (at == nullptr)
                ends[i].refuse(
                    fmt::format("names '{}', which is not a port", name[i].substr(0, 80)));
            if (!at->peer.empty() || (i == 1 && name[0] == name[1]))
                ends[i].refuse(fmt::format("uses '{}' again; a port has one patch", name[i]));
        }
        const uint16_t mtu[2] = {into.ports.at(name[0]).mtu, into.ports.at(name[1]).mtu};
        if (mtu[0] != mtu[1])
            element.refuse(fmt::format(
                "joins '{}' (mtu {}) and '{}' (mtu {}): longer frames of one side would "
                "be lost on the other; give both the same mtu",
                name[0], mtu[0], name[1], mtu[1]));
        for (size_t i = 0; i < 2; ++i) {
            state::interface& end = *into.interfaces.find(name[i]);
            end.kind = state::interface_kind::patched;
            end.peer = name[1 - i];
        }
    }
}

/// Every port has one thing to do, and no address is anywhere twice.
void check_interfaces(const desired& in) {
    std::map<ip_address, std::string> owners;
    for (const auto& [name, i] : in.interfaces) {
        const auto refuse = [&, port = &name](const std::string& text) {
            throw complaint{error{EINVAL, in.interfaces.at(*port).where.text,
                                  fmt::format("port '{}' {}", *port, text)}};
        };
        const bool patched = i.kind == state::interface_kind::patched;
        if (!patched && i.addresses.empty())
            refuse("has no addresses and is in no patch: nothing could be done with its packets");
        if (patched && !i.addresses.empty())
            refuse("has addresses and is in a patch: it can route or be patched, not both");
        for (const ip_prefix& a : i.addresses)
            if (const auto [there, fresh] = owners.emplace(a.address, name); !fresh)
                refuse(fmt::format("has {}, which port '{}' has already", a.address.text(),
                                   there->second));
    }
    check_networks(in);
}

/// Buffers must hold what turnpike itself makes, and what drivers ask of theirs.
void check_buffer_size(const reader& from, const desired& in) {
    constexpr uint32_t headroom = 128, ethernet = 14;
    uint32_t least = 0;
    std::string why;
    const auto need = [&](uint32_t bytes, const std::string& what) {
        if (bytes <= least) return;
        least = bytes;
        why = what;
    };
    for (const auto& [name, p] : in.ports)
        if (p.device.starts_with("net_xsk"))
            need(256, "net_xsk (port '" + name + "') takes no less");
    for (const auto& [name, i] : in.interfaces)
        for (const ip_prefix& a : i.addresses)
            need(headroom + ethernet + (a.address.v6 ? 1280 : 576),
                 fmt::format("headroom and the ICMP errors of port '{}' take so many", name));
    if (in.fixed.pool.buffer_size < least)
        from.refuse(fmt::format("is {}; it should be at least {}: {}", in.fixed.pool.buffer_size,
                                least, why));
}

desired read_all(const reader& from, const std::string& name) {
    from.expect_map({"eal", "workers", "mempool", "tx", "pcie_profiles", "acl", "ports", "patches",
                     "routes", "icmp", "neighbours", "control"});
    desired out;
    out.file = name;
    if (from.has("eal")) out.fixed.eal_options = read_eal(from.at("eal"));
    if (from.has("workers")) out.fixed.workers = read_workers(from.at("workers"));
    if (from.has("mempool")) out.fixed.pool = read_mempool(from.at("mempool"));
    if (from.has("control")) out.fixed.control = read_control(from.at("control"));
    if (from.has("tx")) out.sending = read_tx(from.at("tx"));
    if (from.has("pcie_profiles"))  // from the configuration's folder, as a list's file is
        out.fixed.pcie_profiles =
            (std::filesystem::path(name).parent_path() / from.at("pcie_profiles").text()).string();
    if (from.has("acl")) read_lists(from.at("acl"), out);
    read_ports(out, from.at("ports"));
    if (from.has("patches")) read_patches(from.at("patches"), out);
    check_interfaces(out);
    if (from.has("mempool") && from.at("mempool").has("buffer_size"))
        check_buffer_size(from.at("mempool").at("buffer_size"), out);
    if (from.has("routes")) read_routes(from.at("routes"), out);
    if (from.has("icmp")) out.messages = read_icmp(from.at("icmp"));
    if (from.has("neighbours")) read_neighbours(from.at("neighbours"), out);
    return out;
}

}  // namespace

result<desired> load_text(std::string_view text, const std::string& name) {
    const auto root = config::parse_yaml(text, name);
    if (!root) return tl::unexpected<error>(root.error());
    try {
        return read_all(reader(*root), name);
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

result<desired> load(const std::filesystem::path& path) {
    const auto text = config::read_file(path);
    if (!text) return tl::unexpected<error>(text.error());
    return load_text(*text, path.string());
}

result<std::vector<std::string>> split_arguments(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (const char c : line) {
        if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            inside = true;
        } else if (c == ' ' || c == '\t' || c == '\n') {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != 0)
        return fail(EINVAL, "", fmt::format("has a quote ({}) that is not closed", quote));
    if (inside) words.push_back(std::move(word));
    return words;
}

}  // namespace turnpike::sources
