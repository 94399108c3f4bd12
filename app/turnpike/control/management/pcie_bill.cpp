// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/pcie_bill.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "pcie/cost.hpp"
#include "pcie/detect.hpp"
#include "pcie/json.hpp"
#include "pcie/profile_yaml.hpp"
#include "pmu/json.hpp"

namespace turnpike::control {
namespace {

result<pcie::link> link_of(const state::pcie& config, const std::string& pci_address) {
    result<pcie::link> link;
    if (!config.link.empty())
        link = pcie::parse_link(config.link);
    else if (pci_address.empty())
        return fail(
            ENODEV, "",
            "the device is on no PCI bus; name a link to model it on (pcie: {link: gen3x8})");
    else
        link = pcie::detect_link("/sys", pci_address);
    if (!link) return link;
    if (config.mps != 0) link->mps = config.mps;
    if (config.mrrs != 0) link->mrrs = config.mrrs;
    link->sizes_assumed &= config.mps == 0 || config.mrrs == 0;
    if (const auto valid = pcie::validate(*link); !valid)
        return tl::unexpected<error>(valid.error());
    return link;
}

result<pcie::nic_profile> profile_of(const state::pcie& config, const std::string& driver,
                                     const std::vector<pcie::nic_profile>& profiles) {
    return config.profile.empty() ? pcie::profile_for_driver(driver, profiles)
                                  : pcie::find_profile(config.profile, profiles);
}

/// The model's inputs, as far as they are known; the first reason why one is not.
error set_model(observe::pcie_facts& facts, const std::string& driver, const state::pcie& config,
                const std::string& pci_address, const std::vector<pcie::nic_profile>& profiles) {
    error why;
    if (auto link = link_of(config, pci_address))
        facts.link = *link;
    else
        why = link.error();
    if (auto profile = profile_of(config, driver, profiles))
        facts.profile = std::move(*profile);
    else
        why = profile.error();
    return why;
}

result<nlohmann::json> modelled(const observe::port_report& port, const error& why) {
    const observe::pcie_facts& facts = port.pcie.facts;
    const observe::port_totals& n = port.totals;
    if (n.rx_packets + n.tx_packets == 0) return fail(ENODATA, "", "no packets, no cost");
    if (!facts.link || !facts.profile) return tl::unexpected<error>(why);
    const auto bill = observe::bill_of(n, *facts.profile, *facts.link);
    if (!bill) return tl::unexpected<error>(bill.error());
    const auto received = static_cast<double>(n.rx_packets),
               sent = static_cast<double>(n.tx_packets);
    return pcie::to_json(*bill, received, sent, std::max(received, sent));
}

constexpr std::pair<const char*, std::array<const char*, 5>> count_groups[] = {
    {"lines", {"rd_cur", "itom", "rfo", "wil", "prd"}},
    {"tlps", {"mrd", "mwr", "cpld"}},
    {"bytes", {"up", "down"}}};

/// The counts under `prefix` ("pcie_", "pcie_rx_data_"), per packet; null if there are none.
nlohmann::json per_packet(const std::map<std::string, uint64_t>& counts, const std::string& prefix,
                          double packets) {
    nlohmann::json out;
    for (const auto& [group, names] : count_groups)
        for (const char* name : names) {
            if (name == nullptr) continue;
            const auto at = counts.find(prefix + group + "_" + name);
            if (at != counts.end()) out[group][name] = static_cast<double>(at->second) / packets;
        }
    return out;
}

/// The PCIe object from the driver's counters (drivers/net/simnic names its xstats so).
nlohmann::json counted(const observe::port_report& port,
                       const std::map<std::string, uint64_t>& counts) {
    const uint64_t packets = std::max(port.totals.rx_packets, port.totals.tx_packets);
    if (packets == 0) return nullptr;
    nlohmann::json total = per_packet(counts, "pcie_", static_cast<double>(packets));
    if (total.is_null()) return nullptr;
    for (const std::string_view purpose : pcie::purpose_names) {
        nlohmann::json of =
            per_packet(counts, "pcie_" + std::string(purpose) + "_", static_cast<double>(packets));
        if (!of.is_null()) total["by_purpose"][std::string(purpose)] = std::move(of);
    }
    return {{"source", "counted"}, {"per_packet", std::move(total)}};
}

/// (these - those) / those, of each line and TLP count that both have; null for a count of 0.
nlohmann::json relative_difference(const nlohmann::json& these, const nlohmann::json& those) {
    nlohmann::json out;
    for (const auto& [group, names] : count_groups)
        for (const char* name : names) {
            if (name == nullptr || !these.contains(group) || !these[group].contains(name) ||
                !these[group][name].is_number())
                continue;
            const double expected = those[group][name].get<double>();
            out[group][name] =
                expected == 0
                    ? nlohmann::json(nullptr)
                    : nlohmann::json((these[group][name].get<double>() - expected) / expected);
        }
    return out;
}

/// The PCIe root port's counters, per packet, with every metric of the event table, or a reason.
nlohmann::json measured(const machine_counters::port_counts& root) {
    const pmu::measurement& m = *root.what;
    nlohmann::json out = pmu::to_json(m, root.given);
    out["source"] = "measured";
    const auto per_packet = [&](const char* group, const char* name, const char* metric) {
        const auto value = m.value(metric, root.given);
        const auto packets = root.given.find("packets");
        out["per_packet"][group][name] = value && packets != root.given.end()
                                             ? nlohmann::json(value->value / packets->second)
                                             : nlohmann::json(nullptr);
        if (!value)
            out["why"][metric] = m.source_table().find_metric(metric) == nullptr
                                     ? "this CPU's table has no such count"
                                     : value.error().object + ": " + value.error().text;
    };
    for (const char* line : count_groups[0].second) per_packet("lines", line, line);
    per_packet("data", "read", "dma_read_bytes");
    per_packet("data", "written", "dma_written_bytes");
    return out;
}

result<void> check_bill(const std::string& name, const state::port& port,
                        const std::vector<pcie::nic_profile>& profiles) {
    const std::string object = port.where.text + ": port '" + name + "': pcie";
    if (!port.bill.profile.empty())
        if (const auto found = pcie::find_profile(port.bill.profile, profiles); !found)
            return fail(EINVAL, object, found.error().text);
    if (!port.bill.link.empty())
        if (const auto link = link_of(port.bill, ""); !link)
            return fail(EINVAL, object, link.error().text);
    return {};
}

}  // namespace

result<std::vector<pcie::nic_profile>> pcie_profiles(const state::configuration& config) {
    std::vector<pcie::nic_profile> profiles;
    if (!config.pcie_profiles.file.empty()) {
        auto own = pcie::parse_profiles(config.pcie_profiles.text, config.pcie_profiles.file);
        if (!own) return tl::unexpected<error>(own.error());
        profiles = std::move(*own);
    }
    const auto builtin = pcie::builtin_profiles();
    profiles.insert(profiles.end(), builtin.begin(), builtin.end());
    for (const auto& [name, port] : config.ports)
        if (auto good = check_bill(name, port, profiles); !good)
            return tl::unexpected<error>(good.error());
    return profiles;
}

result<void> check_pcie(const state::configuration& config) {
    if (const auto profiles = pcie_profiles(config); !profiles)
        return tl::unexpected<error>(profiles.error());
    return {};
}

void fill_pcie_bill(observe::port_report& port, const state::pcie& config,
                    const std::string& pci_address, const std::vector<pcie::nic_profile>& profiles,
                    const machine_counters::port_counts& root) {
    nlohmann::json model, counts;
    const error why = set_model(port.pcie.facts, port.driver, config, pci_address, profiles);
    port.pcie.facts.payload = root.payload;
    if (auto object = modelled(port, why))
        model = std::move(*object);
    else
        port.pcie.why["modelled"] = object.error().text;
    counts = counted(port, port.pcie.counts);
    if (counts.is_null())
        port.pcie.why["counted"] =
            port.pcie.counts.empty()
                ? "driver " + port.driver + " does not count its PCIe transactions"
                : "no packets, no cost";
    else if (!model.is_null())
        counts["over_modelled"] = relative_difference(counts["per_packet"], model["per_packet"]);
    if (!model.is_null()) port.pcie.modelled = model.dump();
    if (!counts.is_null()) port.pcie.counted = counts.dump();
    if (root.what == nullptr) {
        port.pcie.why["measured"] = root.why.empty() ? "nothing has been forwarded yet" : root.why;
        return;
    }
    nlohmann::json seen = measured(root);
    if (!model.is_null())
        seen["over_modelled"] = relative_difference(seen["per_packet"], model["per_packet"]);
    if (!counts.is_null())
        seen["over_counted"] = relative_difference(seen["per_packet"], counts["per_packet"]);
    port.pcie.measured = seen.dump();
}

}  // namespace turnpike::control
