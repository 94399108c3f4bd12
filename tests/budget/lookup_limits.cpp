// SPDX-License-Identifier: BSD-3-Clause
// Workloads of lib/fib, lib/acl and lib/hash, and the machine's cost of a cache line, for
// devtools/lookup-limits:
//
//   lookup-limits time  [--table FILE] [NAME...]   cycles, with all lines in L1 and as they are
//   lookup-limits count [--table FILE] [NAME...]   one pass of each, for callgrind
//
// Kernels are those of AVX2, since valgrind knows no AVX-512. Tables are in huge pages where the kernel
// gives them (madvise).
#include <fmt/format.h>
#include <rte_cycles.h>
#include <sys/mman.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <functional>
#include <random>

#include "acl/acl.hpp"
#include "base/byte_order.hpp"
#include "bench/acl_sets.hpp"
#include "bench/routes.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "hash/table.hpp"

namespace turnpike {
namespace {

constexpr uint32_t burst = 32;
constexpr size_t slices = 32;
constexpr const char* isa_name = "avx2";

memory huge_pages() {
    memory m;
    m.allocate = [](void*, size_t bytes, size_t) -> void* {
        constexpr size_t page = 2U << 20;
        const size_t whole = (bytes + page - 1) / page * page;
        void* at = std::aligned_alloc(page, whole);
        if (at != nullptr) madvise(at, whole, MADV_HUGEPAGE);
        return at;
    };
    return m;
}

struct workload {
    std::string name;
    size_t lookups;
    std::function<void(size_t from, size_t end)> run;  ///< whole bursts
};
using maker = std::function<workload(const std::string& name)>;

template <class Table>
std::shared_ptr<Table> required(result<std::unique_ptr<Table>> made) {
    if (!made) throw std::runtime_error(made.error().message());
    return std::shared_ptr<Table>(std::move(*made));
}
void require(const result<void>& done) {
    if (!done) throw std::runtime_error(done.error().message());
}

template <class Table, int family>
maker routes_of(const std::string& file, const std::string& kind) {
    return [=](const std::string& name) {
        using address_type = typename Table::address_type;
        const auto from = [](const fib::address& a) {
            if constexpr (family == 4) {
                return static_cast<uint32_t>(a.high >> 32);
            } else {
                ipv6_address out{};
                store_be(out.bytes, a.high);
                store_be(out.bytes + 8, a.low);
                return out;
            }
        };
        auto all = file.empty() ? bench::generate_routes(family, family == 4 ? 900'000 : 160'000)
                                : bench::read_routes(file, family);
        bench::assign_next_hops(all, 200);
        auto table = required(Table::create({.kernel = isa_name, .allocator = huge_pages()}));
        std::vector<typename Table::route_type> mine;
        for (const auto& r : all) mine.push_back({from(r.prefix), r.length, r.next_hop});
        require(table->load(mine));
        auto dst = std::make_shared<std::vector<address_type>>();
        for (const auto& a : bench::make_traffic(all, family, kind, 1 << 18))
            dst->push_back(from(a));
        return workload{name, dst->size(), [table, dst](size_t at, size_t end) {
                            uint64_t hop[burst];
                            for (; at < end; at += burst)
                                table->lookup_bulk(std::span(*dst).subspan(at, burst), hop);
                        }};
    };
}

maker rules_of(const std::string& set_name, uint32_t categories) {
    return [=](const std::string& name) {
        auto sets = bench::generate_sets();
        const auto set = std::ranges::find(sets, set_name, [](const auto& s) { return s.name; });
        for (acl::rule& r : set->rules)
            r.categories = categories == 1 ? 1 : 1 + r.user_data * 2654435761U % 15;
        auto table =
            required(acl::classifier4::create({.kernel = isa_name, .allocator = huge_pages()}));
        require(table->build(set->rules));
        const auto bytes =
            std::make_shared<std::vector<uint8_t>>(bench::make_headers(*set, "rules", 1 << 15));
        auto keys = std::make_shared<std::vector<const acl::key4*>>();
        for (size_t i = 0; i < bytes->size(); i += sizeof(acl::key4))
            keys->push_back(reinterpret_cast<const acl::key4*>(&(*bytes)[i]));
        return workload{
            name, keys->size(), [table, bytes, keys, categories](size_t at, size_t end) {
                uint32_t results[burst * acl::max_categories];
                for (; at < end; at += burst)
                    table->classify(std::span(*keys).subspan(at, burst), results, categories);
            }};
    };
}

template <size_t Bytes>
maker keys_of(uint32_t entries) {
    return [=](const std::string& name) {
        using key = std::array<uint64_t, Bytes / 8>;
        using table_type = hash::table<key, uint32_t>;
        const auto numbered = [](uint64_t n) {
            key k{};
            k[0] = 0x0002'5e00'0000'0000 + n;
            return k;
        };
        hash::config config{.max_entries = entries,
                            .expected_entries = entries,
                            .kernel = isa_name,
                            .allocator = huge_pages()};
        config.keys = hash::secret::of(1);
        auto table = required(table_type::create(config));
        for (uint32_t n = 0; n < entries; ++n)
            if (!table->put(numbered(n), n)) throw std::runtime_error("a key was refused");
        std::mt19937_64 random(1);
        auto asked = std::make_shared<std::vector<key>>();
        for (size_t i = 0; i < 1 << 18; ++i) asked->push_back(numbered(random() % entries));
        return workload{name, asked->size(), [table, asked](size_t at, size_t end) {
                            uint32_t values[burst];
                            for (; at < end; at += burst) {
                                const uint64_t hits =
                                    table->lookup(std::span(*asked).subspan(at, burst), values);
                                asm volatile("" ::"r"(hits) : "memory");
                            }
                        }};
    };
}

std::vector<std::pair<std::string, maker>> workloads(const std::string& file) {
    return {{"fib4_uniform", routes_of<fib::fib4, 4>(file, "uniform")},
            {"fib4_prefix", routes_of<fib::fib4, 4>(file, "prefix")},
            {"fib4_zipf", routes_of<fib::fib4, 4>(file, "zipf")},
            {"fib6_prefix", routes_of<fib::fib6, 6>(file, "prefix")},
            {"fib6_zipf", routes_of<fib::fib6, 6>(file, "zipf")},
            {"acl_1k", rules_of("acl_1k", 1)},
            {"acl_10k", rules_of("acl_10k", 1)},
            {"acl_10k_categories", rules_of("acl_10k", 4)},
            {"fw_10k", rules_of("fw_10k", 1)},
            {"hash8_3k", keys_of<8>(3'125)},
            {"hash8_1m", keys_of<8>(1'000'000)},
            {"hash40_1m", keys_of<40>(1'000'000)}};
}

/// Median of the slices' cycles per operation.
double median_cycles(size_t operations, const std::function<void(size_t from, size_t end)>& run) {
    const size_t slice = std::max<size_t>(operations / slices / burst, 1) * burst;
    std::vector<uint64_t> seen;
    for (size_t at = 0; at + slice <= operations; at += slice) {
        const uint64_t start = rte_rdtsc();
        run(at, at + slice);
        seen.push_back(rte_rdtsc() - start);
    }
    std::ranges::nth_element(seen, seen.begin() + static_cast<long>(seen.size() / 2));
    return static_cast<double>(seen[seen.size() / 2]) / static_cast<double>(slice);
}

/// Cycles of a load from a block of that size, at random: of many at once, and of one after another.
void time_loads(size_t bytes) {
    constexpr size_t loads = 1 << 20, line = 64;
    const memory from = huge_pages();
    auto* const block = static_cast<uint8_t*>(from.allocate(nullptr, bytes, line));
    if (block == nullptr) throw std::runtime_error("no memory");
    std::mt19937_64 random(bytes);
    // One cycle through all lines (Sattolo), so that a chase visits each of them.
    const size_t lines = bytes / line;
    std::vector<uint32_t> next(lines);
    for (size_t i = 0; i < lines; ++i) next[i] = static_cast<uint32_t>(i);
    for (size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
    for (size_t i = 0; i < lines; ++i) store_be(block + i * line, next[i]);
    uint64_t sum = 0;
    std::vector<uint32_t> order(loads);
    for (auto& o : order) o = static_cast<uint32_t>(random() % lines);
    const auto many = [&](size_t at, size_t end) {
        for (; at < end; ++at) sum += block[order[at] * line];
    };
    uint32_t where = 0;
    const auto chase = [&](size_t at, size_t end) {
        for (; at < end; ++at) where = load_be<uint32_t>(block + size_t{where} * line);
    };
    many(0, loads);
    const double throughput = median_cycles(loads, many);
    const size_t chased = std::clamp<size_t>(4 * lines, loads / 16, loads);
    chase(0, chased);
    const double latency = median_cycles(chased, chase);
    asm volatile("" ::"r"(sum), "r"(where));
    fmt::print("line {} {:.2f} {:.1f}\n", bytes, throughput, latency);
    from.release(nullptr, block);
}

void time_one(const workload& w) {
    // Few enough that all of their lines are in L1.
    constexpr size_t few = 64, rounds = 4096;
    w.run(0, w.lookups);
    std::vector<double> seen;
    for (int i = 0; i < 5; ++i) seen.push_back(median_cycles(w.lookups, w.run));
    std::ranges::nth_element(seen, seen.begin() + 2);
    const double near = median_cycles(rounds * few, [&](size_t at, size_t end) {
        for (; at < end; at += burst) w.run(at % few, at % few + burst);
    });
    fmt::print("{} {:.2f} {:.2f}\n", w.name, seen[2], near);
}

/// Instructions are counted from the second pass, with caches as the first one left them.
void count_one(const workload& w) {
    const size_t pass = std::min<size_t>(w.lookups, 1 << 16);
    CALLGRIND_START_INSTRUMENTATION;
    w.run(0, pass);
    CALLGRIND_ZERO_STATS;
    w.run(w.lookups - pass, w.lookups);
    CALLGRIND_DUMP_STATS_AT(w.name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
    fmt::print("{} {}\n", w.name, pass);
}

int run(std::vector<std::string> words) {
    std::string file;
    if (words.size() >= 3 && words[1] == "--table") {
        file = words[2];
        words.erase(words.begin() + 1, words.begin() + 3);
    }
    if (words.empty() || (words[0] != "time" && words[0] != "count")) {
        fmt::print(stderr, "usage: lookup-limits time|count [--table FILE] [NAME...]\n");
        return 2;
    }
    const std::span names(words.begin() + 1, words.end());
    if (words[0] == "time")
        for (const size_t bytes :
             {size_t{16} << 10, size_t{512} << 10, size_t{8} << 20, size_t{256} << 20})
            time_loads(bytes);
    for (const auto& [name, make] : workloads(file)) {
        if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
        const workload w = make(name);
        words[0] == "time" ? time_one(w) : count_one(w);
    }
    return 0;
}

}  // namespace
}  // namespace turnpike

int main(int argc, char** argv) {
    try {
        return turnpike::run({argv + 1, argv + argc});
    } catch (const std::exception& e) {
        fmt::print(stderr, "lookup-limits: {}\n", e.what());
        return 1;
    }
}
