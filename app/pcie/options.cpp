// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/parse.hpp"
#include "frame_list.hpp"
#include "pcie/detect.hpp"
#include "pcie/profile_yaml.hpp"
#include "version.hpp"

namespace turnpike::pcie_tool {
namespace {

/// Arguments as given.
struct arguments {
    std::vector<std::string> profiles;
    std::string profiles_file;
    std::string link = "gen3x8";
    std::optional<uint16_t> mps, mrrs, rcb;
    bool addr32 = false, ecrc = false;
    std::string detect, sysfs = "/sys";
    std::optional<std::string> frames;
    double burst = 32;
    std::optional<double> ethernet_gbps;
    bool as_published = false, json = false, csv = false, list_profiles = false;
    std::string figure;
};

constexpr const char* about =
    "turnpike-pcie: PCIe cost of a packet, by NIC, driver, link and frame size.\n"
    "It is a model, without device access; for measurements see turnpike-pcie measure --help.\n\n"
    "  turnpike-pcie --profile ixgbe,i40e --frame 64,1518\n"
    "  turnpike-pcie --profile niantic-dpdk --link gen3x8 --mps 256 --mrrs 512 --frame 64-1500 "
    "--json\n"
    "  turnpike-pcie --figure figure1       (writes figure1.svg and figure1.png)\n"
    "  turnpike-pcie --detect 0000:3b:00.0 --profile ixgbe\n";

void add_model_options(CLI::App& app, arguments& a) {
    app.add_option("--profile", a.profiles,
                   "NIC profiles by name, separated by commas, or all (the default)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NAME,...");
    app.add_option("--profiles", a.profiles_file, "YAML file with your own profiles")
        ->type_name("FILE");
    app.add_flag("--list-profiles", a.list_profiles,
                 "list the sources and assumptions of each profile");
    app.add_option("--frame", a.frames,
                   "frame sizes with FCS: 64, 64-1500, 64-1500:4, separated by commas (default 64)")
        ->type_name("SIZES");
    app.add_option("--burst", a.burst, "mean packets per driver call (default 32)")->type_name("N");
    app.add_option("--ethernet", a.ethernet_gbps,
                   "speed of the port, 0 for none (default: the profile's)")
        ->type_name("GBPS");
    app.add_flag(
        "--as-published", a.as_published,
        "reproduce the error in the published Figure 1: receive descriptor fetches without "
        "their read request");
}

void add_link_options(CLI::App& app, arguments& a) {
    auto* const link = app.add_option("--link", a.link, "generation and lanes (default gen3x8)")
                           ->type_name("genGxL");
    app.add_option("--mps", a.mps, "Maximum Payload Size (default 256)")->type_name("BYTES");
    app.add_option("--mrrs", a.mrrs, "Maximum Read Request Size (default 512)")->type_name("BYTES");
    app.add_option("--rcb", a.rcb, "Read Completion Boundary (default 64)")->type_name("BYTES");
    app.add_flag("--addr32", a.addr32, "requests carry 32-bit addresses");
    app.add_flag("--ecrc", a.ecrc, "TLPs carry the end-to-end CRC");
    app.add_option("--detect", a.detect,
                   "read the link of this device; --mps, --mrrs, --rcb override it")
        ->type_name("PCI_ADDRESS")
        ->excludes(link);
    app.add_option("--sysfs", a.sysfs, "root of sysfs for --detect (default /sys)")
        ->type_name("FOLDER");
}

void add_output_options(CLI::App& app, arguments& a) {
    auto* const json =
        app.add_flag("--json", a.json, "print one JSON object (of at most 16384 cells)");
    app.add_flag("--csv", a.csv, "print comma-separated values")->excludes(json);
    app.add_option(
           "--figure", a.figure,
           "draw bandwidth against frame size into FILE.svg and FILE.png (needs gnuplot); by "
           "default the profiles of Figure 1 from 64 to 1500 bytes")
        ->type_name("FILE");
}

result<pcie::link> chosen_link(const arguments& a) {
    auto link = a.detect.empty() ? pcie::parse_link(a.link) : pcie::detect_link(a.sysfs, a.detect);
    if (!link) return link;
    link->mps = a.mps.value_or(link->mps);
    link->mrrs = a.mrrs.value_or(link->mrrs);
    link->sizes_assumed &= !a.mps || !a.mrrs;
    link->rcb = a.rcb.value_or(link->rcb);
    if (a.addr32) link->addr64 = false;
    if (a.ecrc) link->ecrc = true;
    if (const auto good = pcie::validate(*link); !good) return tl::unexpected<error>(good.error());
    return link;
}

/// The paper's curves, lowest overhead first.
const std::vector<std::string> figure_1_profiles{"data-only", "niantic-dpdk", "niantic-kernel",
                                                 "simple"};

result<void> choose_profiles(const arguments& a, request& r) {
    size_t own = 0;
    if (!a.profiles_file.empty()) {
        auto loaded = pcie::load_profiles(a.profiles_file);
        if (!loaded) return tl::unexpected<error>(loaded.error());
        own = loaded->size();
        r.known = std::move(*loaded);
    }
    const auto built_in = pcie::builtin_profiles();
    r.known.insert(r.known.end(), built_in.begin(), built_in.end());

    std::vector<std::string> names = a.profiles;
    if (names.empty() && own > 0) {
        for (size_t i = 0; i < own; ++i) names.push_back(r.known[i].name);
    } else if (names.empty() && !a.figure.empty()) {
        names = figure_1_profiles;
    }
    if (names.empty() || names == std::vector<std::string>{"all"}) {
        r.profiles = r.known;
        return {};
    }
    for (const auto& name : names) {
        auto found = pcie::find_profile(name, r.known);
        if (!found) return tl::unexpected<error>(found.error());
        r.profiles.push_back(std::move(*found));
    }
    return {};
}

/// FILE, FILE.svg and FILE.png all denote the same two files.
result<std::string> figure_stem(const std::string& file) {
    std::filesystem::path path(file);
    if (path.extension() == ".svg" || path.extension() == ".png") path.replace_extension();
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    if (path.filename().empty() || !std::filesystem::is_directory(folder))
        return fail(EINVAL, "--figure '" + file + "'", "specify a file name in an existing folder");
    return path.string();
}

/// A cell is 14 kB of JSON. All frame sizes of one profile are 16,321 cells.
constexpr size_t max_json_cells = 16'384;

result<request> check(const arguments& a) {
    request r;
    if (const auto good = choose_profiles(a, r); !good) return tl::unexpected<error>(good.error());
    auto link = chosen_link(a);
    if (!link) return tl::unexpected<error>(link.error());
    r.link = *link;
    r.detected = a.detect;
    auto frames = parse_frame_list(a.frames.value_or(a.figure.empty() ? "64" : "64-1500"));
    if (!frames) return tl::unexpected<error>(frames.error());
    r.frames = std::move(*frames);
    if (!(a.burst >= 1 && a.burst <= 65536))
        return fail(EINVAL, "--burst", "a burst has 1 to 65536 packets");
    r.burst = a.burst;
    if (a.ethernet_gbps && !(*a.ethernet_gbps >= 0 && *a.ethernet_gbps <= 10'000))
        return fail(EINVAL, "--ethernet", "a port's speed is 0 (none) to 10000 Gb/s");
    r.ethernet_gbps = a.ethernet_gbps;
    if (a.as_published) r.slip = pcie::published_slip::reproduced;
    r.format = a.json ? output::json : a.csv ? output::csv : output::table;
    if (!a.figure.empty()) {
        auto stem = figure_stem(a.figure);
        if (!stem) return tl::unexpected<error>(stem.error());
        r.figure = std::move(*stem);
    }
    r.list_profiles = a.list_profiles;
    const size_t cells = r.profiles.size() * r.frames.size();
    if (r.format == output::json && cells > max_json_cells)
        return fail(
            EINVAL, "--json",
            fmt::format("{} profiles at {} frame sizes are {} cells; one JSON object can have "
                        "at most {}: request fewer, or use --csv",
                        r.profiles.size(), r.frames.size(), cells, max_json_cells));
    r.link_only = !a.detect.empty() && a.profiles.empty() && a.profiles_file.empty() && !a.frames &&
                  a.figure.empty();
    return r;
}

}  // namespace

command_line read_command_line(int argc, char** argv) {
    CLI::App app{about, "turnpike-pcie"};
    arguments a;
    app.set_version_flag("--version", std::string(version));
    add_model_options(app, a);
    add_link_options(app, a);
    add_output_options(app, a);
    try {
        parse_words(app, {argv + 1, argv + argc});
    } catch (const CLI::ParseError& e) {
        return {std::nullopt, exit_code_of(app, e)};
    }
    auto checked = check(a);
    if (!checked) {
        fmt::print(stderr, "turnpike-pcie: {}\n", checked.error().message());
        return {std::nullopt, exit_refused};
    }
    return {std::move(*checked), 0};
}

}  // namespace turnpike::pcie_tool
