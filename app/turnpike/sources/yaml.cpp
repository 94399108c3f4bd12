// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml.hpp"

#include <fmt/format.h>

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

template <class Read>
void read_list(const reader& from, std::string_view key, std::string_view of_what,
               const Read& read) {
    if (!from.has(key)) return;
    for (const reader& one : from.at(key).list(of_what)) read(one);
}

configuration read_all(const reader& from, const std::string& name) {
    from.expect_map({}, file_keys);
    configuration out;
    out.file = name;
    settings_keys().expect_maps(from);
    read_settings(from, out);
    if (from.has("metrics")) (void)from.at("metrics").at("listen");
    if (from.has("acl")) read_lists(from.at("acl"), out);
    read_list(from, "vrfs", "VRFs", [&](const reader& one) { read_vrf(one, out); });
    (void)from.at("ports");
    read_list(from, "ports", "ports", [&](const reader& one) { read_port(one, out); });
    read_list(from, "interfaces", "VLANs of ports",
              [&](const reader& one) { read_vlan_interface(one, out); });
    read_list(from, "tunnels", "tunnels", [&](const reader& one) { read_tunnel(one, out); });
    read_list(from, "xconnects", "pairs of ports",
              [&](const reader& one) { read_patch(one, out); });
    read_list(from, "bridges", "bridges", [&](const reader& one) { read_bridge(one, out); });
    read_list(from, "mirrors", "mirrors", [&](const reader& one) { read_mirror(one, out); });
    if (from.has("routes")) read_routes(from.at("routes"), out);
    if (from.has("neighbours"))
        read_list(from.at("neighbours"), "static", "neighbours",
                  [&](const reader& one) { read_neighbour(one, out); });
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
