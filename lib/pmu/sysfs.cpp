// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/sysfs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>

namespace turnpike::pmu {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_bytes = 64 << 10;  // limit for one sysfs file, which holds a page at most

result<std::string> read_text(const fs::path& file) {
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text;
    if (in) {
        text.resize(max_bytes);
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<size_t>(in.gcount()));
    }
    if (!in && !in.eof()) return fail(errno != 0 ? errno : EIO, file.string(), "cannot be read");
    return text;
}

/// Parse a file's contents; adds the file's name to the error.
template <class Parse>
auto read_as(const fs::path& file, const Parse& parse) -> decltype(parse(std::string_view{})) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected<error>(text.error());
    auto value = parse(std::string_view(*text));
    if (!value) return fail(EINVAL, file.string(), value.error().text);
    return value;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
         at.increment(ignored))
        names.push_back(at->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The number after `front`, if the name consists of both and nothing else.
std::optional<unsigned> number_behind(std::string_view name, std::string_view front) {
    if (!name.starts_with(front)) return {};
    name.remove_prefix(front.size());
    unsigned n = 0;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), n);
    if (code != std::errc() || end != name.data() + name.size()) return {};
    return n;
}

fs::path pmus(const fs::path& root) { return root / "bus/event_source/devices"; }

/// A number from an optional file.
std::optional<uint64_t> number_of(const fs::path& file) {
    const auto n = read_as(file, parse_number);
    return n ? std::optional(*n) : std::nullopt;
}

/// GT/s of "16.0 GT/s PCIe"; 0 if malformed.
double gigatransfers(const std::string& text) {
    double speed = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), speed);
    return code == std::errc() &&
                   std::string_view(end, text.data() + text.size()).starts_with(" GT/s")
               ? speed
               : 0;
}

/// "0000:3a" of ".../pci0000:3a/0000:3a:00.0/0000:3b:00.0".
std::string root_bus_of(const fs::path& real) {
    for (const fs::path& part : real)
        if (const std::string name = part.string(); name.starts_with("pci"))
            if (auto bus = parse_root_bus(std::string_view(name).substr(3))) return *bus;
    return {};
}

constexpr std::string_view class_bridge = "0x06";

}  // namespace

result<device> read_device(const fs::path& root, std::string_view name) {
    const fs::path folder = pmus(root) / name;
    std::error_code ignored;
    if (!fs::exists(folder, ignored))
        return fail(ENOENT, std::string(name),
                    "this kernel has no such PMU (a virtual machine without one, or its driver is "
                    "not loaded)");
    device d{.name = std::string(name)};
    const auto type = read_as(folder / "type", parse_number);
    if (!type) return tl::unexpected<error>(type.error());
    d.type = static_cast<uint32_t>(*type);
    for (const char* list : {"cpumask", "cpus"})
        if (d.cpus.empty() && fs::exists(folder / list, ignored)) {
            auto cpus = read_as(folder / list, parse_cpu_list);
            if (!cpus) return tl::unexpected<error>(cpus.error());
            // `cpus` of a core PMU (some kernels) lists all CPUs that have it: it counts on each of
            // them.
            if (std::string_view(list) == "cpumask") d.cpus = std::move(*cpus);
        }
    for (const std::string& term : names_in(folder / "format")) {
        auto format = read_as(folder / "format" / term,
                              [&](std::string_view text) { return parse_format(term, text); });
        if (!format) return tl::unexpected<error>(format.error());
        d.formats.push_back(std::move(*format));
    }
    for (const std::string& file : names_in(folder)) {
        const auto die = number_behind(file, "die");
        if (!die) continue;
        auto bus = read_as(folder / file, parse_root_bus);
        if (!bus && bus.error().code != EINVAL) return tl::unexpected<error>(bus.error());
        if (bus) d.root_buses[*die] = std::move(*bus);  // other PMUs have other contents there
    }
    return d;
}

