// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include "sources/yaml.hpp"
#include "state/lcores.hpp"

namespace turnpike::doctor {
result<plan> plan_of(const std::filesystem::path& file) {
    const auto loaded = sources::load(file);
    if (!loaded) return tl::unexpected<error>(loaded.error());
    plan out{.configured = true};
    for (const auto& [name, port] : loaded->ports)
        out.ports.push_back({name, port.device, port.rx_queues});
    const std::vector<std::string>& options = loaded->fixed.eal_options.args;
    const std::vector<unsigned> cpus = state::cpus_of_lcores(options);
    out.cpus = {cpus.begin(), cpus.end()};
    if (cpus.empty()) out.unread_lcores = state::lcores_option(options);
    out.hugepages_required = !loaded->fixed.eal_options.hugepages_optional;
    return out;
}

}  // namespace turnpike::doctor
