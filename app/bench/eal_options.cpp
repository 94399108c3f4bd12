// SPDX-License-Identifier: BSD-3-Clause
#include "eal_options.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace turnpike::bench {
namespace {

/// "--lcores=0-3", "--lcores" and "-l0-3" all match their option.
bool names(std::string_view word, std::string_view option) noexcept {
    if (!word.starts_with(option)) return false;
    const bool whole = word.size() == option.size();
    return option.starts_with("--") ? whole || word[option.size()] == '=' : true;
}

bool any_of(const std::vector<std::string>& given, std::initializer_list<const char*> options) {
    return std::ranges::any_of(given, [&](const std::string& word) {
        return std::ranges::any_of(options,
                                   [&](const char* option) { return names(word, option); });
    });
}

}  // namespace

bool names_device(const std::vector<std::string>& given) {
    return any_of(given, {"-a", "--allow", "-b", "--block", "--vdev"});
}

std::vector<std::string> eal_options(std::vector<std::string> given, const machine& here,
                                     unsigned memory_mb, unsigned lcores,
                                     const std::vector<std::string>& pci_devices) {
    std::vector<std::string> ours;
    if (!any_of(given, {"-l", "-c", "-S", "--lcores", "--service-corelist"})) {
        const unsigned most = std::min(lcores, here.cpus);
        ours.insert(ours.end(), {"-l", most > 1 ? "0-" + std::to_string(most - 1) : "0"});
    }
    if (!any_of(given, {"-a", "--allow", "-b", "--block", "--no-pci"})) {
        if (pci_devices.empty()) ours.push_back("--no-pci");
        for (const std::string& device : pci_devices) ours.insert(ours.end(), {"-a", device});
    }
    if (!any_of(given, {"--telemetry", "--no-telemetry"})) ours.push_back("--no-telemetry");
    if (!any_of(given, {"--log-level"})) ours.push_back("--log-level=lib.*:error");
    const bool memory =
        any_of(given, {"--in-memory", "--no-huge", "--huge-dir", "--huge-unlink", "--file-prefix",
                       "--proc-type", "--socket-mem", "--no-shconf", "--legacy-mem"});
    if (!memory && here.hugepages) ours.push_back("--in-memory");
    if (!memory && !here.hugepages) {
        ours.insert(ours.end(), {"--no-huge", "--no-shconf"});
        if (!any_of(given, {"-m"})) ours.insert(ours.end(), {"-m", std::to_string(memory_mb)});
    }
    given.insert(given.end(), ours.begin(), ours.end());
    return given;
}

}  // namespace turnpike::bench
