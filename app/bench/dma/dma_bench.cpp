// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-dma: pcie-bench's five micro-benchmarks on a dmadev engine; described in
// doc/bench-dma.md.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cache/geometry.hpp"
#include "engine.hpp"
#include "figures.hpp"
#include "harness.hpp"
#include "paper.hpp"
#include "plan.hpp"
#include "test_bed.hpp"

namespace turnpike::bench::dma {
namespace {

using nlohmann::json;

struct options {
    wish rows;
    std::string device, link = "gen3x8", figures, against;
    int depth = 256, transfers = 0;
};

void declare(harness& h, options& o) {
    h.default_device("--vdev=dma_skeleton0");
    h.add_option("--dev", o.device, "EAL's name of the dmadev; default: the first");
    h.add_option("--test", o.rows.tests, "tests to run: LAT_RD, LAT_WRRD, BW_RD, BW_WR, BW_RDWR");
    h.add_option("--pattern", o.rows.patterns, "sequential or random");
    h.add_option("--offset", o.rows.offsets, "offset in bytes from the start of a cache line");
    h.add_option("--size", o.rows.sizes, "bytes per transfer: 64, 1K, ...");
    h.add_option("--window", o.rows.windows, "bytes of the window: 8K, 64M, ...");
    h.add_option("--cache", o.rows.caches, "cold, warm, device (warmed by the engine) or thrash");
    h.add_option("--node", o.rows.nodes, "the NUMA node of the window");
    h.add_option("--depth", o.depth, "maximum transfers in flight in bandwidth tests (256)");
    h.add_option("--transfers", o.transfers,
                 "transfers per repetition (latency 20000, bandwidth 100000; --quick a tenth)");
    h.add_option("--link", o.link, "the link of the modelled curves (gen3x8, the paper's)");
    h.add_option("--figures", o.figures,
                 "folder for the paper's figures 4 to 9, drawn from this run");
    h.add_option("--against", o.against, "an earlier run's JSON, for figure 9");
}

struct bench_host {
    std::vector<int> nodes;
    uint64_t last_cache_bytes;
};

bench_host this_host() {
    bench_host here{{}, 0};
    for (unsigned i = 0; i < rte_socket_count(); ++i) here.nodes.push_back(rte_socket_id_by_idx(i));
    for (const cache::level& level : cache::geometry_or_typical().levels)
        here.last_cache_bytes = std::max(here.last_cache_bytes, level.size_bytes());
    return here;
}

/// The sysfs folder of a device that EAL names by its PCI address ("0000:00:01.0", idxd's
/// "0000:6a:01.0-q0").
std::filesystem::path pci_folder(const std::string& device) {
    const auto folder =
        std::filesystem::path("/sys/bus/pci/devices") / device.substr(0, device.find('-'));
    return device.find(':') != std::string::npos && std::filesystem::exists(folder)
               ? folder
               : std::filesystem::path();
}

/// The cost of two clock reads, in cycles: the lower limit of a latency.
double clock_cycles() {
    std::vector<double> seen;
    for (int i = 0; i < 1001; ++i) {
        const uint64_t start = rte_rdtsc_precise();
        seen.push_back(static_cast<double>(rte_rdtsc_precise() - start));
    }
    return median(std::move(seen));
}

double ns_of(double cycles) { return cycles * 1e9 / static_cast<double>(rte_get_tsc_hz()); }
double gbps_of(double cycles, uint32_t bytes) { return 8.0 * bytes / ns_of(cycles); }

json latency_json(const distribution& d) {
    json cdf = json::array();
    for (const auto& [value, share] : d.cdf()) cdf.push_back({ns_of(value), share});
    return {{"min", ns_of(d.quantile(0))},
            {"mean", ns_of(d.mean())},
            {"median", ns_of(d.quantile(0.5))},
            {"p95", ns_of(d.quantile(0.95))},
            {"p99", ns_of(d.quantile(0.99))},
            {"p999", ns_of(d.quantile(0.999))},
            {"max", ns_of(d.quantile(1))},
            {"count", d.count()},
            {"cdf", cdf}};
}

json cell_of(const row& r, const row_result& seen, const engine& e, const pcie::link& link,
             int local_node) {
    const method m = done_by(r.test, e.can_fill());
    const double cycles = median(seen.cycles);
    json cell{
        {"test", name_of(r.test)},
        {"pattern", r.pattern == access_pattern::random ? "random" : "sequential"},
        {"offset", r.window.offset_bytes},
        {"size", r.window.transfer_bytes},
        {"window", r.window.bytes},
        {"cache", name_of(r.cache)},
        {"node", seen.node},
        {"local", local_node < 0 || seen.node == local_node},
        {"means", name_of(m.means)},
        {"transfers", seen.transfers},
        {"cycles", cycles},
        {"repetitions",
         {*std::ranges::min_element(seen.cycles), *std::ranges::max_element(seen.cycles)}},
        {"checked_bytes", seen.checked_bytes},
        {"peer", nullptr},
        {"why", "the measured object is the engine; its figures also show the paper's numbers"}};
    if (seen.latency) cell["latency_ns"] = latency_json(*seen.latency);
    if (const auto modelled = modelled_gbps(link, r.test, r.window)) {
        cell["gbps"] = gbps_of(cycles, r.window.transfer_bytes);
        cell["model_gbps"] = *modelled;
    }
    return cell;
}

std::string line_of(const json& cell) {
    const char* const sign = cell["means"] == "upper_bound"   ? "<="
                             : cell["means"] == "lower_bound" ? ">="
                                                              : "";
    std::string line = fmt::format("{:8} {:>5} bytes at {:>2}, window {:>4}, {}, {}, node {}: ",
                                   cell["test"].get<std::string>(), cell["size"].get<int>(),
                                   cell["offset"].get<int>(), bytes_text(cell["window"]),
                                   cell["pattern"].get<std::string>(),
                                   cell["cache"].get<std::string>(), cell["node"].get<int>());
    if (cell.contains("latency_ns")) {
        const json& ns = cell["latency_ns"];
        return line + fmt::format("{:>2} {:.0f} ns (min {:.0f}, 95 % {:.0f}, 99 % {:.0f})", sign,
                                  ns["median"].get<double>(), ns["min"].get<double>(),
                                  ns["p95"].get<double>(), ns["p99"].get<double>());
    }
    return line + fmt::format("{:>2} {:.2f} Gb/s (modelled link: {:.2f})", sign,
                              cell["gbps"].get<double>(), cell["model_gbps"].get<double>());
}

/// Print and record the engine, and how it performs each test.
void print_engine(harness& h, const engine& e) {
    const auto folder = pci_folder(e.name());
    const bool on_pci = !folder.empty();
    json& summary = h.summary();
    summary["engine"] = {
        {"name", e.name()},
        {"capabilities", capability_words(e.capabilities())},
        {"node", e.node()},
        {"depth", e.depth()},
        {"pci", on_pci},
        {"iommu_group",
         on_pci ? json(std::filesystem::exists(folder / "iommu_group")) : json(nullptr)}};
    h.print(fmt::format("engine: {} ({}), {} in flight", e.name(),
                        fmt::join(capability_words(e.capabilities()), ", "), e.depth()));
    if (!on_pci)
        h.print(
            "it is not a PCI device: no figure shows PCIe. A virtual engine shows only how it and "
            "the "
            "host's caches work.");
    for (const auto test :
         {micro_benchmark::lat_rd, micro_benchmark::lat_wrrd, micro_benchmark::bw_rd,
          micro_benchmark::bw_wr, micro_benchmark::bw_rdwr}) {
        const method m = done_by(test, e.can_fill());
        summary["tests"][name_of(test)] = {{"means", name_of(m.means)}, {"how", m.how}};
        h.print(fmt::format("{:8} {:11} {}", name_of(test), name_of(m.means), m.how));
    }
}

/// The rows that the summary names: a warm window of 8K, 64 bytes.
void summarise_baseline(harness& h) {
    constexpr std::pair<const char*, const char*> names[] = {{"LAT_RD", "lat_rd_64_ns"},
                                                             {"LAT_WRRD", "lat_wrrd_64_ns"},
                                                             {"BW_RD", "bw_rd_64_gbps"},
                                                             {"BW_WR", "bw_wr_64_gbps"},
                                                             {"BW_RDWR", "bw_rdwr_64_gbps"}};
    for (const auto& [test, name] : names) {
        json& value = h.summary()[name] = nullptr;
        for (const json& c : h.cells())
            if (value.is_null() && c["test"] == test && c["size"] == 64 &&
                c["window"] == usual_window.bytes && c["cache"] == "warm" &&
                c["pattern"] == "random" && c["offset"] == 0 && c["local"] == true)
                value = c.contains("gbps") ? c["gbps"] : c["latency_ns"]["median"];
    }
}

/// The cells of an earlier run's JSON.
result<json> cells_of_run(const std::string& path) {
    std::ifstream file(path);
    if (!file) return fail(errno, path, "cannot be read");
    const json run = json::parse(file, nullptr, false);
    if (!run.is_object() || run.value("schema", "") != "turnpike.bench/1" ||
        run.value("bench", "") != "dma")
        return fail(EINVAL, path,
                    "is not a run of turnpike-bench-dma: save one with --json > FILE");
    return run["cells"];
}

/// A figure that cannot be written does not end the others. Returns whether each was written that has rows.
bool draw(harness& h, const options& o, const pcie::link& link, const json* against,
          uint64_t last_cache_bytes) {
    json& figures = h.summary()["figures"];
    bool whole = true;
    for (const auto& [number, drawing, why] :
         figures_of({h.cells(), against, link, last_cache_bytes})) {
        std::string what = "not drawn: " + why;
        if (why.empty()) {
            const auto drawn = write_picture(drawing, o.figures);
            const std::string base = (std::filesystem::path(o.figures) / drawing.name).string();
            what = !drawn   ? "not drawn: " + drawn.error().message()
                   : *drawn ? base + ".svg"
                            : "not drawn: gnuplot is not installed; data and script are " + base +
                                  ".dat, .gnuplot";
            whole = whole && drawn.has_value();
        }
        h.print(fmt::format("figure {}: {}", number, what));
        figures[std::to_string(number)] = what;
    }
    return whole;
}

/// Check the remaining options before the measurement.
result<void> check(const options& o) {
    if (o.depth < 1 || o.depth > 65535)
        return fail(EINVAL, "--depth", fmt::format("{} is not 1 to 65535", o.depth));
    if (o.transfers < 0 || o.transfers > 10'000'000)
        return fail(EINVAL, "--transfers", fmt::format("{} is not 1 to 10000000", o.transfers));
    if (!o.figures.empty() && !std::filesystem::is_directory(o.figures))
        return fail(ENOTDIR, "--figures", fmt::format("'{}' is not a folder", o.figures));
    return {};
}

/// Returns draw()'s result.
result<bool> measure(harness& h, const options& o) {
    if (auto sensible = check(o); !sensible) return tl::unexpected(sensible.error());
    const auto link = pcie::parse_link(o.link);
    if (!link) return tl::unexpected(link.error());
    json against;
    if (!o.against.empty()) {
        auto read = cells_of_run(o.against);
        if (!read) return tl::unexpected(read.error());
        against = std::move(*read);
    }
    auto e = engine::open(o.device, static_cast<unsigned>(o.depth));
    if (!e) return tl::unexpected(e.error());
    const bench_host here = this_host();
    const int local_node = (*e)->node() >= 0 || here.nodes.size() < 2
                               ? (*e)->node()
                               : static_cast<int>(rte_socket_id());
    const auto rows = rows_of(o.rows, local_node, here.nodes);
    if (!rows) return tl::unexpected(rows.error());
    test_bed bed(**e, here.last_cache_bytes);
    if (auto there = bed.reserve(*rows); !there) return tl::unexpected(there.error());
    print_engine(h, **e);
    h.summary()["nodes"] = here.nodes;
    h.summary()["last_cache_bytes"] = here.last_cache_bytes;
    h.summary()["clock_ns"] = ns_of(clock_cycles());
    for (const row& r : *rows) {
        const uint64_t usual = (is_latency(r.test) ? 20'000u : 100'000u) / (h.quick() ? 10 : 1);
        const uint64_t transfers = o.transfers > 0 ? static_cast<uint64_t>(o.transfers) : usual;
        h.print(line_of(h.add_cell(
            cell_of(r, bed.run(r, transfers, h.repetitions()), **e, *link, local_node))));
    }
    summarise_baseline(h);
    return o.figures.empty() ||
           draw(h, o, *link, o.against.empty() ? nullptr : &against, here.last_cache_bytes);
}

int run(int argc, char** argv) {
    harness h("dma", "pcie-bench's micro-benchmarks on a dmadev");
    options o;
    declare(h, o);
    if (const auto code = h.start(argc, argv, 256)) return *code;
    result<bool> done = false;
    try {
        done = measure(h, o);
    } catch (const void_run& e) {
        h.print(std::string("turnpike-bench-dma: ") + e.what());
        return 1;
    }
    if (!done) {
        h.print("turnpike-bench-dma: " + done.error().message());
        return done.error().code == EINVAL ? 2 : 1;
    }
    const int code = h.finish();
    return code == 0 && !*done ? 1 : code;
}

}  // namespace
}  // namespace turnpike::bench::dma

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-dma", turnpike::bench::dma::run, argc, argv);
}
