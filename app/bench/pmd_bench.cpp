// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-pmd: the cost of net_simnic's driver beside DPDK's software ports, the speed of
// its generator, and the cost of counting PCIe; described in doc/bench-pmd.md.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <sched.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "eal/simd_bitwidth.hpp"
#include "harness.hpp"
#include "io_loop.hpp"

namespace turnpike::bench {
namespace {

constexpr uint32_t frame_bytes = 64, in_flight = 512;
constexpr uint64_t warm_up_packets = 50'000, timed_packets = 500'000;
constexpr const char* generating = "wire=gen,size=64";

/// A loop, open for the whole run, or the reason that it is not.
struct side {
    std::string driver, isa, why;
    std::unique_ptr<io_loop> loop;
    bool chosen = false;  ///< the kernel that a user gets by default
    double host_cycles = 0;
    std::vector<double> engine_cycles{};  ///< per repetition
};

side open_side(std::string driver, const io_settings& s) {
    side made{.driver = std::move(driver), .isa = {}, .why = {}, .loop = nullptr};
    if (auto loop = io_loop::open(s))
        made.loop = std::move(*loop);
    else
        made.why = loop.error().message();
    return made;
}

/// net_simnic with each instruction set: the device selects its kernels when it is created.
std::vector<side> open_simnics(const harness& h) {
    const uint16_t permitted = h.max_simd_bitwidth();
    std::vector<side> all;
#if defined(__aarch64__)
    constexpr std::pair<const char*, int> isas[] = {{"scalar", 64}, {"neon", 128}};
#else
    constexpr std::pair<const char*, int> isas[] = {
        {"scalar", 64}, {"sse42", 128}, {"avx2", 256}, {"avx512", 512}};
#endif
    for (const auto& [isa, bits] : isas) {
        const auto width = static_cast<uint16_t>(bits);
        if (!eal::permit_simd_bitwidth(width)) {
            all.push_back(
                {"net_simnic", isa, "EAL's --force-max-simd-bitwidth forbids it", nullptr});
            continue;
        }
        side s = open_side("net_simnic", {{fmt::format("net_simnic{},{}", bits, generating)}});
        if (s.loop && s.loop->burst_mode() != isa) {
            s.loop.reset();
            s.why = "this CPU does not have it";
        }
        s.isa = isa;
        s.chosen = width == permitted;
        all.push_back(std::move(s));
    }
    (void)eal::permit_simd_bitwidth(permitted);
    return all;
}

std::vector<side> open_peers() {
    const std::string socket = fmt::format("/tmp/turnpike-bench-{}.sock", getpid());
    std::vector<side> all;
    all.push_back(open_side("net_ring", {{"net_ring0"}, frame_bytes, in_flight}));
    all.push_back(open_side("net_null", {{fmt::format("net_null0,size={}", frame_bytes - 4)}}));
    // Both ends are in this process: each packet is received and sent once per end. Two spellings
    // of one socket name, since a name has one role.
    all.push_back(open_side(
        "net_memif", {{fmt::format("net_memif0,role=server,socket-abstract=no,socket={}", socket),
                       fmt::format("net_memif1,role=client,socket-abstract=no,socket=/{}", socket)},
                      frame_bytes,
                      in_flight}));
    return all;
}

/// Measure all sides in turn; medians.
void measure(harness& h, std::span<side* const> sides) {
    std::vector<contender> all;
    std::vector<side*> open;
    for (side* s : sides)
        if (s->loop) open.push_back(s);
    for (size_t i = 0; i < open.size(); ++i)
        all.push_back({open[i]->driver, [s = open[i]] {
                           s->loop->forward(warm_up_packets);
                           const io_run r = s->loop->forward(timed_packets);
                           s->engine_cycles.push_back(r.engine_cycles_per_packet());
                           return r.host_cycles_per_packet();
                       }});
    const auto host = interleave(all, h.repetitions());
    for (size_t i = 0; i < open.size(); ++i) open[i]->host_cycles = host[i];
}

nlohmann::json cell_of(const side& s) {
    nlohmann::json cell{
        {"driver", s.driver},
        {"isa", s.isa.empty() ? nlohmann::json(nullptr) : nlohmann::json(s.isa)},
        {"burst", io_loop::burst},
        {"frame_bytes", frame_bytes},
        {"engine", s.isa.empty() ? nlohmann::json(nullptr) : nlohmann::json("inline")},
        {"cycles", nullptr}};
    if (!s.loop) {
        cell["why"] = s.why;
        return cell;
    }
    cell["cycles"] = s.host_cycles;
    if (!s.isa.empty()) {
        cell["engine_cycles"] = median(s.engine_cycles);
        cell["chosen"] = s.chosen;
    }
    return cell;
}

/// A permitted CPU other than the first one of this lcore.
std::optional<unsigned> other_cpu(const cpu_set_t& permitted) {
    const rte_cpuset_t own = rte_lcore_cpuset(rte_lcore_id());
    unsigned first = 0;
    while (first < CPU_SETSIZE && !CPU_ISSET(first, &own)) ++first;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &permitted) && cpu != first) return cpu;
    return std::nullopt;
}

