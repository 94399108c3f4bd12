// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-fib: fib4 and fib6 beside rte_fib, rte_fib6 and rte_lpm, in one process, the same
// addresses in the same order; described in doc/bench-fib.md.
#include <fmt/format.h>
#include <rte_memory.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/byte_order.hpp"
#include "draw.hpp"
#include "eal/memory.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "fib/fib_dpdk.hpp"
#include "fib_updates.hpp"
#include "fresh_routes.hpp"
#include "lookup_cell.hpp"
#include "widths.hpp"

namespace turnpike::bench {
namespace {

struct family4 {
    static constexpr int number = 4;
    using table_type = fib::fib4;
    using route_type = fib::route4;
    using address_type = uint32_t;
    static address_type from(const fib::address& a) { return static_cast<uint32_t>(a.high >> 32); }
    static auto kernels() { return fib::lookup4_kernels(); }
    static auto peers(const routes& t, unsigned width) { return ipv4_peers(t, width); }
};

struct family6 {
    static constexpr int number = 6;
    using table_type = fib::fib6;
    using route_type = fib::route6;
    using address_type = ipv6_address;
    static address_type from(const fib::address& a) {
        address_type out;
        store_be(out.bytes, a.high);
        store_be(out.bytes + 8, a.low);
        return out;
    }
    static auto kernels() { return fib::lookup6_kernels(); }
    static auto peers(const routes& t, unsigned width) { return ipv6_peers(t, width); }
};

/// Measures one table with one next-hop width.
template <class Family>
class comparison {
  public:
    comparison(harness& h, std::span<const uint16_t> widths, std::string name, routes table,
               unsigned width_bytes, uint64_t distinct, const locality& how = {})
        : harness_(h),
          widths_(compared_widths(Family::kernels(), widths)),
          name_(std::move(name)),
          table_(std::move(table)),
          width_(width_bytes),
          distinct_(distinct),
          locality_(how) {
        for (const auto& r : table_)
            ours_routes_.push_back({Family::from(r.prefix), r.length, r.next_hop});
    }

    /// Returns false if the setup failed (and says so).
    bool load() {
        auto config = fib::eal_config("bench", SOCKET_ID_ANY);
        config.max_routes = static_cast<uint32_t>(table_.size() + 16);
        config.next_hop_bytes = static_cast<uint8_t>(width_);
        auto made = Family::table_type::create(config);
        if (!made) return harness_.print(made.error().message()), false;
        ours_ = std::move(*made);
        const uint64_t start = rte_rdtsc();
        if (auto ok = ours_->load(ours_routes_); !ok)
            return harness_.print(ok.error().message()), false;
        load_seconds =
            static_cast<double>(rte_rdtsc() - start) / static_cast<double>(rte_get_tsc_hz());
        for (compared_width& width : widths_) {  // measured, with this table
            (void)ours_->select_kernel(width.bits, "");
            width.kernel = ours_->kernel();
        }
        peers_ = Family::peers(table_, width_);
        return true;
    }

    void measure(const std::string& traffic_kind, uint32_t burst) {
        if (traffic_kind_ != traffic_kind) {
            traffic_kind_ = traffic_kind;
            traffic_.clear();
            for (const auto& a :
                 make_traffic(table_, Family::number, traffic_kind, lookups, locality_))
                traffic_.push_back(Family::from(a));
        }
        std::vector<side> peers, ours;
        for (const auto& peer : peers_)
            for (const auto& variant : peer.variants)
                peers.push_back(
                    {{variant.name,
                      [this, &variant, burst] { return variant.cycles(traffic_, burst); }},
                     variant.bits});
        for (const auto& row : Family::kernels())
            if (isa::may_run(row, isa::any_simd_bitwidth))  // supported by the CPU
                ours.push_back(
                    {{std::string(row.name),
                      [this, f = row.function, burst] {
                          const fib::view& view = *ours_->readers_view();
                          return cycles_per_lookup(
                              traffic_, burst,
                              [f, &view](const auto* dst, uint64_t* nexthop, uint32_t n) {
                                  f(view,
                                    reinterpret_cast<const std::conditional_t<Family::number == 4,
                                                                              uint32_t, uint8_t>*>(
                                        dst),
                                    nexthop, n);
                              });
                      }},
                     row.simd_bitwidth});
        for (const verdict& v : compare(peers, ours, widths_, harness_.repetitions()))
            report(v, peers, burst);
    }

    uint64_t bytes() const { return ours_->stats().bytes(); }
    double load_seconds = 0;
    std::string statistics;  ///< of a fresh table
    /// nullopt: the peer was not made.
    std::optional<double> peer_load_seconds() const {
        return peers_[0].variants.empty() ? std::nullopt : std::optional(peers_[0].load_seconds);
    }
    typename Family::table_type& ours() { return *ours_; }
    const routes& table() const { return table_; }

