// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-hash: lib/hash beside rte_hash, in one process, the same keys in the same order;
// described in doc/bench-hash.md.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_memory.h>
#include <time.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

#include "harness.hpp"
#include "hash/table.hpp"
#include "hash/table_dpdk.hpp"
#include "hash_peer.hpp"
#include "slices.hpp"
#include "widths.hpp"

namespace turnpike::bench {
namespace {

template <size_t Bytes>
struct key {
    std::array<uint64_t, Bytes / 8> words;
};

/// Key number n. As in real tables (MAC addresses of few vendors, tunnels, flows), keys differ in
/// few bytes. Keys of different numbers differ.
template <class Key>
Key numbered(uint64_t n) {
    Key k{};
    k.words[0] = 0x0002'5e00'0000'0000 + (n & 0xffffff) + (n >> 24 << 48);
    for (size_t w = 1; w < k.words.size(); ++w) k.words[w] = 0x2001'0db8'0000'0000 + (n % (w + 3));
    return k;
}

/// The sequence of lookups: `hit_percent` of them are among the first `keys`.
template <class Key>
std::vector<Key> traffic(uint32_t keys, unsigned hit_percent, bool zipf, size_t lookups) {
    std::mt19937_64 random(keys + hit_percent);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<Key> out;
    out.reserve(lookups);
    for (size_t i = 0; i < lookups; ++i) {
        // Zipf(1): the logarithm of the rank is nearly uniform.
        const double u = unit(random);
        auto n = static_cast<uint64_t>(zipf ? std::pow(keys, u) - 1 : u * keys);
        n = std::min<uint64_t>(n, keys - 1) * 0x9e3779b1 % 0xffff'fffb %
            keys;  // ranks are spread over the keys
        out.push_back(numbered<Key>(random() % 100 < hit_percent ? n : n + keys));
    }
    return out;
}

nlohmann::json or_null(std::optional<double> value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

double seconds(uint64_t cycles) {
    return static_cast<double>(cycles) / static_cast<double>(rte_get_tsc_hz());
}

/// CPU time of this thread, without time of other processes.
double thread_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The end of the traffic is timed; the part before warms the caches: enough lookups that a table
/// which fits them is cached.
constexpr size_t timed_lookups = 1 << 17;
size_t lookups_for(uint32_t keys) {
    return timed_lookups * (keys > timed_lookups && keys <= 1'000'000 ? 9 : 2);
}

template <class Lookup>
double cycles_per_key(size_t keys, uint32_t burst, const Lookup& lookup) {
    const auto pass = [&](size_t from, size_t end) {
        for (size_t i = from; i < end; i += burst) lookup(i);
    };
    pass(0, keys - timed_lookups);
    return median_cycles(keys - timed_lookups, keys, burst, pass);
}

/// Measures one table of one shape.
template <class Key, class Value>
class comparison {
  public:
    comparison(harness& h, uint32_t keys, std::vector<compared_width> widths)
        : harness_(h), keys_(keys), widths_(std::move(widths)) {}

    /// Returns false if the setup failed (and says so).
    bool load(std::span<const std::unique_ptr<hash_peer>> peers) {
        peers_ = peers;
        auto config = hash::eal_config("bench", SOCKET_ID_ANY);
        config.keys = hash::secret::of(1);
        config.max_entries = config.expected_entries = keys_;
        auto made = hash::table<Key, Value>::create(config);
        if (!made) return harness_.print(made.error().message()), false;
        ours_ = std::move(*made);
        for (compared_width& width : widths_) {  // measured
            (void)ours_->select_kernel(width.bits, "");
            width.kernel = ours_->kernel();
        }
        for (uint32_t n = 0; n < keys_; ++n)
            if (auto ok = ours_->put(numbered<Key>(n), static_cast<Value>(n)); !ok)
                return harness_.print(ok.error().message()), false;
        return true;
    }

    void measure(unsigned hit_percent, bool zipf, uint32_t burst) {
        const auto keys = traffic<Key>(keys_, hit_percent, zipf, lookups_for(keys_));
        std::vector<const void*> pointers;
        for (const Key& k : keys) pointers.push_back(&k);
        std::vector<side> peers, ours;
        for (const auto& peer : peers_)
            if (peer->valid())
                peers.push_back({{peer == peers_[0] ? "rte_hash" : "rte_hash lock-free",
                                  [&] {
                                      int32_t positions[64];
                                      return cycles_per_key(keys.size(), burst, [&](size_t i) {
                                          peer->lookup(&pointers[i], burst, positions);
                                          asm volatile("" ::"r"(positions) : "memory");
                                      });
                                  }},
                                 64});
        for (const auto& row : hash::lookup_kernels())
            if (isa::may_run(row, isa::any_simd_bitwidth))
                ours.push_back({{std::string(row.name),
                                 [&, f = row.function] {
                                     alignas(64) Value values[64];
                                     return cycles_per_key(keys.size(), burst, [&](size_t i) {
                                         const uint64_t hits =
                                             f(*ours_->readers_view(), &keys[i], values, burst);
                                         asm volatile("" ::"r"(values), "r"(hits) : "memory");
                                     });
                                 }},
                                row.simd_bitwidth});
        for (const verdict& v : compare(peers, ours, widths_, harness_.repetitions())) {
            auto cell = bench::cell_of(v, peers, peers_[0]->why());
            cell.update(cell_of(hit_percent, zipf, burst));
            cell["mlookups"] = static_cast<double>(rte_get_tsc_hz()) / v.cycles / 1e6;
            report(std::move(cell));
        }
    }

    hash::statistics stats() const { return ours_->stats(); }

  private:
    nlohmann::json cell_of(unsigned hit_percent, bool zipf, uint32_t burst) const {
        return {
            {"key_bytes", sizeof(Key)}, {"value_bytes", sizeof(Value)},         {"keys", keys_},
            {"hit_rate", hit_percent},  {"traffic", zipf ? "zipf" : "uniform"}, {"burst", burst}};
    }

    void report(nlohmann::json cell) {
        const auto& added = harness_.add_cell(std::move(cell));
        if (!added["chosen"].get<bool>() || !added["ratio"].is_number()) return;
        harness_.print(fmt::format(
            "{:2} B {} B {:8} keys {:3} % {:7} burst {}  {:3} bits {:9} {:6.1f}  {:18} {:6.1f}  "
            "x{:.2f} {}",
            sizeof(Key), sizeof(Value), keys_, added["hit_rate"].get<unsigned>(),
            added["traffic"].get<std::string>(), added["burst"].get<unsigned>(),
            added["width_bits"].get<unsigned>(), added["isa"].get<std::string>(),
            added["cycles"].get<double>(), added["peer"].get<std::string>(),
            added["peer_cycles"].get<double>(), added["ratio"].get<double>(), noise_text(added)));
    }

    harness& harness_;
    uint32_t keys_;
    std::vector<compared_width> widths_;
    std::unique_ptr<hash::table<Key, Value>> ours_;
    std::span<const std::unique_ptr<hash_peer>> peers_;
};

template <class Key, class Value>
void measure_shape(harness& h, uint32_t keys, const std::vector<compared_width>& widths,
                   std::span<const std::unique_ptr<hash_peer>> peers) {
    comparison<Key, Value> c(h, keys, widths);
    if (!c.load(peers)) return;
    for (const bool zipf : {false, true})
        for (const unsigned hit_percent : {0U, 50U, 100U})
            for (const uint32_t burst : {32U, 64U})
                if (sizeof(Value) == 4 || (burst == 64 && !zipf))
                    c.measure(hit_percent, zipf, burst);
}

/// Adds keys to an empty table, through every growth: one by one, or each prefetched some additions
/// ahead. Records the longest single addition, and the load when the table grew.
template <class Key, class Value>
nlohmann::json adds(harness& h, uint32_t keys, bool ahead) {
    constexpr uint32_t distance = 16;
    auto config = hash::eal_config("adds", SOCKET_ID_ANY);
    config.keys = hash::secret::of(2);
    config.max_entries = keys;
    auto made = hash::table<Key, Value>::create(config);
    if (!made) return h.print(made.error().message()), nullptr;
    auto& t = **made;
    uint64_t longest = 0, longest_growth = 0, growths = 0;
    std::optional<double> least_load;  // of large tables
    const double start = thread_seconds();
    for (uint32_t n = 0; n < keys; ++n) {
        if (ahead) t.prefetch(numbered<Key>(n + distance));
        const uint64_t before = ahead ? 0 : rte_rdtsc();
        if (auto ok = t.put(numbered<Key>(n), static_cast<Value>(n)); !ok)
            return h.print(ok.error().message()), nullptr;
        if (ahead) continue;
        const uint64_t took = rte_rdtsc() - before;
        const auto s = t.stats();
        uint64_t& most = s.growths != growths ? longest_growth : longest;
        most = std::max(most, took);
        if (s.growths != growths && s.slots > 100'000)
            least_load = std::min(least_load.value_or(s.load_at_growth), s.load_at_growth);
        growths = s.growths;
    }
    const double rate = keys / (thread_seconds() - start);
    if (ahead) return rate;
    return {{"key_bytes", sizeof(Key)},
            {"value_bytes", sizeof(Value)},
            {"keys", keys},
            {"one_by_one_per_s", rate},
            {"longest_add_us", seconds(longest) * 1e6},
            {"longest_growth_us",
             or_null(growths == 0 ? std::optional<double>() : seconds(longest_growth) * 1e6)},
            {"load_at_resize", or_null(least_load)},
            {"bytes", t.stats().bytes},
            {"moves", t.stats().moves}};
}

template <class Key, class Value>
void measure_adds(harness& h, uint32_t keys, nlohmann::json& into) {
    nlohmann::json cell = adds<Key, Value>(h, keys, false);
    const nlohmann::json rate = adds<Key, Value>(h, keys, true);
    if (cell.is_null() || rate.is_null()) return;  // reported already
    cell["adds_per_s"] = rate;
    const auto text = [&cell](const char* figure, int digits) {
        const nlohmann::json& value = cell[figure];
        return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "none";
    };
    h.print(fmt::format(
        "{} B {} B {} adds: {:.2f} M/s, one by one {:.2f} M/s, longest {} us, at a growth's "
        "begin {} us, "
        "full before growth {}",
        sizeof(Key), sizeof(Value), keys, rate.get<double>() / 1e6,
        cell["one_by_one_per_s"].get<double>() / 1e6, text("longest_add_us", 0),
        text("longest_growth_us", 0), text("load_at_resize", 3)));
    into.push_back(std::move(cell));
}

template <class Key>
void measure_keys(harness& h, uint32_t keys, const std::vector<compared_width>& widths) {
    std::vector<std::unique_ptr<hash_peer>> peers;
    double peer_seconds = 0;
    for (const bool lock_free : {false, true}) {
        auto peer = std::make_unique<hash_peer>(sizeof(Key), keys, lock_free);
        if (!peer->valid()) h.print(fmt::format("{} keys: {}", keys, peer->why()));
        const double start = thread_seconds();
        uint32_t refused = 0;
        for (uint32_t n = 0; n < keys && peer->valid(); ++n) {
            const Key k = numbered<Key>(n);
            refused += !peer->add(&k);
        }
        if (refused != 0) h.print(fmt::format("rte_hash refused {} of {} keys", refused, keys));
        if (!lock_free) peer_seconds = thread_seconds() - start;
        peers.push_back(std::move(peer));
    }
    if (peers[0]->valid())
        h.print(fmt::format("{} B {} keys: rte_hash adds {:.2f} M/s", sizeof(Key), keys,
                            keys / peer_seconds / 1e6));
    measure_shape<Key, uint32_t>(h, keys, widths, peers);
    measure_shape<Key, uint64_t>(h, keys, widths, peers);
}

void summarise(harness& h, const std::vector<compared_width>& widths, const nlohmann::json& adds) {
    for (const auto& w : widths) {
        nlohmann::json s;
        const auto ratios = bench::summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
            return c["chosen"] == true && c["width_bits"] == w.bits;
        });
        s["geomean"] = or_null(ratios.geomean);
        s["min"] = or_null(ratios.least);
        for (const char* key : {"adds_per_s", "load_at_resize"}) {
            std::optional<double> least;
            for (const auto& a : adds)
                if (a[key].is_number())
                    least = std::min(least.value_or(a[key].get<double>()), a[key].get<double>());
            s[key] = or_null(least);
        }
        h.summary()[std::to_string(w.bits)] = s;
    }
    h.summary()["adds"] = adds;
}

int run(int argc, char** argv) {
    harness h("hash", "exact match of fixed-size keys beside rte_hash");
    int only_bytes = 0, only_keys = 0;
    std::string only;
    h.add_option("--key-bytes", only_bytes, "only keys of 8, 16 or 40 bytes");
    h.add_option("--keys", only_keys, "only tables of this many keys");
    h.add_option("--only", only, "only lookups or adds");
    if (const auto code = h.start(argc, argv, 6144)) return *code;
    if (!only.empty() && only != "lookups" && only != "adds") {
        h.print("turnpike-bench-hash: --only is lookups or adds, not '" + only + "'");
        return 2;
    }
    const auto widths = compared_widths(hash::lookup_kernels(), h.permit_widths());
    const std::vector<int> sizes = only_keys != 0
                                       ? std::vector<int>{only_keys}
                                       : std::vector<int>{3'125, 62'500, 1'000'000, 16'000'000};
    nlohmann::json adds = nlohmann::json::array();
    const auto wanted = [&](int bytes) { return only_bytes == 0 || only_bytes == bytes; };
    for (const int n : sizes) {
        if (only == "adds") break;
        const auto keys = static_cast<uint32_t>(n);
        if (wanted(8)) measure_keys<key<8>>(h, keys, widths);
        if (wanted(16)) measure_keys<key<16>>(h, keys, widths);
        if (wanted(40)) measure_keys<key<40>>(h, keys, widths);
    }
    if (only != "lookups") {
        const auto most = static_cast<uint32_t>(sizes.back());
        if (wanted(8)) measure_adds<key<8>, uint32_t>(h, most, adds);
        if (wanted(16)) measure_adds<key<16>, uint64_t>(h, most, adds);
        if (wanted(40)) measure_adds<key<40>, uint64_t>(h, most, adds);
    }
    summarise(h, widths, adds);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-hash", turnpike::bench::run, argc, argv);
}
