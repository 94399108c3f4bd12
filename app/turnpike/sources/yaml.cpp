// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sources/old_keys.hpp"
#include "sources/schema.hpp"
#include "sources/settings.hpp"
#include "sources/yaml_acl.hpp"
#include "sources/yaml_bridges.hpp"
#include "sources/yaml_mirrors.hpp"
#include "sources/yaml_ports.hpp"
#include "sources/yaml_routing.hpp"
#include "sources/yaml_tunnels.hpp"
#include "state/validate.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::complaint;
using yaml::reader;

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
        const auto lcore = static_cast<unsigned>(element.number(0, state::max_lcore));
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
    if (from.has("buffer_size")) out.where.text = from.at("buffer_size").where();
    if (from.has("ops")) {
        out.ops = from.at("ops").text();
        if (out.ops.empty() || out.ops.size() > 31)
            from.at("ops").refuse(
                "should be a mempool handler's name, like cache_aware or ring_mp_mc");
    }
    return out;
}

state::control_socket read_control(const reader& from) {
    from.expect_map({"socket", "group", "owner"});
    state::control_socket out;
    if (from.has("socket")) {
        out.path = from.at("socket").text();
        if (!out.path.starts_with('/') || out.path.ends_with('/') || out.path.size() > 107)
            from.at("socket").refuse(
                "should be a whole path, from / on, of at most 107 characters");
    }
    if (from.has("group")) out.group = from.at("group").text();
    if (from.has("owner")) out.owner = from.at("owner").text();
    return out;
}

state::control_plane read_control_plane(const reader& from) {
    from.expect_map({"netlink", "namespace", "rate"});
    state::control_plane out;
    out.where.text = from.where();
    out.netlink = from.at("netlink").truth();
    out.rate = from.number_or("rate", out.rate, 1, 10'000'000);
    if (!from.has("namespace")) return out;
    out.network_namespace = from.at("namespace").text();
    const std::string& name = out.network_namespace;
    if (name.empty() || name.size() > 255 || name.find('/') != std::string::npos || name == "." ||
        name == "..")
        from.at("namespace").refuse("should be a name as `ip netns add` takes it");
    return out;
}

/// Relative to the configuration's folder.
state::pcie_profiles read_profiles(const reader& from, const std::string& name) {
    constexpr size_t max_bytes = 1u << 20;
    state::pcie_profiles out;
    out.file = std::filesystem::absolute(std::filesystem::path(name).parent_path() / from.text())
                   .lexically_normal()
                   .string();
    auto text = yaml::read_file(out.file);
    if (!text)
        from.refuse(fmt::format("is {}, which cannot be read: {}", out.file, text.error().text));
    if (text->size() > max_bytes)
        from.refuse(fmt::format("is {}, which is longer than 1 MiB", out.file));
    out.text = std::move(*text);
    return out;
}

configuration read_all(const reader& from, const std::string& name) {
    from.expect_map({}, file_keys);
    configuration out;
    out.file = name;
    if (from.has("eal")) out.fixed.eal_options = read_eal(from.at("eal"));
    if (from.has("workers")) out.workers = read_workers(from.at("workers"));
    if (from.has("mempool")) out.fixed.pool = read_mempool(from.at("mempool"));
    if (from.has("control")) out.control = read_control(from.at("control"));
    if (from.has("control_plane")) out.control_plane = read_control_plane(from.at("control_plane"));
    settings_keys().expect_maps(from);
    read_settings(from, out);
    if (from.has("metrics")) (void)from.at("metrics").at("listen");
    if (from.has("pcie_profiles"))
        out.pcie_profiles = read_profiles(from.at("pcie_profiles"), name);
    if (from.has("acl")) read_lists(from.at("acl"), out);
    if (from.has("vrfs"))
        for (const reader& one : from.at("vrfs").list("VRFs")) read_vrf(one, out);
    for (const reader& port : from.at("ports").list("ports")) read_port(port, out);
    if (from.has("interfaces"))
        for (const reader& one : from.at("interfaces").list("VLANs of ports"))
            read_vlan_interface(one, out);
    if (from.has("tunnels"))
        for (const reader& one : from.at("tunnels").list("tunnels")) read_tunnel(one, out);
    if (from.has("xconnects"))
        for (const reader& pair : from.at("xconnects").list("pairs of ports"))
            read_patch(pair, out);
    if (from.has("bridges"))
        for (const reader& one : from.at("bridges").list("bridges")) read_bridge(one, out);
    if (from.has("mirrors"))
        for (const reader& one : from.at("mirrors").list("mirrors")) read_mirror(one, out);
    if (from.has("routes")) read_routes(from.at("routes"), out);
    if (from.has("neighbours") && from.at("neighbours").has("static"))
        for (const reader& one : from.at("neighbours").at("static").list("neighbours"))
            read_neighbour(one, out);
    return out;
}

}  // namespace

result<configuration> load_text(std::string_view text, const std::string& name) {
    auto root = yaml::parse_yaml(text, name);
    if (!root) return tl::unexpected<error>(root.error());
    auto old_keys = rename_old_keys(*root);
    if (!old_keys) return tl::unexpected<error>(old_keys.error());
    try {
        configuration all = read_all(reader(*root), name);
        all.old_keys = std::move(*old_keys);
        if (auto good = state::validate(all); !good) return tl::unexpected<error>(good.error());
        return all;
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

result<configuration> load(const std::filesystem::path& path) {
    const auto text = yaml::read_file(path);
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
