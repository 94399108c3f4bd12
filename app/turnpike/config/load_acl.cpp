// SPDX-License-Identifier: BSD-3-Clause
#include "config/load_acl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/load_acl_rule.hpp"

namespace turnpike::config {
namespace {

constexpr size_t max_list_rules = 1u << 20;
constexpr const char *tiny_fragment = "tiny-fragment", *neighbour_discovery = "neighbour-discovery",
                     *by_default = "default";

/// Any packet of which lists know this.
acl_rule own_rule(acl_action action, const char* name, uint16_t bit) {
    acl_rule r{.action = action, .name = name};
    r.match.tcp_flags = {bit, bit};
    return r;
}

using packed = acl::packed_rule<acl::ipv6_words>;

/// May one packet match both?
bool overlap(const packed& a, const packed& b) {
    for (size_t w = 0; w < a.value.size(); ++w)
        if (((a.value[w] ^ b.value[w]) & a.mask[w] & b.mask[w]) != 0) return false;
    for (const unsigned half : {0U, 16U}) {
        const auto first = [half](const packed& p) { return p.ports_low >> half & 0xffff; };
        const auto last = [&](const packed& p) {
            return first(p) + (p.ports_more >> half & 0xffff);
        };
        if (first(a) > last(b) || first(b) > last(a)) return false;
    }
    return true;
}

struct counted {
    packed match;
    bool ipv4, ipv6;
};

/// Categories of lib/acl give the best rule of each; a packet is to be counted by all that match. So
/// count rules that may match the same packet go to different ones. Answers how many there are.
uint32_t divide_counts(acl_list& list) {
    std::vector<std::vector<counted>> groups;
    for (acl_rule& r : list.rules) {
        if (r.action != acl_action::count) continue;
        const counted c{*acl::pack<acl::ipv6_words>(r.match), r.ipv4, r.ipv6};
        const auto apart = [&](const std::vector<counted>& group) {
            return std::none_of(group.begin(), group.end(), [&](const counted& other) {
                return ((c.ipv4 && other.ipv4) || (c.ipv6 && other.ipv6)) &&
                       overlap(c.match, other.match);
            });
        };
        const auto at = std::find_if(groups.begin(), groups.end(), apart);
        const auto group = static_cast<size_t>(at - groups.begin());
        if (group + 1 == acl::max_categories)
            throw complaint{
                error{EINVAL, r.where,
                      fmt::format("access list '{}': this count rule may match the same packets as "
                                  "count rules of {} other groups, and so many can count a packet",
                                  list.name, group)}};
        if (at == groups.end()) groups.emplace_back();
        groups[group].push_back(c);
        r.match.categories = 2u << group;
    }
    return static_cast<uint32_t>(groups.size());
}

void number_rules(acl_list& list) {
    const auto n = static_cast<uint32_t>(list.rules.size());
    for (uint32_t i = 0; i < n; ++i) {
        acl_rule& r = list.rules[i];
        r.match.priority = n - i;
        r.match.user_data = acl_hit(i, r.action == acl_action::deny);
        r.match.categories = 1;
    }
    const uint32_t counts = divide_counts(list);
    list.categories = counts == 0 ? 1 : (1 + counts + 3) / 4 * 4;
}

acl_list read_list(const reader& from, const std::string& config_file) {
    from.expect_map({"name", "default", "memory_mb", "rules"});
    acl_list out;
    out.name = from.at("name").name();
    out.where = from.where();
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
    number_rules(out);
    return out;
}

uint16_t list_index(const model& in, const reader& from) {
    const std::string name = from.text();
    for (uint16_t i = 0; i < static_cast<uint16_t>(in.acls.size()); ++i)
        if (in.acls[i].name == name) return i;
    from.refuse(fmt::format("names '{}', which is not an access list (acl)", name.substr(0, 80)));
}

}  // namespace

void read_lists(const reader& from, model& into) {
    constexpr size_t max_lists = 1024;
    for (const reader& element : from.list("access lists")) {
        if (into.acls.size() == max_lists)
            element.refuse(fmt::format("is one more than {}", max_lists));
        acl_list next = read_list(element, into.file);
        for (const acl_list& other : into.acls)
            if (other.name == next.name)
                element.at("name").refuse(
                    fmt::format("is '{}' again; each access list has its own", next.name));
        into.acls.push_back(std::move(next));
    }
}

void read_bindings(const model& in, const reader& from, port& into) {
    from.expect_map({"in", "out"});
    if (from.has("in")) into.acl_in = list_index(in, from.at("in"));
    if (from.has("out")) into.acl_out = list_index(in, from.at("out"));
}

}  // namespace turnpike::config
