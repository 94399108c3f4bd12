// SPDX-License-Identifier: BSD-3-Clause
// turnpike-doctor: examines a machine. Exit code 0: no error was found, 1: there are errors, 2: wrong usage or input.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/standard_descriptors.hpp"
#include "options.hpp"
#include "plan.hpp"
#include "print.hpp"

namespace {

using namespace turnpike;

constexpr int has_errors = 1, is_wrong = 2;

int complain(const std::string& text) {
    fmt::print(stderr, "turnpike-doctor: {}\n", text);
    return is_wrong;
}

bool print(const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
}

std::vector<doctor::file_change> chosen(const std::vector<doctor::diagnosis>& all,
                                        const std::vector<std::string>& names) {
    std::vector<doctor::file_change> out;
    for (const auto& f : all)
        for (const auto& name : names)
            if (f.check == name && f.level != doctor::severity::ok)
                out.insert(out.end(), f.changes.begin(), f.changes.end());
    return out;
}

/// Whether the kernel alone places the interrupt: write_irq_affinity() of Linux' kernel/irq/proc.c.
bool is_managed_interrupt(const std::string& file, int reason) {
    return reason == EIO && file.starts_with("/proc/irq/") && file.ends_with("/smp_affinity_list");
}

int report_managed(const std::string& file) {
    const bool printed =
        print(file +
              ": managed by the kernel (EIO): isolcpus=managed_irq,domain,LIST on its command line "
              "moves the interrupt\n");
    return printed ? 0 : is_wrong;
}

/// The kernel reserves as many hugepages as it finds memory for, without an error.
std::string shortfall(const std::filesystem::path& root, const doctor::file_change& c) {
    if (!c.file.ends_with("/nr_hugepages")) return {};
    const uint64_t reserved = doctor::machine(root).number(c.file).value_or(0);
    if (std::to_string(reserved) == c.to) return {};
    return fmt::format(
        "the kernel reserved {} pages of {}: free memory is too little or fragmented; reserve them "
        "at boot",
        reserved, c.to);
}

/// Writes each file; a refusal of one does not keep the others from being written.
int write_changes(const std::filesystem::path& root,
                  const std::vector<doctor::file_change>& changes) {
    int code = 0;
    for (const auto& c : changes) {
        const auto file = root / c.file.substr(1);
        std::FILE* out = std::fopen(file.c_str(), "we");
        const bool written =
            out != nullptr && std::fputs((c.to + "\n").c_str(), out) >= 0 && std::fflush(out) == 0;
        const int reason = errno;
        if (out != nullptr) std::fclose(out);
        if (!written && is_managed_interrupt(c.file, reason))
            code = std::max(code, report_managed(file.string()));
        else if (!written)
            code = complain(fmt::format("{}: {}", file.string(), std::strerror(reason)));
        else if (const std::string lack = shortfall(root, c); !lack.empty())
            code = complain(fmt::format("{}: {}", file.string(), lack));
    }
    return code;
}

int fix(const doctor::machine& m, const doctor::request& r,
        const std::vector<doctor::diagnosis>& found) {
    const auto changes = chosen(found, r.fix);
    if (changes.empty()) return print("nothing to change\n") ? 0 : is_wrong;
    if (!print(doctor::diff_of(changes))) return is_wrong;
    if (r.yes) return write_changes(m.root(), changes);
    return print("nothing was written; --yes writes it. It lasts until the next boot.\n")
               ? 0
               : is_wrong;
}

bool record(const doctor::machine& m, const std::string& file) {
    if (file == "-") return print(m.recording());
    std::ofstream out(file);
    out << m.recording();
    out.close();
    return static_cast<bool>(out);
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    const auto line = doctor::read_command_line(argc, argv);
    if (!line.wanted) return line.exit_code;
    const doctor::request& r = *line.wanted;
    const auto m = r.replay.empty() ? result<doctor::machine>(doctor::machine(r.root))
                                    : doctor::machine::replay(r.replay);
    if (!m) return complain(m.error().message());
    if (!r.fix.empty() && m->is_replay())
        return complain("--fix changes this machine: it does not go with --replay");
    const auto wanted =
        r.config.empty() ? result<doctor::plan>(doctor::plan{}) : doctor::plan_of(*m, r.config);
    if (!wanted) return complain(wanted.error().message());
    const auto found = doctor::examine(*m, *wanted);
    if (!r.record.empty() && !record(*m, r.record))
        return complain(r.record + ": cannot be written");
    if (!r.fix.empty()) return fix(*m, r, found);
    if (r.record != "-" && !print(r.json ? doctor::json_of(found) : doctor::text_of(found)))
        return complain("cannot write to standard output");
    return doctor::count_of(found, doctor::severity::error) != 0 ? has_errors : 0;
}
