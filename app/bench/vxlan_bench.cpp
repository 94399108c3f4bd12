// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-vxlan: lookup of tunnel endpoints with lib/tunnel's cache of the last eight,
// against a cache of one entry (VPP's at the time, figure 9 of "Writing Packet Processing Software
// with Intel AVX-512") and the table alone; described in doc/bench-vxlan.md.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_memory.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <random>

#include "harness.hpp"
#include "hash/table_dpdk.hpp"
#include "tunnel/endpoint_cache.hpp"
#include "widths.hpp"

namespace turnpike::bench {
namespace {

using tunnel::burst_endpoints;
using tunnel::endpoint4;
using tunnel::endpoint6;

/// As in a fabric: many sources, few networks per source.
template <class Key>
Key endpoint_number(uint32_t n);
template <>
endpoint4 endpoint_number<endpoint4>(uint32_t n) {
    return {0x0a00'0001 + n / 4, 5000 + n % 4, 0};
}
template <>
endpoint6 endpoint_number<endpoint6>(uint32_t n) {
    uint8_t from[16] = {0x20, 1, 0xd, 0xb8}, to[16] = {0x20, 1, 0xd, 0xb8};
    for (unsigned i = 0; i < 4; ++i) from[15 - i] = static_cast<uint8_t>(n / 4 >> (8 * i));
    to[15] = 1;
    return {from, to, 5000 + n % 4};
}

/// Packets of endpoints in random order: a random endpoint per packet, or per burst.
std::vector<uint32_t> packets_of(uint32_t endpoints, bool interleaved, size_t packets) {
    std::mt19937_64 random(endpoints);
    std::vector<uint32_t> out(packets);
    for (size_t i = 0; i < packets; ++i)
        out[i] = interleaved || i % burst_endpoints == 0
                     ? static_cast<uint32_t>(random() % endpoints)
                     : out[i - 1];
    return out;
}

/// A cache of one entry. A miss is looked up at once, by itself, as in VPP.
template <class Key>
class one_entry {
  public:
    void lookup(const tunnel::endpoint_table<Key>& t, const Key* key, uint64_t* value, uint32_t n) {
        for (uint32_t i = 0; i < n; ++i) {
            if (!(key[i] == last_)) {
                last_ = key[i];
                static_cast<void>(t.lookup({&key[i], 1}, {&answer_, 1}));
            }
            value[i] = answer_;
        }
    }

  private:
    Key last_ = endpoint_number<Key>(~0U);
    uint32_t answer_ = 0;
};

/// An improved cache of one entry: misses are looked up in bulk at the end of the burst.
template <class Key>
class one_entry_bulk {
  public:
    void lookup(const tunnel::endpoint_table<Key>& t, const Key* key, uint64_t* value, uint32_t n) {
        std::array<uint8_t, burst_endpoints> of;
        uint32_t asked = 0;
        wanted_[0] = last_;
        answer_[0] = last_answer_;
        for (uint32_t i = 0; i < n; ++i) {
            if (!(key[i] == wanted_[asked])) wanted_[++asked] = key[i];
            of[i] = static_cast<uint8_t>(asked);
        }
        if (asked != 0) static_cast<void>(t.lookup({&wanted_[1], asked}, {&answer_[1], asked}));
        for (uint32_t i = 0; i < n; ++i) value[i] = answer_[of[i]];
        last_ = wanted_[asked];
        last_answer_ = answer_[asked];
    }

  private:
    std::array<Key, burst_endpoints + 1> wanted_;
    std::array<uint32_t, burst_endpoints + 1> answer_;
    Key last_ = endpoint_number<Key>(~0U);
    uint32_t last_answer_ = 0;
};

template <class Key>
class table_only {
  public:
    void lookup(const tunnel::endpoint_table<Key>& t, const Key* key, uint64_t* value, uint32_t n) {
        static_cast<void>(t.lookup({key, n}, {answer_.data(), n}));
        for (uint32_t i = 0; i < n; ++i) value[i] = answer_[i];
    }

  private:
    std::array<uint32_t, burst_endpoints> answer_;
};

/// Cycles per packet: the first half of the traffic is warm-up, the second is timed in slices; the
/// result is the median.
template <class Key, class Lookup>
double cycles_per_packet(Lookup& how, const tunnel::endpoint_table<Key>& t,
                         const std::vector<Key>& key) {
    constexpr size_t slices = 32;
    alignas(64) std::array<uint64_t, burst_endpoints> value;
    const size_t slice = key.size() / 2 / slices;
    const auto pass = [&](size_t from, size_t end) {
        for (size_t i = from; i < end; i += burst_endpoints) {
            how.lookup(t, &key[i], value.data(), burst_endpoints);
            asm volatile("" ::"r"(value.data()) : "memory");
        }
    };
    pass(0, key.size() / 2);
    std::vector<double> seen;
    for (size_t at = key.size() / 2; at < key.size(); at += slice) {
        const uint64_t start = rte_rdtsc_precise();
        pass(at, at + slice);
        seen.push_back(static_cast<double>(rte_rdtsc_precise() - start));
    }
    return median(std::move(seen)) / static_cast<double>(slice);
}

/// Sum of a lookup function's results for some packets: must be equal for all functions.
template <class Key, class Lookup>
uint64_t sum_of(const Lookup& of, const tunnel::endpoint_table<Key>& t,
                const std::vector<Key>& key) {
    Lookup how = of;
    std::array<uint64_t, burst_endpoints> value;
    uint64_t sum = 0;
    for (size_t i = 0; i < 512 * burst_endpoints; i += burst_endpoints) {
        how.lookup(t, &key[i], value.data(), burst_endpoints);
        for (const uint64_t v : value) sum = sum * 31 + v;
    }
    return sum;
}

/// Measures one instruction set, of both lib/tunnel and lib/hash.
template <class Key>
struct one_isa {
    std::string name;
    uint16_t bits;
    std::unique_ptr<tunnel::endpoint_table<Key>> table;
    tunnel::endpoint_cache<Key> simd;
    one_entry<Key> one{};
    one_entry_bulk<Key> bulk{};
    table_only<Key> reference{};
};

template <class Key>
std::vector<one_isa<Key>> all_isas(harness& h, uint32_t endpoints) {
    std::vector<one_isa<Key>> all;
    for (const auto& row : tunnel::find_kernels()) {
        if (!isa::may_run(row, h.max_simd_bitwidth())) continue;
        auto config = hash::eal_config("bench", SOCKET_ID_ANY);
        config.keys = hash::secret::of(1);
        config.max_entries = config.expected_entries = endpoints;
        config.kernel = std::string(row.name);
        auto made = tunnel::endpoint_table<Key>::create(config);
        if (!made) throw std::runtime_error(made.error().message());
        for (uint32_t n = 0; n < endpoints; ++n)
            if (auto ok = (*made)->put(endpoint_number<Key>(n), n + 1); !ok)
                throw std::runtime_error(ok.error().message());
        all.push_back({std::string(row.name), row.simd_bitwidth, std::move(*made),
                       tunnel::endpoint_cache<Key>(row.function)});
    }
    return all;
}

template <class Key>
void measure(harness& h, uint32_t endpoints, bool interleaved,
             const std::vector<compared_width>& widths) {
    const auto numbers = packets_of(endpoints, interleaved, h.quick() ? 1 << 17 : 1 << 18);
    std::vector<Key> key;
    for (const uint32_t n : numbers) key.push_back(endpoint_number<Key>(n));
    auto isas = all_isas<Key>(h, endpoints);
    std::vector<contender> all;
    const auto add = [&](one_isa<Key>& i, auto& how) {
        if (sum_of(how, *i.table, key) != sum_of(i.reference, *i.table, key))
            throw std::runtime_error("the lookups return different results");
        all.push_back(
            {i.name, [&key, &how, &t = *i.table] { return cycles_per_packet(how, t, key); }});
    };
    for (auto& i : isas) {
        add(i, i.simd);
        add(i, i.one);
        add(i, i.bulk);
        add(i, i.reference);
    }
    const auto cycles = interleave(all, h.repetitions());
    for (size_t i = 0; i < isas.size(); ++i) {
        const double *its = &cycles[4 * i], simd = its[0];
        const bool bulk_is_better = its[2] < its[1];
        const auto report = [&](const char* lookup, double took, std::optional<uint16_t> width) {
            nlohmann::json cell{{"family", sizeof(Key) == sizeof(endpoint4) ? 4 : 6},
                                {"endpoints", endpoints},
                                {"interleaved", interleaved},
                                {"lookup", lookup},
                                {"isa", isas[i].name},
                                {"chosen", width.has_value()},
                                {"width_bits", nullptr},
                                {"cycles", took},
                                {"peer", bulk_is_better ? "one_entry_bulk" : "one_entry"},
                                {"peer_cycles", std::min(its[1], its[2])}};
            if (width) cell["width_bits"] = *width;
            h.add_cell(std::move(cell));
        };
        const auto report_all = [&](std::optional<uint16_t> width) {
            report("simd", simd, width);
            report("one_entry", its[1], width);
            report("one_entry_bulk", its[2], width);
            report("table", its[3], width);
        };
        bool chosen = false;
        for (const compared_width& w : widths) {
            if (w.kernel != isas[i].name) continue;
            chosen = true;
            report_all(w.bits);
            h.print(
                fmt::format("IPv{} {:6} endpoints {:11}  {:3} bits {:7} simd {:5.1f}  one entry "
                            "{:5.1f}, in bulk {:5.1f}  table {:5.1f}",
                            sizeof(Key) == sizeof(endpoint4) ? 4 : 6, endpoints,
                            interleaved ? "interleaved" : "batched", w.bits, w.kernel, simd, its[1],
                            its[2], its[3]));
        }
        if (!chosen) report_all({});
    }
}

void summarise(harness& h, const std::vector<compared_width>& widths) {
    for (const auto& w : widths) {
        const auto of = [&](const nlohmann::json& c, const char* lookup) {
            return c["chosen"] == true && c["width_bits"] == w.bits && c["lookup"] == lookup;
        };
        const auto ratios = bench::summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
            const auto n = c["endpoints"].get<uint32_t>();
            return of(c, "simd") && c["interleaved"] == true && (n == 2 || n == 4 || n == 8);
        });
        std::optional<double> extra, against_table;
        for (const auto& c : h.cells()) {
            if (!of(c, "simd")) continue;
            const double more = c["cycles"].get<double>() - c["peer_cycles"].get<double>();
            if (c["endpoints"] == 1) extra = std::max(extra.value_or(more), more);
        }
        // With more endpoints than the cache holds, it must cost little more than the table alone.
        for (size_t i = 0; i + 3 < h.cells().size(); ++i) {
            const auto &simd = h.cells()[i], &table = h.cells()[i + 3];
            if (!of(simd, "simd") || simd["endpoints"] <= tunnel::cached_endpoints) continue;
            const double ratio = table["cycles"].get<double>() / simd["cycles"].get<double>();
            against_table = std::min(against_table.value_or(ratio), ratio);
        }
        const auto json = [](std::optional<double> x) -> nlohmann::json {
            return x ? nlohmann::json(*x) : nlohmann::json(nullptr);
        };
        h.summary()[std::to_string(w.bits)] = {{"simd_vs_one_entry_min", json(ratios.least)},
                                               {"one_endpoint_extra_cycles", json(extra)},
                                               {"many_vs_table_min", json(against_table)}};
    }
}

int run(int argc, char** argv) {
    harness h("vxlan",
              "endpoints of tunnelled packets: the SIMD cache beside one entry and the table");
    int only = 0;
    h.add_option("--endpoints", only, "only this number of endpoints");
    if (const auto code = h.start(argc, argv, 256)) return *code;
    if (only < 0 || only > 1'000'000) {
        h.print(fmt::format("turnpike-bench-vxlan: --endpoints is 1 to 1000000, not {}", only));
        return 2;
    }
    const auto widths = compared_widths(tunnel::find_kernels(), h.permit_widths());
    const std::vector<uint32_t> all = only != 0
                                          ? std::vector<uint32_t>{static_cast<uint32_t>(only)}
                                          : std::vector<uint32_t>{1, 2, 4, 8, 16, 64, 1000, 65536};
    for (const uint32_t endpoints : all)
        for (const bool interleaved : {false, true}) {
            measure<endpoint4>(h, endpoints, interleaved, widths);
            measure<endpoint6>(h, endpoints, interleaved, widths);
        }
    summarise(h, widths);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-vxlan", turnpike::bench::run, argc, argv);
}
