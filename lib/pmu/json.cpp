// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace turnpike::pmu {

bool depends_on(const table& in, const metric& m, std::string_view name) {
    return std::any_of(m.how.names().begin(), m.how.names().end(), [&](const std::string& inner) {
        const metric* const part = in.find_metric(inner);
        return inner == name || (part != nullptr && depends_on(in, *part, name));
    });
}

nlohmann::json to_json(const measurement& m, const given_values& given) {
    nlohmann::json out{{"metrics", nlohmann::json::object()}, {"why", nlohmann::json::object()}};
    const auto& stack = m.iio_stack();
    out["of"] = stack ? nlohmann::json(stack->device) : nlohmann::json(nullptr);
    if (!stack) out["why"]["of"] = stack.error().object + ": " + stack.error().text;
    out["shared_with"] = stack ? stack->shared : std::vector<std::string>();
    double share = 1;
    for (const metric* const asked : m.metrics()) {
        if (!given.contains("packets") && depends_on(m.source_table(), *asked, "packets")) continue;
        const bool many = asked->of == scope::instance;
        nlohmann::json& place = out["metrics"][asked->name];
        for (const std::string& of :
             many ? m.instances(asked->kind) : std::vector<std::string>{""}) {
            const auto value = m.value(asked->name, given, of);
            nlohmann::json& one = many ? place[of] : place;
            one = value ? nlohmann::json(value->value) : nlohmann::json(nullptr);
            if (value)
                share = std::min(share, value->share);
            else
                out["why"][asked->name] = value.error().object + ": " + value.error().text;
        }
    }
    out["counted_share"] = share;
    return out;
}

}  // namespace turnpike::pmu
