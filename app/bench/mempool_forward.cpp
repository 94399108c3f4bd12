// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "mempool_cells.hpp"

namespace turnpike::bench {
namespace {

namespace fs = std::filesystem;

/// Busy cycles per packet of a cross-connect between two generating simnics, 64-byte frames, one
/// worker.
double forward(const fs::path& program, const char* ops, uint32_t object_bytes) {
    constexpr uint32_t around = 64 + 128 + 64;  // mempool's header, mbuf, turnpike's private area
    const temporary_file config, report;
    std::ofstream(config.path()) << fmt::format(
        "eal: {{args: \"-l 0-1 --in-memory --no-pci --no-telemetry --log-level=4\"}}\n"
        "mempool: {{buffers: 8192, buffer_size: {}, ops: {}}}\n"
        "ports:\n"
        "  - {{name: left, mtu: 512, device: \"net_simnic0,wire=gen\"}}\n"
        "  - {{name: right, mtu: 512, device: \"net_simnic1,wire=gen\"}}\n"
        "xconnects: [[left, right]]\n",
        object_bytes - around, ops);
    const auto done = run_child({program.string(), "--config", config.path(), "--duration", "0.4",
                                 "--report", report.path()},
                                std::chrono::seconds(20));
    if (done.exit_code != 0)
        throw std::runtime_error(fmt::format("turnpike exited with {}", done.exit_code));
    std::ifstream in(report.path());
    return nlohmann::json::parse(in)["workers"][0]["cpp"].get<double>();
}

}  // namespace

void forward_cells(harness& h) {
    const fs::path program = turnpike_program();
    for (const uint32_t bytes : {1024u, 2048u, 2368u, 4096u, 8192u}) {
        nlohmann::json cell{{"op", "forward"},
                            {"forwarder", "turnpike"},
                            {"handler", "cache_aware"},
                            {"object_bytes", bytes},
                            {"bulk", 32},
                            {"lcores", 1},
                            {"cache", 256},
                            {"peer", nullptr}};
        if (program.empty()) {
            cell["why"] = "no turnpike found beside this program";
        } else {
            const contender all[] = {
                {"ours", [&] { return forward(program, "cache_aware", bytes); }},
                {"ring_mp_mc", [&] { return forward(program, "ring_mp_mc", bytes); }}};
            const auto cycles = interleave(all, h.repetitions());
            cell.update(
                {{"cycles", cycles[0]}, {"peer", "ring_mp_mc"}, {"peer_cycles", cycles[1]}});
            h.print(fmt::format("forward {:5} bytes: ours {:6.1f}  ring_mp_mc {:6.1f}", bytes,
                                cycles[0], cycles[1]));
        }
        h.add_cell(cell);
    }
}

}  // namespace turnpike::bench
