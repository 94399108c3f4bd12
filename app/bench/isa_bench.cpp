// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-isa: the IPv4 header sum of lib/packet beside rte_ipv4_cksum. Its results
// determine the order of the table in lib/packet/checksum.cpp.
#include <fmt/format.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ip.h>
#include <nlohmann/json.hpp>

#include <random>

#include "harness.hpp"
#include "packet/checksum.hpp"

namespace turnpike::bench {
namespace {

constexpr uint32_t headers = 4096;  // 64 bytes apart, like packets that fit L2
constexpr uint32_t rounds = 64;

struct burst_memory {
    std::vector<uint8_t> bytes = std::vector<uint8_t>(headers * 64);
    std::vector<const uint8_t*> header = std::vector<const uint8_t*>(headers);
    std::vector<uint8_t> length = std::vector<uint8_t>(headers, 20);
    std::vector<uint16_t> sum = std::vector<uint16_t>(headers);

    burst_memory() {
        std::mt19937 random(1);
        for (auto& b : bytes) b = static_cast<uint8_t>(random());
        for (uint32_t i = 0; i < headers; ++i) {
            header[i] = &bytes[i * 64 + 14];  // after an Ethernet header
            bytes[i * 64 + 14] = 0x45;
        }
    }
};

template <class Work>
double cycles_per_header(uint32_t burst, const Work& work) {
    uint64_t start = 0;
    for (uint32_t round = 0; round <= rounds; ++round) {
        if (round == 1) start = rte_rdtsc_precise();  // round 0 is warm-up
        for (uint32_t i = 0; i < headers; i += burst) {
            work(i, burst);
            asm volatile("" ::: "memory");
        }
    }
    return static_cast<double>(rte_rdtsc_precise() - start) / (double{headers} * rounds);
}

int run(int argc, char** argv) {
    harness h("isa", "the IPv4 header sum by instruction set, beside rte_ipv4_cksum");
    if (const auto code = h.start(argc, argv, 64)) return *code;
    burst_memory m;
    const auto table = packet::ipv4_sum_kernels();
    const auto chosen = isa::choose(table, "ipv4_sum", h.max_simd_bitwidth());
    for (const uint32_t burst : {32U, 64U, 256U}) {
        std::vector<contender> all{
            {"rte_ipv4_cksum", [&m, burst] {
                 return cycles_per_header(burst, [&m](uint32_t at, uint32_t n) {
                     for (uint32_t i = at; i < at + n; ++i)
                         m.sum[i] =
                             rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(m.header[i]));
                 });
             }}};
        for (const auto& row : table)
            if ((row.needs & isa::detect()) == row.needs)
                all.push_back({std::string(row.name), [&m, burst, f = row.function] {
                                   return cycles_per_header(
                                       burst, [&m, f](uint32_t at, uint32_t n) {
                                           f(&m.header[at], &m.length[at], &m.sum[at], n);
                                       });
                               }});
        const auto cycles = interleave(all, h.repetitions());
        for (size_t i = 1; i < all.size(); ++i) {
            const auto& cell = h.add_cell({{"kernel", "ipv4_sum"},
                                           {"burst", burst},
                                           {"isa", all[i].name},
                                           {"chosen", chosen && (*chosen)->name == all[i].name},
                                           {"cycles", cycles[i]},
                                           {"peer", all[0].name},
                                           {"peer_cycles", cycles[0]}});
            h.print(fmt::format("burst {:3} {:7} {:5.2f} cycles a header, {} {:5.2f}, x{:.2f}",
                                burst, all[i].name, cycles[i], all[0].name, cycles[0],
                                cell["ratio"].get<double>()));
        }
    }
    const auto picked =
        summarise(h.cells(), "ratio", [](const nlohmann::json& c) { return c["chosen"] == true; });
    h.summary()["geomean"] =
        picked.geomean ? nlohmann::json(*picked.geomean) : nlohmann::json(nullptr);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-isa", turnpike::bench::run, argc, argv);
}
