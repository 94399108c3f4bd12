// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-acl: lib/acl beside rte_acl, in one process, the same headers in the same order;
// described in doc/bench-acl.md.
#include <fmt/format.h>
#include <rte_acl.h>
#include <rte_cycles.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "acl/acl.hpp"
#include "acl/acl_dpdk.hpp"
#include "acl_peer.hpp"
#include "acl_updates.hpp"
#include "draw.hpp"
#include "fresh_rules.hpp"
#include "harness.hpp"
#include "slices.hpp"
#include "widths.hpp"

namespace turnpike::bench {
namespace {

constexpr size_t header_count = 1 << 15;
/// rte_acl may take minutes to build fresh sets of more rules.
constexpr size_t long_fresh_set = 1500;

double ms_since(uint64_t start) {
    return static_cast<double>(rte_rdtsc() - start) * 1e3 / static_cast<double>(rte_get_tsc_hz());
}

/// The first half is warm-up, the second half is timed. Cycles per packet.
template <class Classify>
double cycles_per_packet(const std::vector<const uint8_t*>& data, uint32_t burst,
                         const Classify& classify) {
    alignas(64) uint32_t results[64 * acl::max_categories];
    const size_t half = data.size() / 2;
    const auto pass = [&](size_t from, size_t end) {
        for (size_t i = from; i < end; i += burst) {
            classify(const_cast<const uint8_t**>(&data[i]), results, burst);
            asm volatile("" ::"r"(results) : "memory");
        }
    };
    pass(0, half);
    return median_cycles(half, 2 * half, burst, pass);
}

/// Measures one set with one number of categories, lib/acl and rte_acl.
template <class Key>
class comparison {
  public:
    comparison(harness& h, std::span<const uint16_t> widths, const rule_set& set,
               unsigned categories)
        : harness_(h),
          widths_(compared_widths(acl::classify_kernels(), widths)),
          set_(set),
          categories_(categories) {
        for (acl::rule& r : set_.rules)  // several categories: each rule is in some of them
            r.categories = categories == 1 ? 1 : 1 + r.user_data * 2654435761U % 15;
        auto made = acl::classifier<Key>::create(acl::eal_config("bench", SOCKET_ID_ANY));
        if (!made) return;
        ours_ = std::move(*made);
        // The kernel is selected at each build.
        for (compared_width& width : widths_)
            for (unsigned i = 0; i < 3; ++i) {
                (void)ours_->select_kernel(width.bits, "");
                const uint64_t start = rte_rdtsc();
                if (const auto ok = ours_->build(set_.rules); !ok) {
                    harness_.print(set_.name + ": " + ok.error().message());
                    ours_.reset();
                    return;
                }
                const double ms = ms_since(start);
                build_ms_ = build_ms_ == 0 ? ms : std::min(build_ms_, ms);
                width.kernel = name_of(ours_->kernel(), ours_->readers_view()->vectors != nullptr);
            }
        // With the bit vectors that any width may have: they are measured where they were selected.
        (void)ours_->select_kernel(isa::any_simd_bitwidth, "scalar");
        if (!ours_->build(set_.rules)) ours_.reset();
    }

    void add_peers(const std::string& not_built) {
        why_not_ = not_built;
        if (!why_not_.empty()) return;
        for (const size_t max_size : {size_t{0}, size_t{8} << 20}) {
            acl_peer peer = build_peer(set_, categories_, max_size);
            if (peer.context == nullptr)
                why_not_ = peer.why_not;
            else
                peers_.push_back(std::move(peer));
        }
    }

    void measure(std::span<const uint32_t> bursts, uint64_t header_seed) {
        if (ours_ == nullptr) return;
        for (const char* traffic : {"rules", "pareto", "random"}) {
            const auto bytes = make_headers(set_, traffic, header_count, header_seed);
            std::vector<const uint8_t*> data;
            for (size_t i = 0; i < header_count; ++i)
                data.push_back(bytes.data() + i * sizeof(Key));
            for (const uint32_t burst : bursts) measure(traffic, data, burst);
        }
    }

    std::string statistics;  ///< of a fresh set

