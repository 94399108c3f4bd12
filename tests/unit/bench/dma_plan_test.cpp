// SPDX-License-Identifier: BSD-3-Clause
// The rows of turnpike-bench-dma, and the figures that are made of what they found.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

#include "bench/dma/figures.hpp"
#include "bench/dma/paper.hpp"
#include "bench/dma/plan.hpp"

namespace turnpike::bench::dma {
namespace {

using micro = micro_benchmark;
using nlohmann::json;

constexpr int one_node[] = {0}, two_nodes[] = {0, 1};

TEST(bench_dma_plan, without_a_wish_it_is_the_papers_figures_each_row_once) {
    const auto rows = rows_of({}, -1, one_node);
    ASSERT_TRUE(rows);
    for (size_t i = 0; i < rows->size(); ++i) {
        EXPECT_EQ(std::ranges::count((*rows), (*rows)[i]), 1);
        EXPECT_TRUE(validate((*rows)[i].window, least_units((*rows)[i].test)));
        EXPECT_EQ((*rows)[i].node, -1);
    }
    const auto has = [&](micro test, uint32_t size, uint64_t window, cache_state cache) {
        return std::ranges::find(*rows,
                                 row{test, access_pattern::random, {window, size, 0}, cache, -1}) !=
               rows->end();
    };
    for (const micro test :
         {micro::bw_rd, micro::bw_wr, micro::bw_rdwr, micro::lat_rd, micro::lat_wrrd})
        for (const uint32_t size : {64u, 257u, 2048u})
            EXPECT_TRUE(has(test, size, 8192, cache_state::warm));
    for (const uint64_t window : {4096u, 1u << 20, 64u << 20})
        for (const cache_state cache : {cache_state::cold, cache_state::warm}) {
            EXPECT_TRUE(has(micro::lat_rd, 8, window, cache) &&
                        has(micro::lat_wrrd, 8, window, cache));
            EXPECT_TRUE(has(micro::bw_rd, 64, window, cache) &&
                        has(micro::bw_wr, 64, window, cache));
        }
}

TEST(bench_dma_plan, on_two_nodes_reads_are_of_both) {
    const auto rows = rows_of({}, 1, two_nodes);
    ASSERT_TRUE(rows);
    for (const row& r : *rows) {
        if (r.node == 1) continue;
        EXPECT_EQ(r.node, 0);
        EXPECT_EQ(r.test, micro::bw_rd);
        row local = r;
        local.node = 1;
        EXPECT_EQ(std::ranges::count(*rows, local), 1) << "a remote row has its local one";
    }
    EXPECT_EQ(std::ranges::count_if(*rows, [](const row& r) { return r.node == 0; }), 4 * 15);
}

TEST(bench_dma_plan, the_first_wrong_word_is_named) {
    const auto refused = [](const wish& w) {
        const auto rows = rows_of(w, 0, two_nodes);
        return rows ? std::string() : rows.error().message();
    };
    EXPECT_EQ(refused({.tests = {"BW_RD,LAT_RD"}, .sizes = {"64", "1K,2K"}, .nodes = {"0,1"}}), "");
    EXPECT_EQ(refused({.tests = {"BW_RD,"}}).substr(0, 16), "--test: unknown ");
    EXPECT_EQ(refused({.nodes = {"2"}}), "--node: no NUMA node '2'; EAL has memory on 0, 1");
    EXPECT_EQ(refused({.offsets = {"1"}, .sizes = {"4K"}, .windows = {"4K"}}).substr(0, 10),
              "--window: ");
}

/// A cell as the bench makes it.
json cell(micro test, uint32_t size, uint64_t window, double value, bool local = true) {
    json c{{"test", name_of(test)}, {"pattern", "random"},
           {"offset", 0},           {"size", size},
           {"window", window},      {"cache", "warm"},
           {"local", local},        {"means", name_of(done_by(test, false).means)}};
    if (is_latency(test))
        c["latency_ns"] = {{"median", value}, {"min", value / 2}, {"p95", 2 * value}};
    else
        c["gbps"] = value;
    return c;
}

std::vector<figure_or_why> figures(const json& cells, const json* against = nullptr) {
    return figures_of({cells, against, pcie::link{}, 32u << 20});
}

TEST(bench_dma_figures, what_has_no_rows_is_not_drawn_and_says_why) {
    for (const auto& f : figures(json::array({cell(micro::lat_rd, 64, 1 << 20, 400)})))
        EXPECT_EQ(f.why.empty(), f.number == 4) << f.number << ": " << f.why;
}

TEST(bench_dma_figures, another_node_is_a_change_in_per_cent_with_the_papers_beside_it) {
    const json cells =
        json::array({cell(micro::bw_rd, 64, 65536, 40), cell(micro::bw_rd, 64, 65536, 30, false),
                     cell(micro::bw_rd, 512, 4096, 50), cell(micro::bw_rd, 512, 4096, 50, false),
                     cell(micro::bw_rd, 128, 4096, 50)});
    const auto all = figures(cells);
    ASSERT_EQ(all[4].number, 8);
    EXPECT_EQ(all[4].why, "");
    const panel& p = all[4].drawing.panels.at(0);
    ASSERT_EQ(p.curves.size(), 2u + 5u);  // 64 and 512 bytes; the paper has five
    EXPECT_EQ(p.curves[0].title, "64 bytes");
    EXPECT_EQ(p.curves[0].points.size(), 1u);
    EXPECT_DOUBLE_EQ(p.curves[0].points[0].y, -25);
    EXPECT_DOUBLE_EQ(p.curves[1].points[0].y, 0);
    EXPECT_EQ(p.curves[2].title, "paper, 64 bytes: about -20 %");
    EXPECT_NE(all[5].why.find("--against"), std::string::npos);
}

TEST(bench_dma_figures, an_earlier_run_is_compared_where_both_have_the_row) {
    const json before =
        json::array({cell(micro::bw_rd, 64, 4096, 40), cell(micro::bw_rd, 64, 8192, 40)});
    const json now = json::array({cell(micro::bw_rd, 64, 4096, 10)});
    const auto f = figures(now, &before)[5];
    ASSERT_EQ(f.why, "");
    EXPECT_EQ(f.drawing.panels.at(0).curves[0].points.size(), 1u);
    EXPECT_DOUBLE_EQ(f.drawing.panels.at(0).curves[0].points[0].y, -75);
    const json other = json::array({cell(micro::bw_rd, 256, 8192, 40)});
    EXPECT_NE(figures(now, &other)[5].why.find("no common BW_RD row"), std::string::npos);
}

TEST(bench_dma_figures, latency_has_its_median_between_minimum_and_95th_percentile) {
    const auto f = figures(
        json::array({cell(micro::lat_rd, 128, 8192, 600), cell(micro::lat_rd, 64, 8192, 500)}))[2];
    const curve& c = f.drawing.panels.at(0).curves.at(0);
    ASSERT_EQ(c.points.size(), 2u);
    EXPECT_EQ(c.points[0].x, 64);
    EXPECT_EQ(c.points[1].low, 300);
    EXPECT_EQ(c.points[1].high, 1200);
    EXPECT_EQ(f.drawing.panels[0].title, "LAT_RD (upper bound)");
    std::istringstream data(data_of(f.drawing));
    std::vector<std::string> lines;
    for (std::string line; std::getline(data, line);)
        if (!line.empty() && line[0] != '#') lines.push_back(line);
    EXPECT_EQ(lines.at(0), "64 500 250 1000");
    EXPECT_NE(script_of(f.drawing).find("'figure6.dat' index 0 using 1:2:3:4 with yerrorlines"),
              std::string::npos);
}

/// Section 3 of the paper: gen 3 x8, MPS 256, MRRS 512 has 57.88 Gb/s for TLPs.
TEST(bench_dma_figures, the_model_is_the_papers) {
    const pcie::link l{};
    const auto model = [&](micro test, uint32_t size) {
        return *modelled_gbps(l, test, {8192, size, 0});
    };
    EXPECT_NEAR(model(micro::bw_wr, 256), 57.885 * 256 / (256 + 24), 1e-3);
    EXPECT_NEAR(model(micro::bw_rd, 257), 57.885 * 257 / (257 + 2 * 20), 1e-3);
    EXPECT_NEAR(model(micro::bw_rdwr, 64), 57.885 * 64 / (64 + 24 + 24), 1e-3);
    EXPECT_FALSE(modelled_gbps(l, micro::lat_rd, {8192, 64, 0}));
}

}  // namespace
}  // namespace turnpike::bench::dma
