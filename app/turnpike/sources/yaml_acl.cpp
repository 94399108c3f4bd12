// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_acl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sources/fields.hpp"
#include "sources/yaml_acl_rule.hpp"

namespace turnpike::sources {
namespace {

using namespace state;
using yaml::reader;

constexpr size_t max_list_rules = 1u << 20;
constexpr const char *tiny_fragment = "tiny-fragment", *neighbour_discovery = "neighbour-discovery",
                     *by_default = "default";

/// An implicit rule that matches packets with the property `bit`.
acl_rule own_rule(acl_action action, const char* name, uint16_t bit) {
    acl_rule r{.action = action, .name = name};
    r.match.tcp_flags = {bit, bit};
    return r;
}

/// The rules without implicit ones.
std::vector<acl_rule> operators_rules(std::vector<acl_rule> all) {
    std::erase_if(all, [](const acl_rule& r) { return r.where.text.empty(); });
    return all;
}

}  // namespace

void put_rules(acl_list& list, std::vector<acl_rule> rules) {
    list.rules.clear();
    if (!list.l2)
        list.rules.push_back(own_rule(acl_action::deny, tiny_fragment, acl_key::tiny_fragment));
    std::move(rules.begin(), rules.end(), std::back_inserter(list.rules));
    if (!list.l2 && !list.default_permits) {
        list.rules.push_back(
            own_rule(acl_action::permit, neighbour_discovery, acl_key::neighbour_discovery));
        list.rules.back().ipv4 = false;
    }
    if (auto divided = divide_counts(list); !divided) throw yaml::complaint{divided.error()};
}

namespace {

std::vector<acl_rule> read_rules(const reader& from, const std::string& config_file, bool l2) {
    std::vector<acl_rule> out;
    std::set<std::string> names{tiny_fragment, neighbour_discovery, by_default};
    for (const reader& element : from.list("rules")) {
        element.attempt([&] {
            if (!l2 && (element.has("file") || element.has("lines"))) {
                auto more = read_acl_file(element, config_file);
                std::move(more.begin(), more.end(), std::back_inserter(out));
                return;
            }
            acl_rule r = read_acl_rule(element, l2);
            if (!r.name.empty() && !names.insert(r.name).second)
                element.at("name").refuse(
                    "is '{}' again, or a reserved name; rule names are unique", r.name);
            out.push_back(std::move(r));
        });
        if (out.size() > max_list_rules) element.refuse("makes more rules than {}", max_list_rules);
    }
    return out;
}

/// before  defaults for absent members; null: a new ACL
acl_list read_list(const reader& from, const std::string& config_file, const acl_list* before) {
    from.expect_map({"name", "layer", "default", "memory_mb", "rules"});
    acl_list out;
    out.name = from.at("name").name();
    if (before != nullptr) {
        out.l2 = before->l2;
        out.default_permits = before->default_permits;
        out.memory_mb = before->memory_mb;
    }
    out.where.text = from.where();
    if (from.has("layer")) out.l2 = from.at("layer").number(2, 3) == 2;
    const bool keeps = before != nullptr && !from.has("rules");
    if (keeps && out.l2 != before->l2)
        from.at("layer").refuse("differs from the current layer: the rules must be given, too");
    if (from.has("default")) out.default_permits = from.at("default").word({"deny", "permit"}) == 1;
    out.memory_mb = from.number_or("memory_mb", out.memory_mb, 1, 1u << 16);
    put_rules(out, keeps ? operators_rules(before->rules)
                         : read_rules(from.at("rules"), config_file, out.l2));
    return out;
}

/// The index of the rule that an edit selects: by its name, by its position, or with both by its position only if no rule has
/// the name, as a name may be a number.
size_t selected_rule(const reader& from, const std::vector<acl_rule>& rules) {
    if (from.has("name")) {
        const std::string name = from.at("name").text();
        const auto named = std::ranges::find(rules, name, &acl_rule::name);
        if (named != rules.end() && !name.empty())
            return static_cast<size_t>(named - rules.begin());
        if (!from.has("at"))
            from.at("name").refuse("names '{}', which is not a rule of the list",
                                   name.substr(0, 80));
    }
    if (!from.has("at")) from.refuse("should have \"at\", from 1, or the rule's \"name\"");
    if (rules.empty()) from.at("at").refuse("names a rule of a list that has none");
    return from.at("at").number(1, rules.size()) - 1;
}

/// The rule of an edit; its name must be unique in the ACL.
acl_rule read_one_rule(const reader& from, const std::vector<acl_rule>& others, bool l2) {
    for (const char* key : {"file", "lines"})
        if (!l2 && from.is_map() && from.has(key))
            from.at(key).refuse(
                "names many rules, and this edit is of one; replace the list's rules (acl) "
                "instead, with this key in an element of them");
    acl_rule r = read_acl_rule(from, l2);
    const bool taken =
        r.name == tiny_fragment || r.name == neighbour_discovery || r.name == by_default ||
        std::any_of(others.begin(), others.end(),
                    [&](const acl_rule& o) { return !r.name.empty() && o.name == r.name; });
    if (taken)
        from.at("name").refuse("is '{}' again, or a reserved name; rule names are unique", r.name);
    return r;
}

}  // namespace

void read_lists(const reader& from, configuration& into) {
    for (const reader& element : from.list("access lists"))
        element.attempt([&] {
            if (into.acls.find(element.at("name").text()) != nullptr)
                element.at("name").refuse("is '{}' again; names of access lists are unique",
                                          element.at("name").text());
            read_acl(element, into);
        });
}

void read_acl(const reader& from, configuration& into) {
    constexpr size_t max_lists = 1024;
    shared<acl_list>* const there = into.acls.find(from.at("name").text());
    acl_list list = read_list(from, into.file, there == nullptr ? nullptr : &**there);
    if (there != nullptr) {
        *there = std::move(list);
        return;
    }
    if (into.acls.size() == max_lists) from.refuse("is one more than {}", max_lists);
    std::string name = list.name;
    into.acls.add(std::move(name), std::move(list));
}

std::vector<acl_rule> extract_rules(acl_list& list) {
    return operators_rules(std::exchange(list.rules, {}));
}

void edit_rules(std::vector<acl_rule>& rules, const reader& from, list_edit how, bool l2) {
    if (how == list_edit::insert) {
        const size_t at =
            from.has("at") ? from.at("at").number(1, rules.size() + 1) - 1 : rules.size();
        if (rules.size() == max_list_rules) from.refuse("makes more rules than {}", max_list_rules);
        acl_rule r = read_one_rule(from.at("rule"), rules, l2);
        rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(at), std::move(r));
        return;
    }
    const auto at = rules.begin() + static_cast<std::ptrdiff_t>(selected_rule(from, rules));
    if (how == list_edit::erase) {
        rules.erase(at);
    } else {
        at->name.clear();  // the new rule may have the same name
        *at = read_one_rule(from.at("rule"), rules, l2);
    }
}

std::string read_binding(const reader& from, const configuration& in) {
    if (from.is_nothing()) return {};
    (void)named_object(from, in.acls, "an access list (acl)");
    return from.text();
}

}  // namespace turnpike::sources