  private:
    static std::string name_of(std::string_view kernel, bool vectors) {
        return std::string(kernel) + (vectors ? "/vectors" : "");
    }
    void measure(const char* traffic, const std::vector<const uint8_t*>& data, uint32_t burst) {
        std::vector<side> peers, ours;
        for (const acl_peer& peer : peers_)
            for (const auto& variant : peer.variants)
                peers.push_back({{variant.name,
                                  [this, &peer, &variant, &data, burst] {
                                      const auto alg =
                                          static_cast<enum rte_acl_classify_alg>(variant.algorithm);
                                      return cycles_per_packet(
                                          data, burst,
                                          [&](const uint8_t** d, uint32_t* r, uint32_t n) {
                                              rte_acl_classify_alg(peer.context.get(), d, r, n,
                                                                   categories_, alg);
                                          });
                                  }},
                                 variant.bits});
        const auto chosen = [&](std::string_view name) {
            return std::any_of(widths_.begin(), widths_.end(),
                               [&](const compared_width& w) { return w.kernel == name; });
        };
        for (const auto& row : acl::classify_kernels())
            for (const bool vectors : {false, true}) {
                const std::string name = name_of(row.name, vectors);
                if (!isa::may_run(row, isa::any_simd_bitwidth) || (!chosen(name) && burst != 32) ||
                    (vectors && ours_->readers_view()->vectors == nullptr))
                    continue;
                ours.push_back({{name,
                                 [this, f = row.function, vectors, &data, burst] {
                                     acl::view view = *ours_->readers_view();
                                     if (!vectors) view.vectors = nullptr;
                                     return cycles_per_packet(
                                         data, burst,
                                         [&](const uint8_t** d, uint32_t* r, uint32_t n) {
                                             f(view, d, r, n, categories_);
                                         });
                                 }},
                                row.simd_bitwidth});
            }
        for (const verdict& v : compare(peers, ours, widths_, harness_.repetitions()))
            report(traffic, burst, v, peers);
    }

    void report(const char* traffic, uint32_t burst, const verdict& v,
                const std::vector<side>& peers) {
        const auto stats = ours_->stats();
        nlohmann::json cell = cell_of(v, peers, why_not_);
        cell["set"] = set_.name;
        cell["family"] = set_.kind == acl::family::ipv4 ? 4 : 6;
        cell["rules"] = set_.rules.size();
        cell["traffic"] = traffic;
        cell["burst"] = burst;
        cell["categories"] = categories_;
        cell["build_ms"] = build_ms_;
        cell["bytes"] = stats.bytes();
        cell["replication"] = stats.replication;
        if (!statistics.empty()) cell["statistics"] = statistics;
        if (v.peer) {
            const auto fewest = std::min_element(
                peers_.begin(), peers_.end(),
                [](const acl_peer& a, const acl_peer& b) { return a.bytes < b.bytes; });
            cell["peer_build_ms"] = fewest->build_ms;
            cell["peer_bytes"] = fewest->bytes;
        }
        const auto& added = harness_.add_cell(std::move(cell));
        if (v.width_bits)
            harness_.print(fmt::format(
                "{:9} {:6} {:6} burst {:2} cat {}  {:3} bits {:17} {:6.1f}  {:21} {:6.1f}  x{:.2f} "
                " "
                "{}  build {:.1f} ms",
                set_.name, set_.rules.size(), traffic, burst, categories_, *v.width_bits, v.isa,
                v.cycles, v.peer ? peers[*v.peer].what.name : "none",
                v.peer ? v.of_peers[*v.peer] : 0.0,
                added["ratio"].is_number() ? added["ratio"].template get<double>() : 0.0,
                noise_text(added), build_ms_));
    }

