// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_acl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sources/yaml_acl_rule.hpp"

namespace turnpike::sources {
namespace {

using namespace state;
using config::reader;

constexpr size_t max_list_rules = 1u << 20;
constexpr const char *tiny_fragment = "tiny-fragment", *neighbour_discovery = "neighbour-discovery",
                     *by_default = "default";

/// Any packet of which lists know this.
acl_rule own_rule(acl_action action, const char* name, uint16_t bit) {
    acl_rule r{.action = action, .name = name};
    r.match.tcp_flags = {bit, bit};
    return r;
}

acl_list read_list(const reader& from, const std::string& config_file) {
    from.expect_map({"name", "default", "memory_mb", "rules"});
    acl_list out;
    out.name = from.at("name").name();
    out.where.text = from.where();
    if (from.has("default")) out.default_permits = from.at("default").word({"deny", "permit"}) == 1;
    out.memory_mb = from.number_or("memory_mb", out.memory_mb, 1, 1u << 16);
    out.rules.push_back(own_rule(acl_action::deny, tiny_fragment, acl_key::tiny_fragment));
    std::set<std::string> names{tiny_fragment, neighbour_discovery, by_default};
    for (const reader& element : from.at("rules").list("rules")) {
        if (element.has("file")) {
            auto more = read_acl_file(element, config_file);
            std::move(more.begin(), more.end(), std::back_inserter(out.rules));
        } else {
            acl_rule r = read_acl_rule(element);
            if (!r.name.empty() && !names.insert(r.name).second)
                element.at("name").refuse(
                    fmt::format("is '{}' again, or turnpike's own; each rule has its own", r.name));
            out.rules.push_back(std::move(r));
        }
        if (out.rules.size() > max_list_rules)
            element.refuse(fmt::format("makes more rules than {}", max_list_rules));
    }
    if (!out.default_permits) {
        out.rules.push_back(
            own_rule(acl_action::permit, neighbour_discovery, acl_key::neighbour_discovery));
        out.rules.back().ipv4 = false;
    }
    if (auto divided = divide_counts(out); !divided) throw config::complaint{divided.error()};
    return out;
}

std::string list_name(const desired& in, const reader& from) {
    const std::string name = from.text();
    if (in.acls.find(name) == nullptr)
        from.refuse(
            fmt::format("names '{}', which is not an access list (acl)", name.substr(0, 80)));
    return name;
}

}  // namespace

void read_lists(const reader& from, desired& into) {
    constexpr size_t max_lists = 1024;
    for (const reader& element : from.list("access lists")) {
        if (into.acls.size() == max_lists)
            element.refuse(fmt::format("is one more than {}", max_lists));
        acl_list next = read_list(element, into.file);
        const std::string name = next.name;
        if (!into.acls.add(name, std::move(next)))
            element.at("name").refuse(
                fmt::format("is '{}' again; each access list has its own", name));
    }
}

void read_bindings(const desired& in, const reader& from, interface& into) {
    from.expect_map({"in", "out"});
    if (from.has("in")) into.acl_in = list_name(in, from.at("in"));
    if (from.has("out")) into.acl_out = list_name(in, from.at("out"));
}

}  // namespace turnpike::sources
