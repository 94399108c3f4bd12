// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-mempool: the mempool handler cache_aware beside DPDK's, in one process; described
// in doc/bench-mempool.md.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "harness.hpp"
#include "mempool_cells.hpp"

namespace turnpike::bench {
namespace {

int run(int argc, char** argv) {
    harness h("mempool", "the mempool handler cache_aware beside DPDK's handlers");
    std::vector<std::string> ops;
    h.add_option("--op", ops, "tests to run: get_put, pipeline, walk, forward",
                 {"get_put", "pipeline", "walk", "forward"});
    if (const auto stop = h.start(argc, argv, 1500, 2)) return *stop;
    const auto wanted = [&](const char* op) {
        return ops.empty() || std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    if (wanted("walk")) walk_cells(h);
    if (wanted("get_put")) get_put_cells(h);
    if (wanted("pipeline")) pipeline_cells(h);
    if (wanted("forward")) forward_cells(h);

    const auto least = [&](const char* key,
                           const std::function<bool(const nlohmann::json&)>& pick) {
        const auto found = summarise(h.cells(), key, pick).least;
        return found ? nlohmann::json(*found) : nlohmann::json(nullptr);
    };
    const auto is_walk = [](const nlohmann::json& c) { return c["op"] == "walk"; };
    h.summary() = {{"worst_set_max_over_mean", worst_set(h.cells())},
                   {"worst_overhead", worst_overhead(h.cells())},
                   {"walk_pow2_vs_naive_min",
                    least("ratio_to_naive",
                          [&](const nlohmann::json& c) {
                              const auto bytes = c["object_bytes"].get<unsigned>();
                              return is_walk(c) && (bytes == 2048 || bytes == 4096) &&
                                     c["working_set"].get<unsigned>() <= 1024;
                          })},
                   {"walk_vs_dpdk_min", least("ratio", is_walk)},
                   {"get_put_bulk32_min", least("ratio", [&](const nlohmann::json& c) {
                        return (c["op"] == "get_put" || c["op"] == "pipeline") && c["bulk"] == 32;
                    })}};
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-mempool", turnpike::bench::run, argc, argv);
}