    harness& harness_;
    std::vector<compared_width> widths_;
    rule_set set_;
    unsigned categories_;
    std::unique_ptr<acl::classifier<Key>> ours_;
    double build_ms_ = 0;
    std::vector<acl_peer> peers_;
    std::string why_not_;
};

void summarise_width(harness& h, uint16_t bits, nlohmann::json& into) {
    const auto rules = [](const nlohmann::json& c) { return c["rules"].get<size_t>(); };
    const auto put = [&](const std::string& key, std::optional<double> value) {
        into[key] = value ? nlohmann::json(*value) : nlohmann::json(nullptr);
    };
    const auto chosen = [bits](const nlohmann::json& c, int family) {
        return c["width_bits"] == bits && c["family"] == family;
    };
    const struct {
        const char* name;
        size_t from, below;
    } sizes[] = {{"1k", 0, 3000}, {"10k", 3000, 20'000}, {"concat", 20'000, ~size_t{0}}};
    for (const auto& size : sizes) {
        const auto of_size = [&](const nlohmann::json& c) {
            return chosen(c, 4) && rules(c) >= size.from && rules(c) < size.below;
        };
        const auto m = summarise(h.cells(), "ratio", of_size);
        const std::string name = size.name;
        put(name == "concat" ? "concat_geomean" : "geomean_" + name, m.geomean);
        if (name != "concat") put("min_" + name, m.least);
        for (const int categories : {1, 4}) {
            const auto one = summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
                return of_size(c) && c["categories"] == categories;
            });
            const std::string which = fmt::format("{}_{}_categories", name, categories);
            put("geomean_" + which, one.geomean);
            put("min_" + which, one.least);
        }
        double build = 0;
        for (const auto& c : h.cells())
            if (of_size(c)) build = std::max(build, c["build_ms"].get<double>());
        if (build != 0) into["max_build_ms_" + name] = build;
    }
    put("v6_geomean", summarise(h.cells(), "ratio", [&](const nlohmann::json& c) {
                          return chosen(c, 6);
                      }).geomean);
    std::optional<double> bytes_ratio;  // none without a peer
    for (const auto& c : h.cells())
        if (c.contains("peer_bytes"))
            bytes_ratio = std::max(bytes_ratio.value_or(0),
                                   c["bytes"].get<double>() / c["peer_bytes"].get<double>());
    put("max_bytes_ratio", bytes_ratio);
}

/// Tries to build rte_acl for this set in a child process, which can be killed at the deadline.
/// Empty: success.
std::string probe_peer(const harness& h, const std::vector<std::string>& argv) {
    const std::chrono::seconds limit(h.quick() ? 30 : 300);
    if (run_child(argv, limit).exit_code == 0) return {};
    return fmt::format("rte_acl_build failed, or did not finish within {} s", limit.count());
}

