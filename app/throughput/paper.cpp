// SPDX-License-Identifier: BSD-3-Clause
#include "paper.hpp"

#include <algorithm>
#include <filesystem>

#include "yaml/reader.hpp"

namespace turnpike::throughput {
namespace {

using yaml::reader;

scale_plan paper_plan_of(const reader& r, const std::filesystem::path& folder) {
    r.expect_map({"name", "run", "ready", "ready_ms", "report", "workloads"}, sweep_keys);
    scale_plan plan = plan_head_of(r, folder);
    plan.unit = "cores";
    plan.goes_on = true;
    const sweep over = read_sweep(r);
    std::vector<std::string> names;
    for (const reader& w : r.at("workloads").list("workloads")) {
        w.expect_map({"name", "device", "run", "score"});
        names.push_back(w.at("name").text());
        if (std::ranges::count(names, names.back()) > 1)
            w.at("name").refuse("is the name of another workload");
        scale_step like{.name = names.back(), .where = w.where()};
        if (w.has("score")) {
            for (const char* key : {"device", "run"})
                if (w.has(key)) w.at(key).refuse("excludes score, a command that sends no frames");
            like.score = w.at("score").text();
        } else {
            like.device = w.at("device").text();
            like.run = folder / (w.has("run") ? w : r).at("run").text();
        }
        for (scale_step& step : steps_of(over, like)) plan.steps.push_back(std::move(step));
    }
    if (plan.steps.empty()) r.at("workloads").refuse("should have at least one workload");
    return plan;
}

}  // namespace

result<scale_plan> read_paper_plan(const std::string& path) {
    return read_plan_file(path, "paper", paper_plan_of);
}

}  // namespace turnpike::throughput
