// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "control/eal_log.hpp"
#include "control/hugepages.hpp"
#include "control/packet_pool.hpp"
#include "observe/console.hpp"

namespace turnpike::control {
namespace {

/// One name for the spellings of an option.
std::string_view family(std::string_view option) {
    option = option.substr(0, option.find('='));
    constexpr std::string_view lcores[] = {"-c", "-l", "--lcores"};
    constexpr std::string_view allow[] = {"-a", "--allow", "-b", "--block"};
    constexpr std::string_view huge[] = {"--no-huge", "--huge-dir", "--single-file-segments"};
    const auto in = [&](const auto& set) {
        return std::find(std::begin(set), std::end(set), option) != std::end(set);
    };
    if (in(lcores)) return lcores[0];
    if (in(allow)) return allow[0];
    if (in(huge)) return huge[0];
    // "-l0-1": a short option with its value attached
    if (option.size() > 2 && option[0] == '-' && option[1] != '-')
        return family(option.substr(0, 2));
    return option;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// Hugepage memory that turnpike needs: the mbuf pool, and EAL's and the drivers' own. A generous
/// estimate: the check explains a shortage, and need not be exact.
uint64_t bytes_needed(const state::configuration& wanted, uint32_t workers) {
    constexpr uint64_t per_buffer_overhead = 128 + 128;  // rte_mbuf, mempool header, private area
    constexpr uint64_t of_eal_and_drivers = 32u << 20;
    constexpr uint64_t of_route_tables = 16u
                                         << 20;  // a few routes; a full table needs as much again
    constexpr uint64_t per_neighbour = 256;
    const bool routes =
        std::any_of(wanted.interfaces.begin(), wanted.interfaces.end(),
                    [](const auto& i) { return i.second.kind == state::interface_kind::routed; });
    const uint64_t buffer = wanted.fixed.pool.buffer_size + per_buffer_overhead;
    return uint64_t{buffers_for(wanted, workers)} *
               (buffer + buffer / 25) +  // padding: lib/cache's max_overhead
           of_eal_and_drivers +
           (routes ? of_route_tables + wanted.limits.limit * per_neighbour : 0);
}

bool given(const std::vector<std::string>& options, std::string_view name) {
    return std::any_of(options.begin(), options.end(), [&](const std::string& word) {
        return std::string_view(word).substr(0, word.find('=')) == name;
    });
}

/// Default lcores: all CPUs of the process's affinity.
size_t cpus_allowed() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<size_t>(CPU_COUNT(&set)) : 1;
}

/// Parses "2,4-6"; empty on any other syntax.
std::vector<unsigned> cpu_list(std::string_view text) {
    std::vector<unsigned> out;
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        unsigned first = 0, last = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc{}) return {};
        last = first;
        if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
        if (read.ec != std::errc{} || last >= RTE_MAX_LCORE) return {};
        for (unsigned cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
        at = read.ptr;
        if (at != end && *at++ != ',') return {};
    }
    return out;
}

/// Parses a hexadecimal mask, with or without 0x; empty on any other syntax.
std::vector<unsigned> cpu_mask(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::vector<unsigned> out;
    for (unsigned digit = 0; digit < text.size(); ++digit) {
        unsigned bits = 0;
        const char* at = &text[text.size() - 1 - digit];
        if (std::from_chars(at, at + 1, bits, 16).ec != std::errc{}) return {};
        for (unsigned bit = 0; bit < 4; ++bit)
            if ((bits >> bit & 1) != 0) out.push_back(4 * digit + bit);
    }
    return out;
}

result<void> check_hugepages(const state::configuration& wanted,
                             std::vector<std::string>& options) {
    if (given(options, "--no-huge")) return {};
    const std::vector<unsigned> lcores = lcores_named(options);
    const unsigned node = node_of_cpu("/", lcores.empty() ? 0 : lcores.front());
    const uint64_t bytes = bytes_needed(wanted, workers_expected(wanted, lcores));
    const std::string shortfall = hugepage_shortfall(hugepage_pools("/"), node, bytes);
    if (shortfall.empty()) return {};
    if (!wanted.fixed.eal_options.hugepages_optional)
        return fail(ENOMEM, "hugepages",
                    shortfall +
                        "\nor start without hugepages, slower, with 'eal: {hugepages: "
                        "optional}' in the configuration");
    observe::log(observe::log_level::warning, "hugepages: " + shortfall);
    observe::log(observe::log_level::warning, "starting without hugepages (hugepages: optional)");
    // EAL rejects --no-huge with --in-memory; --no-shconf avoids files as well.
    std::erase(options, "--in-memory");
    options.insert(options.end(), {"--no-huge", "--no-shconf"});
    if (!given(options, "-m")) {
        options.emplace_back("-m");
        options.push_back(std::to_string(2 * (bytes >> 20)));
    }
    return {};
}

}  // namespace

std::vector<std::string> merge_eal_options(const std::vector<std::string>& file,
                                           const std::vector<std::string>& command) {
    std::vector<std::string> merged;
    bool keep = true;
    for (const std::string& word : file) {
        if (is_option(word))
            keep = std::none_of(command.begin(), command.end(), [&](const std::string& other) {
                return is_option(other) && family(other) == family(word);
            });
        if (keep) merged.push_back(word);
    }
    merged.insert(merged.end(), command.begin(), command.end());
    return merged;
}

std::vector<unsigned> lcores_named(const std::vector<std::string>& options) {
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string& word = options[i];
        if (!is_option(word) || family(word) != "-c") continue;
        const bool mask = word[1] == 'c';
        std::string_view value;
        if (const size_t equal = word.find('='); equal != std::string::npos)
            value = std::string_view(word).substr(equal + 1);
        else if (word.size() > 2 && word[1] != '-')
            value = std::string_view(word).substr(2);
        else if (i + 1 < options.size())
            value = options[i + 1];
        return mask ? cpu_mask(value) : cpu_list(value);
    }
    return {};
}

uint32_t workers_expected(const state::configuration& wanted, const std::vector<unsigned>& lcores) {
    if (!wanted.workers.empty()) return static_cast<uint32_t>(wanted.workers.size());
    const size_t all = lcores.empty() ? cpus_allowed() : lcores.size();
    return static_cast<uint32_t>(std::max<size_t>(all, 2) - 1);
}

result<void> start_eal(const state::configuration& wanted,
                       const std::vector<std::string>& command) {
    std::vector<std::string> options = merge_eal_options(wanted.fixed.eal_options.args, command);
    if (auto checked = check_hugepages(wanted, options); !checked) return checked;
    options.insert(options.begin(), "turnpike");
    std::vector<char*> argv;
    argv.reserve(options.size());
    for (std::string& word : options) argv.push_back(word.data());
    take_eal_log();
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
        return fail(rte_errno, "EAL",
                    "failed to start; its message is above. Its options: " +
                        fmt::format("{}", fmt::join(options.begin() + 1, options.end(), " ")));
    return {};
}

void stop_eal() noexcept { rte_eal_cleanup(); }

}  // namespace turnpike::control