  private:
    static constexpr size_t lookups = Family::number == 4 ? 1 << 21 : 1 << 20;

    void report(const verdict& v, const std::vector<side>& peers, uint32_t burst) {
        nlohmann::json cell = cell_of(v, peers, peers_[0].why_not);
        cell["family"] = Family::number;
        cell["width_bytes"] = width_;
        cell["next_hops"] = distinct_;
        cell["table"] = name_;
        cell["traffic"] = traffic_kind_;
        cell["burst"] = burst;
        cell["mlookups"] = static_cast<double>(rte_get_tsc_hz()) / v.cycles / 1e6;
        if (!statistics.empty()) cell["statistics"] = statistics;
        if (peers_[0].refused != 0) cell["peer_refused_routes"] = peers_[0].refused;
        const auto& added = harness_.add_cell(std::move(cell));
        if (v.width_bits)
            harness_.print(fmt::format(
                "v{} {:5} {}B {:5} hops {:7} burst {:3}  {:3} bits {:6} {:6.2f}  {:22} {:6.2f}  "
                "x{:.2f}  {}",
                Family::number, name_, width_, distinct_, traffic_kind_, burst, *v.width_bits,
                v.isa, v.cycles, v.peer ? peers[*v.peer].what.name : "none",
                v.peer ? v.of_peers[*v.peer] : 0.0,
                added["ratio"].is_number() ? added["ratio"].template get<double>() : 0.0,
                noise_text(added)));
    }

    harness& harness_;
    std::vector<compared_width> widths_;
    std::string name_;
    routes table_;
    unsigned width_;
    uint64_t distinct_;
    locality locality_;
    std::vector<typename Family::route_type> ours_routes_;
    std::unique_ptr<typename Family::table_type> ours_;
    std::vector<peer_table<typename Family::address_type>> peers_;
    std::string traffic_kind_;
    std::vector<typename Family::address_type> traffic_;
};

/// The machine's limit: independent random loads from a block of that size. Null if there is no memory for the block.
nlohmann::json limit_cycles(uint64_t bytes, unsigned repetitions) {
    const auto memory = eal::memory_on(SOCKET_ID_ANY);
    auto* block = static_cast<uint8_t*>(memory.allocate(memory.context, bytes, 64));
    if (block == nullptr) return nullptr;
    std::fill_n(block, bytes, uint8_t{1});
    std::vector<uint32_t> at(1 << 20);
    uint64_t x = 88172645463325252;
    for (auto& a : at) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        a = static_cast<uint32_t>((x >> 16) % (bytes - 8));
    }
    const contender one{"loads", [&] {
                            return cycles_per_lookup(
                                at, 64, [&](const uint32_t* from, uint64_t* to, uint32_t n) {
                                    for (uint32_t i = 0; i < n; ++i) to[i] = block[from[i]];
                                });
                        }};
    const double cycles = interleave({&one, 1}, repetitions)[0];
    memory.release(memory.context, block);
    return cycles;
}

template <class Family>
void measure_table(harness& h, std::span<const uint16_t> widths, const std::string& name,
                   const routes& table, unsigned width, uint64_t distinct,
                   const std::string& only_traffic) {
    routes assigned = table;
    assign_next_hops(assigned, distinct);
    comparison<Family> c(h, widths, name, std::move(assigned), width, distinct);
    const bool full = name == "full";
    if constexpr (Family::number == 4)
        if (full && width == 4 && distinct == 60'000 &&
            (only_traffic.empty() || only_traffic == "updates"))
            measure_updates(h, c.table());
    if (only_traffic == "updates" || !c.load()) return;
    const std::string prefix = Family::number == 4 ? "v4_" : "v6_";
    if (full && width == 4 && distinct == 60'000) {
        h.summary()[prefix + "bytes_4B"] = c.bytes();
        h.summary()[prefix + "load_s"] = c.load_seconds;
        const auto peer_s = c.peer_load_seconds();
        h.summary()[prefix + "peer_load_s"] =
            peer_s ? nlohmann::json(*peer_s) : nlohmann::json(nullptr);
        h.summary()[prefix + "limit_cycles"] = limit_cycles(c.bytes(), h.repetitions());
    }
    for (const char* traffic : {"uniform", "prefix", "zipf", "one"})
        for (const uint32_t burst : {32U, 64U, 256U})
            if (only_traffic.empty() || only_traffic == traffic) c.measure(traffic, burst);
}

/// Results that do not depend on the width are reported for each.
void summarise_by_width(harness& h, std::span<const uint16_t> widths) {
    const nlohmann::json common = std::exchange(h.summary(), nlohmann::json::object());
    for (const uint16_t bits : widths) {
        nlohmann::json& s = h.summary()[std::to_string(bits)] = common;
        const auto put = [&](const char* key, std::optional<double> value) {
            s[key] = value ? nlohmann::json(*value) : nlohmann::json(nullptr);
        };
        const auto chosen = [bits](const nlohmann::json& c) { return c["width_bits"] == bits; };
        for (const int family : {4, 6}) {
            const auto m = summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
                return chosen(c) && c["family"] == family && c["table"] == "full" &&
                       c["traffic"] != "one";
            });
            put(family == 4 ? "v4_geomean" : "v6_geomean", m.geomean);
            put(family == 4 ? "v4_min" : "v6_min", m.least);
            const auto narrow = summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
                return chosen(c) && c["family"] == family &&
                       (c["table"] == "8" || c["traffic"] == "one");
            });
            put(family == 4 ? "narrow_min" : "v6_narrow_min", narrow.least);
        }
        if (common.contains("v4_limit_cycles")) s["limit_cycles"] = common["v4_limit_cycles"];
    }
}

