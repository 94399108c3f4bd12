// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml.hpp"

#include <fmt/format.h>

#include "sources/old_keys.hpp"
#include "sources/schema.hpp"
#include "sources/settings.hpp"
#include "sources/yaml_acl.hpp"
#include "sources/yaml_bridges.hpp"
#include "sources/yaml_objects.hpp"
#include "sources/yaml_routing.hpp"
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
    from.attempt([&] {
        for (const reader& one : from.at(key).list(of_what)) one.attempt([&] { read(one); });
    });
}

configuration read_all(const reader& from, const std::string& name) {
    from.expect_map({}, file_keys);
    configuration out;
    out.file = out.workers_where.text = name;
    settings_keys().expect_maps(from);
    read_settings(from, out);
    if (from.has("metrics")) from.attempt([&] { (void)from.at("metrics").at("listen"); });
    if (from.has("acl")) from.attempt([&] { read_lists(from.at("acl"), out); });
    const size_t complaints = from.complaints();
    read_list(from, "vrfs", "VRFs", [&](const reader& one) { read_vrf(one, out); });
    assign_tables(out);  // behind all tables that the file gives: `vrfs` has no order
    from.attempt([&] { (void)from.at("ports"); });
    read_list(from, "ports", "ports", [&](const reader& one) { read_port(one, out); });
    read_list(from, "interfaces", "VLANs of ports",
              [&](const reader& one) { read_vlan_interface(one, out); });
    read_list(from, "tunnels", "tunnels", [&](const reader& one) { read_tunnel(one, out); });
    read_list(from, "xconnects", "pairs of ports",
              [&](const reader& one) { read_patch(one, out); });
    read_list(from, "bridges", "bridges", [&](const reader& one) { read_bridge(one, out); });
    read_list(from, "mirrors", "mirrors", [&](const reader& one) { read_mirror(one, out); });
    if (from.complaints() != complaints)
        return out;  // each route by a wrong port would be another error
    if (from.has("routes")) from.attempt([&] { read_routes(from.at("routes"), out); });
    if (from.has("neighbours"))
        read_list(from.at("neighbours"), "static", "neighbours",
                  [&](const reader& one) { read_neighbour(one, out); });
    return out;
}

}  // namespace

tl::expected<configuration, state::errors> load_whole_text(std::string_view text,
                                                           const std::string& name) {
    const auto refused = [](state::errors all) {
        return tl::unexpected<state::errors>(std::move(all));
    };
    auto root = yaml::parse_yaml(text, name);
    if (!root) return refused({root.error()});
    auto old_keys = rename_old_keys(*root);
    if (!old_keys) return refused({old_keys.error()});
    state::errors found;
    root->complaints = &found;
    configuration all;
    try {
        all = read_all(reader(*root), name);
    } catch (const complaint& c) {
        found.push_back(c.what);
    }
    if (found.empty()) found = state::find_errors(all);
    if (!found.empty()) return refused(std::move(found));
    all.old_keys = std::move(*old_keys);
    return all;
}

tl::expected<configuration, state::errors> load_whole(const std::filesystem::path& path) {
    const auto text = yaml::read_file(path);
    if (!text) return tl::unexpected<state::errors>(state::errors{text.error()});
    return load_whole_text(*text, path.string());
}

namespace {

result<configuration> first_error(tl::expected<configuration, state::errors> loaded) {
    if (loaded) return std::move(*loaded);
    return tl::unexpected<error>(std::move(loaded.error().front()));
}

}  // namespace

result<configuration> load_text(std::string_view text, const std::string& name) {
    return first_error(load_whole_text(text, name));
}

result<configuration> load(const std::filesystem::path& path) {
    return first_error(load_whole(path));
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