std::vector<std::string> devices_of(const fs::path& root, std::string_view kind) {
    std::vector<std::pair<unsigned, std::string>> numbered;
    for (std::string& name : names_in(pmus(root))) {
        if (name == kind) return {std::move(name)};
        if (const auto n = number_behind(name, std::string(kind) + "_"))
            numbered.emplace_back(*n, std::move(name));
    }
    std::sort(numbered.begin(), numbered.end());
    std::vector<std::string> names;
    for (auto& [n, name] : numbered) names.push_back(std::move(name));
    return names;
}

result<cpu_model> read_cpu_model(const fs::path& root) {
    return read_as(root / "devices/system/cpu/modalias", parse_modalias);
}

bool smt_active(const fs::path& root) {
    return number_of(root / "devices/system/cpu/smt/active").value_or(0) == 1;
}

std::optional<unsigned> package_of_cpu(const fs::path& root, unsigned cpu) {
    const auto n =
        number_of(root / fmt::format("devices/system/cpu/cpu{}/topology/physical_package_id", cpu));
    return n ? std::optional(static_cast<unsigned>(*n)) : std::nullopt;
}

std::optional<unsigned> package_of_node(const fs::path& root, unsigned node) {
    const auto cpus =
        read_as(root / fmt::format("devices/system/node/node{}/cpulist", node), parse_cpu_list);
    if (!cpus) return {};
    for (const unsigned cpu : *cpus)
        if (const auto package = package_of_cpu(root, cpu)) return package;
    return {};
}

result<pci_device> read_pci_device(const fs::path& root, std::string_view address) {
    const fs::path folder = root / "bus/pci/devices" / address;
    std::error_code failed;
    const fs::path real = fs::canonical(folder, failed);
    const bool plain =
        address.find('/') == std::string_view::npos && !address.empty() && address[0] != '.';
    if (failed || !plain)
        return fail(ENODEV, std::string(address),
                    "no such PCI device; lspci -D lists the existing ones");
    pci_device d{.address = std::string(address), .root_bus = root_bus_of(real)};
    if (d.root_bus.empty())
        return fail(EINVAL, real.string(), "its path names no PCI root bus (pci0000:3a)");
    if (const auto text = read_text(real / "numa_node"))
        std::from_chars(text->data(), text->data() + text->size(), d.node);
    for (const char* const which : {"current", "max"}) {
        const auto speed = read_text(real / fmt::format("{}_link_speed", which));
        const auto lanes = number_of(real / fmt::format("{}_link_width", which));
        if (speed && lanes && *lanes <= 32)  // 63 and 255 mean unknown
            d.max_mb_s = gigatransfers(*speed) * 1000 / 8 * static_cast<double>(*lanes) * 2;
        if (d.max_mb_s > 0) break;
    }
    return d;
}

result<stack> find_stack(const fs::path& root, const pci_device& of) {
    const auto names = devices_of(root, "uncore_iio");
    if (names.empty())
        return fail(ENOENT, of.address,
                    "this kernel has no uncore_iio PMU, so the PCIe root has no counters");
    for (const std::string& name : names) {
        auto iio = read_device(root, name);
        if (!iio) return tl::unexpected<error>(iio.error());
        for (const auto& [die, bus] : iio->root_buses) {
            if (bus != of.root_bus) continue;
            // cpumask has a CPU per die, in the kernel's order of dies.
            if (die >= iio->cpus.size())
                return fail(EINVAL, name, fmt::format("its cpumask has no CPU for die {}", die));
            stack s{.device = name,
                    .number = number_behind(name, "uncore_iio_").value_or(0),
                    .die = die,
                    .cpu = iio->cpus[die],
                    .shared = {}};
            for (const std::string& other : names_in(root / "bus/pci/devices")) {
                if (other == of.address) continue;
                const auto found = read_pci_device(root, other);
                const auto kind = read_text(root / "bus/pci/devices" / other / "class");
                if (found && found->root_bus == of.root_bus &&
                    !(kind && std::string_view(*kind).starts_with(class_bridge)))
                    s.shared.push_back(other);
            }
            return s;
        }
    }
    return fail(ENOENT, of.address,
                fmt::format("no IIO stack is mapped to root bus {} (die* of uncore_iio_*, "
                            "Linux 5.8 and later)",
                            of.root_bus));
}

}  // namespace turnpike::pmu