/// The generator on its own core: rates for a host that only receives, and for one that sends back.
void measure_generator(harness& h, const cpu_set_t& permitted) {
    nlohmann::json cell{{"driver", "net_simnic"},  {"op", "generate"},
                        {"burst", io_loop::burst}, {"frame_bytes", frame_bytes},
                        {"engine", "thread"},      {"cycles", nullptr},
                        {"peer", nullptr},         {"mpps", nullptr}};
    const auto cpu = other_cpu(permitted);
    side s;
    if (cpu)
        s = open_side(
            "net_simnic",
            {{fmt::format("net_simnic0,{},engine=thread,engine_cpu={}", generating, *cpu)}});
    h.summary()["gen_mpps"] = nullptr;
    if (!s.loop) {
        cell["why"] = cpu ? s.why : "the device needs a CPU beside the host's";
        h.add_cell(cell);
        return;
    }
    const double mhz = static_cast<double>(rte_get_tsc_hz()) / 1e6;
    const auto mpps = [mhz](const io_run& r) {
        return static_cast<double>(r.packets) * mhz / static_cast<double>(r.cycles);
    };
    std::vector<double> received, returned;
    for (unsigned i = 0; i < h.repetitions(); ++i) {
        received.push_back(mpps(s.loop->receive(0.2)));
        returned.push_back(mpps(s.loop->forward(4 * timed_packets)));
    }
    cell["mpps"] = median(received);
    cell["mpps_best"] = *std::max_element(received.begin(), received.end());
    cell["mpps_returned"] = median(returned);
    h.add_cell(cell);
    h.summary()["gen_mpps"] = median(received);
    h.print(
        fmt::format("generator, engine=thread on CPU {}: {:.1f} Mpps received (best {:.1f}), "
                    "{:.1f} Mpps sent back too",
                    *cpu, median(received), cell["mpps_best"].get<double>(), median(returned)));
}

void report(harness& h, const std::vector<side>& simnics, const std::vector<side>& peers) {
    const side* best = nullptr;
    for (const side& s : peers)
        if (s.loop && (best == nullptr || s.host_cycles < best->host_cycles)) best = &s;
    const auto show = [&h](const side& s) {
        h.print(s.loop ? fmt::format("{:12} {:8} {:6.1f} cycles a packet received and sent",
                                     s.driver, s.isa, s.host_cycles)
                       : fmt::format("{:12} {:8} {}", s.driver, s.isa, s.why));
    };
    h.summary()["simnic_cycles_avx2"] = nullptr;
    for (const side& s : simnics) {
        nlohmann::json cell = cell_of(s);
        cell["peer"] = best != nullptr ? nlohmann::json(best->driver) : nlohmann::json(nullptr);
        if (best != nullptr) cell["peer_cycles"] = best->host_cycles;
        if (s.loop && s.isa == "avx2") h.summary()["simnic_cycles_avx2"] = s.host_cycles;
        h.add_cell(cell);
        show(s);
    }
    for (const side& s : peers) {
        nlohmann::json cell = cell_of(s);
        cell["peer"] = nullptr;
        if (s.loop) cell["why"] = "is a peer itself";
        h.add_cell(cell);
        show(s);
    }
}

/// The device against its variant that does not count.
void report_counting(harness& h, const side& counting, const side& uncounted) {
    h.summary()["counting_cycles"] = nullptr;
    nlohmann::json cell{{"driver", "net_simnic"},  {"op", "count"},
                        {"burst", io_loop::burst}, {"frame_bytes", frame_bytes},
                        {"engine", "inline"},      {"cycles", nullptr},
                        {"peer", uncounted.driver}};
    if (!counting.loop || !uncounted.loop) {
        cell["why"] = counting.why + uncounted.why;
        h.add_cell(cell);
        return;
    }
    // The two alternate: disturbances of the machine affect both.
    std::vector<double> cost;
    for (size_t i = 0; i < counting.engine_cycles.size(); ++i)
        cost.push_back(counting.engine_cycles[i] - uncounted.engine_cycles[i]);
    cell["cycles"] = median(counting.engine_cycles);
    cell["peer_cycles"] = median(uncounted.engine_cycles);
    h.add_cell(cell);
    h.summary()["counting_cycles"] = median(cost);
    h.print(fmt::format("the device: {:.1f} cycles a packet, counting {:.1f} of them",
                        median(counting.engine_cycles), median(cost)));
}

/// Results are void if the device corrupts or loses frames.
bool clean(harness& h, const std::vector<side>& simnics) {
    uint64_t bad = 0;
    for (const side& s : simnics)
        for (const char* name :
             {"gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign",
              "fault_translation", "fault_descriptor", "fault_tail"})
            if (s.loop) bad += s.loop->xstat(name);
    if (bad != 0) h.print("turnpike-bench-pmd: frames were lost or damaged; the figures are void");
    return bad == 0;
}

int run(int argc, char** argv) {
    harness h("pmd", "net_simnic's driver beside net_ring, net_null and net_memif");
    cpu_set_t permitted;
    CPU_ZERO(&permitted);
    (void)sched_getaffinity(0, sizeof permitted, &permitted);
    if (const auto code = h.start(argc, argv, 512)) return *code;
    measure_generator(h, permitted);
    std::vector<side> simnics = open_simnics(h), peers = open_peers();
    side uncounted =
        open_side("net_uncounted_simnic", {{fmt::format("net_uncounted_simnic0,{}", generating)}});
    side counting = open_side("net_simnic", {{fmt::format("net_simnic1,{}", generating)}});
    std::vector<side*> all;
    for (side& s : simnics) all.push_back(&s);
    for (side& s : peers) all.push_back(&s);
    all.push_back(&uncounted);
    all.push_back(&counting);
    measure(h, all);
    report(h, simnics, peers);
    report_counting(h, counting, uncounted);
    simnics.push_back(std::move(counting));
    if (!clean(h, simnics)) return 1;
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-pmd", turnpike::bench::run, argc, argv);
}
