// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_mirrors.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {

using yaml::reader;

void read_mirror(const reader& from, state::configuration& into) {
    constexpr uint32_t max_sample = 1'000'000'000, min_length = 64, max_length = 65'535;
    from.expect_map({"name", "ports", "direction", "vlan", "sample", "length", "to", "to_vlan"});
    state::mirror m;
    m.where.text = from.where();
    const reader ports = from.at("ports");
    for (const reader& one : ports.list("ports")) m.ports.push_back(one.text());
    if (m.ports.empty()) ports.refuse("names no port");
    if (from.has("direction")) {
        const auto direction = from.at("direction").word({"both", "in", "out"});
        m.in = direction != 2;
        m.out = direction != 1;
    }
    const auto vlan_of = [&](std::string_view key) {
        return static_cast<uint16_t>(from.at(key).number(1, state::last_vlan));
    };
    if (from.has("vlan")) m.vlan = vlan_of("vlan");
    m.sample = from.number_or("sample", m.sample, 1, max_sample);
    if (from.has("length"))
        m.max_bytes = static_cast<uint32_t>(from.at("length").number(min_length, max_length));
    m.to = from.at("to").text();
    if (from.has("to_vlan")) m.to_vlan = vlan_of("to_vlan");
    const std::string name = from.at("name").name();
    if (!into.mirrors.add(name, std::move(m)))
        from.at("name").refuse(fmt::format("is '{}', which another mirror is called", name));
}

void add_mirror(std::string& to, const std::string& name, const state::mirror& m) {
    const auto add = [&]<class... T>(fmt::format_string<T...> text, T&&... values) {
        fmt::format_to(std::back_inserter(to), text, std::forward<T>(values)...);
    };
    std::string ports;
    for (const std::string& port : m.ports) ports += (ports.empty() ? "" : ", ") + quoted(port);
    add("  - name: {}\n    ports: [{}]\n    direction: {}\n", quoted(name), ports,
        m.in && m.out ? "both"
        : m.in        ? "in"
                      : "out");
    if (m.vlan) add("    vlan: {}\n", *m.vlan);
    add("    sample: {}\n", m.sample);
    if (m.max_bytes) add("    length: {}\n", *m.max_bytes);
    add("    to: {}\n", quoted(m.to));
    if (m.to_vlan) add("    to_vlan: {}\n", *m.to_vlan);
}

}  // namespace turnpike::sources
