// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <algorithm>

#include "sources/yaml.hpp"
#include "state/lcores.hpp"

namespace turnpike::doctor {
namespace {

/// The configuration's `workers`, else all lcores but the main one, or the main one alone (choose_lcores()).
std::set<unsigned> cpus_of_workers(const state::configuration& config,
                                   const std::vector<std::string>& options,
                                   const std::vector<state::lcore>& lcores) {
    const unsigned main = state::main_lcore_of(options, lcores);
    const std::set<unsigned> named(config.workers.begin(), config.workers.end());
    std::set<unsigned> out;
    const bool alone = lcores.size() == 1;
    for (const state::lcore& one : lcores)
        if (named.empty() ? one.id != main || alone : named.count(one.id) != 0) out.insert(one.cpu);
    return out;
}

}  // namespace

result<plan> plan_of(const machine& m, const std::filesystem::path& file) {
    const auto loaded = sources::load(file);
    if (!loaded) return tl::unexpected<error>(loaded.error());
    plan out{.configured = true};
    for (const auto& [name, port] : loaded->ports)
        out.ports.push_back({name, port.device, port.rx_queues});
    const std::vector<std::string>& options = loaded->fixed.eal_options.args;
    const std::string online = m.text("/sys/devices/system/cpu/online");
    std::vector<state::lcore> lcores = state::lcores_of(options);
    if (lcores.empty()) out.unread_lcores = state::lcores_option(options);
    if (lcores.empty() && out.unread_lcores.empty())  // EAL then has an lcore for each CPU
        for (const unsigned cpu : state::cpus_of_list(online)) lcores.push_back({cpu, cpu});
    for (const state::lcore& one : lcores) out.cpus.insert(one.cpu);
    out.workers = cpus_of_workers(*loaded, options, lcores);
    out.worker_fault = state::worker_fault(loaded->workers, options, online);
    const bool none = std::find(options.begin(), options.end(), "--no-huge") != options.end();
    out.hugepages = none                                           ? hugepage_use::none
                    : loaded->fixed.eal_options.hugepages_optional ? hugepage_use::optional
                                                                   : hugepage_use::required;
    return out;
}

}  // namespace turnpike::doctor
