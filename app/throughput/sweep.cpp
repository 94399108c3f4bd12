// SPDX-License-Identifier: BSD-3-Clause
#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "yaml/reader.hpp"

namespace turnpike::throughput {
namespace {

using yaml::reader;

std::vector<unsigned> numbers_of(const reader& r, const char* of_what, uint64_t most) {
    std::vector<unsigned> out;
    for (const reader& n : r.list(of_what)) {
        out.push_back(static_cast<unsigned>(n.number(1, most)));
        if (std::count(out.begin(), out.end(), out.back()) > 1) n.refuse("is there twice");
    }
    if (out.empty()) r.refuse(std::string("should have at least one of its ") + of_what);
    return out;
}

/// The workers' CPUs, or the reason that the machine has none.
void choose_cpus(cpu_setup& s, const std::vector<std::vector<unsigned>>& cores,
                 const std::filesystem::path& folder) {
    if (s.cores > cores.size()) {
        s.unavailable = fmt::format("this machine has {} core{} for the device", cores.size(),
                                    cores.size() == 1 ? "" : "s");
        return;
    }
    for (const std::vector<unsigned>& threads : std::span(cores).first(s.cores)) {
        if (s.smt && threads.size() < 2) {
            s.unavailable = "the cores for the device have one thread each: no SMT";
            return;
        }
        s.cpus.insert(s.cpus.end(), threads.begin(), s.smt ? threads.end() : threads.begin() + 1);
    }
    if (s.mhz != 0) s.unavailable = why_not_at(s.cpus, s.mhz, folder);
}

}  // namespace

sweep read_sweep(const reader& r) {
    constexpr uint64_t max_cores = 1024, max_mhz = 10'000;
    sweep s;
    if (r.has("cpus")) {
        s.cpus = r.at("cpus").taken(parse_cpu_list(r.at("cpus").text()));
        if (s.cpus.empty()) r.at("cpus").refuse("should have at least one CPU");
    }
    if (r.has("cores")) s.cores = numbers_of(r.at("cores"), "numbers of cores", max_cores);
    if (r.has("mhz")) s.mhz = numbers_of(r.at("mhz"), "frequencies", max_mhz);
    if (r.has("smt")) {
        const size_t word = r.at("smt").word({"without", "with", "both"});
        if (word < 2) s.smt = {word == 1};
    }
    return s;
}

std::vector<cpu_setup> setups_of(const sweep& s, const std::filesystem::path& folder) {
    const auto cores = cores_of(s.cpus.empty() ? default_cpus(folder) : s.cpus, folder);
    std::vector<cpu_setup> out;
    for (const unsigned mhz : s.mhz)
        for (const bool smt : s.smt)
            for (const unsigned n : s.cores) {
                cpu_setup setup{.cores = n, .smt = smt, .mhz = mhz};
                choose_cpus(setup, cores, folder);
                out.push_back(std::move(setup));
            }
    return out;
}

std::string name_of(const cpu_setup& s) {
    return fmt::format("{} core{}{}{}", s.cores, s.cores == 1 ? "" : "s", s.smt ? ", SMT" : "",
                       s.mhz == 0 ? "" : fmt::format(", {} MHz", s.mhz));
}

std::string environment_of(const cpu_setup& s) {
    return fmt::format("export CPUS={} WORKERS={} CORES={} SMT={} MHZ={}\n", cpu_list_text(s.cpus),
                       s.cpus.size(), s.cores, s.smt ? 1 : 0, s.mhz);
}

}  // namespace turnpike::throughput