std::string probe_peer_of_files(const harness& h, const rule_set& set,
                                const std::vector<std::string>& files) {
    if (set.rules.size() < 20'000 || files.empty()) return {};
    std::vector<std::string> argv{"/proc/self/exe", "--build-peer", set.name};
    for (const auto& f : files) argv.insert(argv.end(), {"--rules", f});
    return probe_peer(h, argv);
}

template <class Key>
void measure_set(harness& h, std::span<const uint16_t> widths, const rule_set& set,
                 const std::string& no_peer) {
    for (const unsigned categories : {1U, 4U}) {
        comparison<Key> c(h, widths, set, categories);
        c.add_peers(no_peer);
        constexpr std::array<uint32_t, 2> bursts{32, 64};
        c.measure(bursts, usual_header_seed);
    }
}

template <class Key>
void measure_fresh_set(harness& h, std::span<const uint16_t> widths, const fresh_rules& drawn,
                       const std::string& no_peer) {
    for (const unsigned categories : {1U, 4U}) {
        comparison<Key> c(h, widths, drawn.set, categories);
        c.statistics = drawn.statistics;
        c.add_peers(no_peer);
        constexpr std::array<uint32_t, 1> bursts{32};
        c.measure(bursts, drawn.header_seed);
    }
}

fresh_rules draw_set(const fresh_options& fresh, int number) {
    return draw_rules(
        fmt::format("fresh-{}", number),
        seed_of_set(static_cast<uint64_t>(fresh.seed), static_cast<unsigned>(number)));
}

/// In a child process, for probe_peer().
int build_peer_of_fresh(const fresh_options& fresh, const std::string& name) {
    for (int number = 1; number <= fresh.sets; ++number)
        if (name == fmt::format("fresh-{}", number))
            return build_peer(draw_set(fresh, number).set, 1, 0).context != nullptr ? 0 : 1;
    return 1;
}

void measure_fresh(harness& h, std::span<const uint16_t> widths, const fresh_options& fresh) {
    for (int number = 1; number <= fresh.sets; ++number) {
        const fresh_rules drawn = draw_set(fresh, number);
        h.print(fmt::format("{}: {}", drawn.set.name, drawn.statistics));
        const std::string no_peer =
            drawn.set.rules.size() < long_fresh_set
                ? std::string()
                : probe_peer(h, {"/proc/self/exe", "--fresh", std::to_string(fresh.sets), "--seed",
                                 std::to_string(fresh.seed), "--build-peer", drawn.set.name});
        drawn.set.kind == acl::family::ipv4
            ? measure_fresh_set<acl::key4>(h, widths, drawn, no_peer)
            : measure_fresh_set<acl::key6>(h, widths, drawn, no_peer);
    }
    h.summary()["seed"] = fresh.seed;
    for (const uint16_t bits : widths)
        for (const int categories : {1, 4})
            h.summary()[std::to_string(bits)][fmt::format("{}_categories", categories)] =
                summarise_fresh(h.cells(), "set", bits, [categories](const nlohmann::json& c) {
                    return c["categories"] == categories;
                });
}

int run(int argc, char** argv) {
    harness h("acl", "packet classification beside rte_acl");
    std::vector<std::string> files, only;
    std::string build_peer_of;
    bool no_updates = false;
    h.add_option("--rules", files, "files of ClassBench rules, instead of the generator");
    h.add_option("--only", only, "measure only sets with these names; acl selects all of acl*");
    h.add_flag("--no-updates", no_updates, "skip updates with a concurrent reader");
    h.add_option("--build-peer", build_peer_of, "only build rte_acl for this set");
    fresh_options fresh;
    h.add_fresh(fresh);
    if (const auto code = h.start(argc, argv, 3072)) return *code;
    const auto widths = h.permit_widths();
    if (fresh.sets > 0 && !build_peer_of.empty()) return build_peer_of_fresh(fresh, build_peer_of);
    if (fresh.sets > 0) {
        measure_fresh(h, widths, fresh);
        return h.finish();
    }
    std::vector<rule_set> sets = files.empty() ? generate_sets() : std::vector<rule_set>{};
    for (const auto& path : files) {
        auto file = acl::read_rules(path);
        if (!file) {
            h.print(file.error().message());
            return 2;
        }
        // l3fwd ignores the flags of these files
        for (acl::rule& r : file->rules) r.tcp_flags = {};
        sets.push_back(
            {std::filesystem::path(path).filename(), file->kind, std::move(file->rules)});
    }
    const auto all = concatenations(sets);
    if (!build_peer_of.empty()) {
        for (const rule_set& s : all)
            if (s.name == build_peer_of) return build_peer(s, 1, 0).context != nullptr ? 0 : 1;
        return 1;
    }
    if (!no_updates)
        for (const rule_set& s : sets)
            if (s.rules.size() > 3000 && s.kind == acl::family::ipv4) measure_updates(h, s);
    std::vector<const rule_set*> each;
    for (const auto& s : sets) each.push_back(&s);
    for (const auto& s : all) each.push_back(&s);
    if (!only.empty())
        std::erase_if(each, [&](const rule_set* s) {
            return std::find(only.begin(), only.end(), s->name) == only.end();
        });
    for (const rule_set* s : each) {
        const auto no_peer = probe_peer_of_files(h, *s, files);
        s->kind == acl::family::ipv4 ? measure_set<acl::key4>(h, widths, *s, no_peer)
                                     : measure_set<acl::key6>(h, widths, *s, no_peer);
    }
    // Results that do not depend on the width (updates) are reported for each.
    const nlohmann::json common = std::exchange(h.summary(), nlohmann::json::object());
    for (const uint16_t bits : widths)
        summarise_width(h, bits, h.summary()[std::to_string(bits)] = common);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-acl", turnpike::bench::run, argc, argv);
}
