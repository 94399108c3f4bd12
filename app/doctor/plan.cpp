// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <algorithm>
#include <charconv>

#include "sources/yaml.hpp"
#include "state/lcores.hpp"

namespace turnpike::doctor {
namespace {

/// EAL's main lcore: --main-lcore, else the lowest ID (rte_eal_init()).
unsigned main_lcore_of(const std::vector<std::string>& options,
                       const std::vector<state::lcore>& lcores) {
    constexpr std::string_view name = "--main-lcore";
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string_view word = options[i];
        if (word.substr(0, word.find('=')) != name) continue;
        const std::string_view value = word.size() > name.size() ? word.substr(name.size() + 1)
                                       : i + 1 < options.size()  ? options[i + 1]
                                                                 : std::string_view();
        unsigned id = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), id).ec == std::errc())
            return id;
    }
    const auto lowest = std::min_element(lcores.begin(), lcores.end(),
                                         [](const auto& a, const auto& b) { return a.id < b.id; });
    return lowest == lcores.end() ? 0 : lowest->id;
}

/// The configuration's `workers`, else all lcores but the main one, or the main one alone (choose_lcores()).
std::set<unsigned> cpus_of_workers(const state::configuration& config,
                                   const std::vector<std::string>& options) {
    const std::vector<state::lcore> lcores = state::lcores_of(options);
    const unsigned main = main_lcore_of(options, lcores);
    const std::set<unsigned> named(config.workers.begin(), config.workers.end());
    std::set<unsigned> out;
    const bool alone = lcores.size() == 1;
    for (const state::lcore& one : lcores)
        if (named.empty() ? one.id != main || alone : named.count(one.id) != 0) out.insert(one.cpu);
    return out;
}

}  // namespace

result<plan> plan_of(const std::filesystem::path& file) {
    const auto loaded = sources::load(file);
    if (!loaded) return tl::unexpected<error>(loaded.error());
    plan out{.configured = true};
    for (const auto& [name, port] : loaded->ports)
        out.ports.push_back({name, port.device, port.rx_queues});
    const std::vector<std::string>& options = loaded->fixed.eal_options.args;
    const std::vector<unsigned> cpus = state::cpus_of_lcores(options);
    out.cpus = {cpus.begin(), cpus.end()};
    out.workers = cpus_of_workers(*loaded, options);
    if (cpus.empty()) out.unread_lcores = state::lcores_option(options);
    out.hugepages_required = !loaded->fixed.eal_options.hugepages_optional;
    return out;
}

}  // namespace turnpike::doctor