template <class Family>
void measure_fresh(harness& h, std::span<const uint16_t> widths, const fresh_options& fresh) {
    for (int number = 1; number <= fresh.sets; ++number) {
        fresh_table drawn = draw_table(
            Family::number,
            seed_of_set(static_cast<uint64_t>(fresh.seed), static_cast<unsigned>(number)));
        const std::string name = fmt::format("fresh-{}", number);
        h.print(fmt::format("v{} {}: {}", Family::number, name, drawn.statistics));
        comparison<Family> c(h, widths, name, std::move(drawn.table), drawn.width_bytes,
                             drawn.next_hops, drawn.traffic);
        c.statistics = std::move(drawn.statistics);
        if (!c.load()) continue;
        for (const char* traffic : {"prefix", "zipf"}) c.measure(traffic, drawn.burst);
    }
}

void summarise_fresh_tables(harness& h, std::span<const uint16_t> widths,
                            const fresh_options& fresh) {
    h.summary()["seed"] = fresh.seed;
    for (const uint16_t bits : widths)
        for (const int family : {4, 6})
            h.summary()[std::to_string(bits)][fmt::format("v{}", family)] = summarise_fresh(
                h.cells(), "table", bits,
                [family](const nlohmann::json& c) { return c["family"] == family; });
}

int run(int argc, char** argv) {
    harness h("fib", "IPv4 and IPv6 longest-prefix match beside rte_fib, rte_fib6 and rte_lpm");
    std::string file, only_traffic;
    int only_family = 0;
    h.add_option(
        "--table", file,
        "file of prefixes, one ADDRESS/LENGTH per line, plain or .gz, instead of the generator");
    h.add_option("--family", only_family, "only 4 or 6");
    h.add_option("--traffic", only_traffic, "only uniform, prefix, zipf or one; or only updates");
    fresh_options fresh;
    h.add_fresh(fresh);
    if (const auto code = h.start(argc, argv, 3072)) return *code;
    const auto widths = h.permit_widths();
    if (fresh.sets > 0) {
        if (only_family != 6) measure_fresh<family4>(h, widths, fresh);
        if (only_family != 4) measure_fresh<family6>(h, widths, fresh);
        summarise_fresh_tables(h, widths, fresh);
        return h.finish();
    }
    struct shape {
        unsigned width;
        uint64_t distinct;
    };
    if (only_family != 6) {
        const routes full = file.empty() ? generate_routes(4, 900'000) : read_routes(file, 4);
        h.summary()["v4_routes"] = full.size();
        for (const shape s :
             {shape{2, 200}, shape{4, 200}, shape{4, 60'000}, shape{8, 200}, shape{8, 60'000}})
            if (!full.empty())
                measure_table<family4>(h, widths, "full", full, s.width, s.distinct, only_traffic);
        for (const unsigned width : {2U, 4U, 8U})
            measure_table<family4>(h, widths, "8", eight_routes(4), width, 200, only_traffic);
    }
    if (only_family != 4) {
        const routes full = file.empty() ? generate_routes(6, 160'000) : read_routes(file, 6);
        h.summary()["v6_routes"] = full.size();
        for (const shape s : {shape{4, 200}, shape{4, 60'000}, shape{8, 200}, shape{8, 60'000}})
            if (!full.empty())
                measure_table<family6>(h, widths, "full", full, s.width, s.distinct, only_traffic);
        measure_table<family6>(h, widths, "8", eight_routes(6), 4, 200, only_traffic);
    }
    summarise_by_width(h, widths);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-fib", turnpike::bench::run, argc, argv);
}
