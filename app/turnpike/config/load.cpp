// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "config/load_acl.hpp"
#include "config/load_routing.hpp"
#include "config/model.hpp"
#include "config/reader.hpp"
#include "config/yaml_file.hpp"

namespace turnpike::config {
namespace {

constexpr unsigned max_lcore = 1023;
constexpr size_t max_ports = 32;  // RTE_MAX_ETHPORTS

eal read_eal(const reader& from) {
    from.expect_map({"args", "hugepages"});
    eal out;
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

mempool read_mempool(const reader& from) {
    from.expect_map({"buffers", "buffer_size", "ops"});
    mempool out;
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

tx read_tx(const reader& from) {
    from.expect_map({"drain_us"});
    tx out;
    out.drain_us = from.number_or("drain_us", out.drain_us, 0, 1'000'000);
    return out;
}

config::pcie read_pcie(const reader& from) {
    from.expect_map({"profile", "link", "mps", "mrrs"});
    config::pcie out;
    if (from.has("profile")) out.profile = from.at("profile").text();
    if (from.has("link")) out.link = from.at("link").text();
    out.mps = from.number_or("mps", out.mps, 128, 4096);
    out.mrrs = from.number_or("mrrs", out.mrrs, 128, 4096);
    return out;
}

port read_port(const model& in, const reader& from) {
    from.expect_map(
        {"name", "device", "mtu", "rx_queues", "descriptors", "addresses", "pcie", "acl"});
    port out;
    out.name = from.at("name").name();
    out.device = from.at("device").text();
    if (out.device.size() > 512) from.at("device").refuse("is longer than 512 characters");
    out.mtu = from.number_or("mtu", out.mtu, 68, 65535 - 18);
    out.rx_queues = from.number_or("rx_queues", out.rx_queues, 1, 1024);
    out.descriptors = from.number_or("descriptors", out.descriptors, 32, 32768);
    if (from.has("pcie")) out.bill = read_pcie(from.at("pcie"));
    if (from.has("addresses")) out.addresses = read_addresses(from.at("addresses"));
    if (from.has("acl")) read_bindings(in, from.at("acl"), out);
    if (out.routed() && out.mtu < 1280 &&
        std::any_of(out.addresses.begin(), out.addresses.end(),
                    [](const ip_prefix& p) { return p.address.v6; }))
        from.at("mtu").refuse("should be at least 1280 on a port with IPv6 (RFC 8200 section 5)");
    out.where = from.where();
    return out;
}

/// The part of an EAL device string that names the device: "net_tap0" of "net_tap0,iface=x".
std::string_view device_name(std::string_view device) { return device.substr(0, device.find(',')); }

std::vector<port> read_ports(const model& in, const reader& from) {
    std::vector<port> out;
    std::set<std::string, std::less<>> names, devices;
    for (const reader& element : from.list("ports")) {
        if (out.size() == max_ports) element.refuse(fmt::format("is one more than {}", max_ports));
        port next = read_port(in, element);
        if (!names.insert(next.name).second)
            element.at("name").refuse(
                fmt::format("is '{}' again; each port has its own", next.name));
        if (!devices.insert(std::string(device_name(next.device))).second)
            element.at("device").refuse(
                fmt::format("is '{}' again; each port has its own", device_name(next.device)));
        out.push_back(std::move(next));
    }
    if (out.empty()) from.refuse("is empty; there is nothing to forward");
    return out;
}

void read_patches(const reader& from, model& into) {
    std::vector<bool> used(into.ports.size());
    for (const reader& element : from.list("pairs of ports")) {
        const auto ends = element.list("two ports");
        if (ends.size() != 2) element.refuse("should name two ports");
        uint16_t index[2];
        for (size_t i = 0; i < 2; ++i) {
            index[i] = port_index(into, ends[i]);
            if (used[index[i]])
                ends[i].refuse(fmt::format("uses '{}' again; a port has one patch",
                                           into.ports[index[i]].name));
            used[index[i]] = true;
        }
        into.patches.emplace_back(index[0], index[1]);
    }
}

/// Every port has one thing to do, and no address is anywhere twice.
void check_ports(const model& in) {
    std::vector<bool> patched(in.ports.size());
    for (const auto& [a, b] : in.patches) patched[a] = patched[b] = true;
    std::map<ip_address, const port*> owners;
    for (size_t i = 0; i < in.ports.size(); ++i) {
        const port& p = in.ports[i];
        const auto refuse = [&](const std::string& text) {
            throw complaint{error{EINVAL, p.where, fmt::format("port '{}' {}", p.name, text)}};
        };
        if (!patched[i] && !p.routed())
            refuse("has no addresses and is in no patch: nothing could be done with its packets");
        if (patched[i] && p.routed())
            refuse("has addresses and is in a patch: it can route or be patched, not both");
        for (const ip_prefix& a : p.addresses)
            if (const auto [there, fresh] = owners.emplace(a.address, &p); !fresh)
                refuse(fmt::format("has {}, which port '{}' has already", a.address.text(),
                                   there->second->name));
    }
    check_networks(in);
}

model read_model(const reader& from, const std::string& name) {
    from.expect_map({"eal", "workers", "mempool", "tx", "pcie_profiles", "acl", "ports", "patches",
                     "routes", "icmp", "neighbours"});
    model out;
    out.file = name;
    if (from.has("eal")) out.eal_options = read_eal(from.at("eal"));
    if (from.has("workers")) out.workers = read_workers(from.at("workers"));
    if (from.has("mempool")) out.pool = read_mempool(from.at("mempool"));
    if (from.has("tx")) out.sending = read_tx(from.at("tx"));
    if (from.has("pcie_profiles")) out.pcie_profiles = from.at("pcie_profiles").text();
    if (from.has("acl")) read_lists(from.at("acl"), out);
    out.ports = read_ports(out, from.at("ports"));
    if (from.has("patches")) read_patches(from.at("patches"), out);
    check_ports(out);
    if (from.has("routes")) read_routes(from.at("routes"), out);
    if (from.has("icmp")) out.messages = read_icmp(from.at("icmp"));
    if (from.has("neighbours")) read_neighbours(from.at("neighbours"), out);
    return out;
}

}  // namespace

result<model> load_text(std::string_view text, const std::string& name) {
    const auto root = parse_yaml(text, name);
    if (!root) return tl::unexpected<error>(root.error());
    try {
        return read_model(reader(*root, name, ""), name);
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    } catch (const YAML::Exception& e) {
        return fail(EINVAL, name, std::string("cannot be read: ") + e.what());
    }
}

result<model> load(const std::filesystem::path& path) {
    const auto text = read_file(path);
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

}  // namespace turnpike::config
