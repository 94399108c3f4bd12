// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/arguments.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::pmu {
namespace {

using yaml::node;
using yaml::reader;

constexpr unsigned max_counters = 32;

template <class T>
const T* find(const std::vector<T>& in, std::string_view name) noexcept {
    const auto at = std::find_if(in.begin(), in.end(), [&](const T& x) { return x.name == name; });
    return at == in.end() ? nullptr : &*at;
}

/// A name for use in formulas.
std::string symbol(const reader& key) {
    const std::string name = key.text();
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (name.size() > 64 || name[0] < 'a' || !std::all_of(name.begin(), name.end(), plain))
        key.refuse("should be at most 64 of a to z, 0 to 9 and _, a letter first");
    return name;
}

double fraction(const reader& at) {
    const std::string text = at.text();
    double x = 0;
    if (!read_number<double>(text, 0, 1, x)) at.refuse("should be a number from 0 to 1");
    return x;
}

std::string text_or_nothing(const reader& in, std::string_view key) {
    return in.has(key) ? in.at(key).text() : std::string();
}

table::models read_models(const reader& from) {
    from.expect_map({"vendor", "family", "models"});
    table::models m{.vendor = from.at("vendor").text(),
                    .family = static_cast<uint32_t>(from.at("family").number(0, 0xffff))};
    const auto ends = from.at("models").list("two models, the first and the last");
    if (ends.size() != 2) from.at("models").refuse("should be two models, the first and the last");
    m.first = static_cast<uint32_t>(ends[0].number(0, 0xffff));
    m.last = static_cast<uint32_t>(ends[1].number(m.first, 0xffff));
    return m;
}

pmu_kind read_pmu(const reader& key, const reader& from) {
    from.expect_map({"devices", "counters", "counters_smt", "one_filter"});
    pmu_kind p{.name = symbol(key), .devices = from.at("devices").name()};
    p.counters = static_cast<unsigned>(from.at("counters").number(1, max_counters));
    p.counters_smt = from.number_or("counters_smt", 0u, 1, max_counters);
    p.one_filter = from.has("one_filter") && from.at("one_filter").truth();
    return p;
}

event read_event(const table& in, const reader& key, const reader& from) {
    from.expect_map({"pmu", "name", "config", "counters", "fixed", "leader"});
    event e{.name = symbol(key), .pmu = from.at("pmu").text()};
    if (in.find_pmu(e.pmu) == nullptr) from.at("pmu").refuse("is not one of this file's pmus");
    e.native = text_or_nothing(from, "name");
    e.config = text_or_nothing(from, "config");
    if (e.native.empty() && e.config.empty()) from.refuse("needs a name or a config");
    if (!e.config.empty())
        if (const auto terms = parse_terms(e.config); !terms)
            from.at("config").refuse(terms.error().text);
    if (from.has("counters")) {
        e.counters = 0;
        for (const reader& counter : from.at("counters").list("counters"))
            e.counters |= 1u << counter.number(0, max_counters - 1);
        if (e.counters == 0) from.at("counters").refuse("should name at least one");
    }
    e.fixed = from.has("fixed") && from.at("fixed").truth();
    e.leader = text_or_nothing(from, "leader");
    const event* const leader = e.leader.empty() ? nullptr : in.find_event(e.leader);
    if (!e.leader.empty() && (leader == nullptr || leader->pmu != e.pmu))
        from.at("leader").refuse("should be an earlier event of the same PMU");
    return e;
}

/// Require that all names in a formula are defined before it.
void check_names(const table& in, const metric& m, const reader& place) {
    for (const std::string& name : m.how.names()) {
        const bool given =
            std::find(given_names.begin(), given_names.end(), name) != given_names.end();
        if (in.find_event(name) != nullptr || in.find_metric(name) != nullptr || given) continue;
        place.refuse("uses '{}', which is neither an event nor an earlier metric", name);
    }
}

metric read_metric(const table& in, const reader& key, const reader& from) {
    from.expect_map({"of", "kind", "unit", "formula", "text", "level", "parent", "over", "says"});
    metric m{.name = symbol(key)};
    if (in.find_event(m.name) != nullptr) key.refuse("is also the name of an event");
    m.of = static_cast<scope>(from.at("of").word({"core", "stack", "socket", "instance"}));
    m.unit = from.at("unit").text();
    m.text = text_or_nothing(from, "text");
    m.kind = text_or_nothing(from, "kind");
    if ((m.of == scope::instance) != (in.find_pmu(m.kind) != nullptr))
        from.refuse("must have a kind, one of this file's pmus, if and only if it is of instance");
    const reader text = from.at("formula");
    m.how = text.taken(formula::parse(text.text()));
    check_names(in, m, text);
    m.level = from.number_or("level", 0u, 1, 3);
    m.parent = text_or_nothing(from, "parent");
    if (!m.parent.empty()) {
        const metric* const parent = in.find_metric(m.parent);
        if (parent == nullptr || parent->level + 1 != m.level)
            from.at("parent").refuse("should be an earlier metric of the previous level");
    }
    if (from.has("over")) m.over = fraction(from.at("over"));
    m.says = text_or_nothing(from, "says");
    return m;
}

table read_table(const yaml::document& document) {
    const reader top(document);
    top.expect_map({"family", "summary", "cpus", "source", "pmus", "events", "metrics"});
    table t{.family = top.at("family").name(), .summary = top.at("summary").text()};
    for (const reader& one : top.at("cpus").list("CPUs")) t.cpus.push_back(read_models(one));
    for (const reader& one : top.at("source").list("sources")) t.sources.push_back(one.text());
    const auto each = [&](std::string_view key, const auto& handle) {
        if (!top.at(key).is_map()) top.at(key).refuse("should be a map");
        for (const node name : node(document).find(key)->children())
            handle(reader(name), reader(name.value()));
    };
    each("pmus", [&](const reader& key, const reader& of) { t.pmus.push_back(read_pmu(key, of)); });
    each("events",
         [&](const reader& key, const reader& of) { t.events.push_back(read_event(t, key, of)); });
    each("metrics", [&](const reader& key, const reader& of) {
        t.metrics.push_back(read_metric(t, key, of));
    });
    return t;
}

}  // namespace

const event* table::find_event(std::string_view name) const noexcept { return find(events, name); }
const metric* table::find_metric(std::string_view name) const noexcept {
    return find(metrics, name);
}
const pmu_kind* table::find_pmu(std::string_view name) const noexcept { return find(pmus, name); }

bool table::is_for(const cpu_model& m) const noexcept {
    return std::any_of(cpus.begin(), cpus.end(), [&](const models& c) {
        return c.vendor == m.vendor && c.family == m.family && m.model >= c.first &&
               m.model <= c.last;
    });
}

result<table> parse_table(std::string_view yaml, const std::string& origin) {
    const auto document = yaml::parse_yaml(yaml, origin, "the table");
    if (!document) return tl::unexpected<error>(document.error());
    try {
        return read_table(*document);
    } catch (yaml::complaint& wrong) {
        return tl::unexpected<error>(std::move(wrong.what));
    }
}

result<table> load_table(const std::filesystem::path& file) {
    const auto text = yaml::read_file(file);
    if (!text) return tl::unexpected<error>(text.error());
    return parse_table(*text, file.string());
}

}  // namespace turnpike::pmu
