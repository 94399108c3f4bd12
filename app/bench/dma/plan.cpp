// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace turnpike::bench::dma {
namespace {

using micro = micro_benchmark;

std::vector<std::string> split(const std::vector<std::string>& given) {
    std::vector<std::string> words;
    for (const auto& text : given)
        for (size_t from = 0; from <= text.size();) {
            const size_t comma = std::min(text.find(',', from), text.size());
            words.push_back(text.substr(from, comma - from));
            from = comma + 1;
        }
    return words;
}

/// Parse each word of a list; returns `otherwise` for an empty list. Stores the first error in
/// `wrong`.
template <class T, class Parse>
std::vector<T> each_of(const std::vector<std::string>& given, const std::vector<T>& otherwise,
                       const Parse& parse, std::optional<error>& wrong) {
    std::vector<T> all;
    for (const auto& word : split(given)) {
        const result<T> one = parse(word);
        if (!one && !wrong) wrong = one.error();
        if (one && std::ranges::find(all, *one) == all.end()) all.push_back(*one);
    }
    return given.empty() ? otherwise : all;
}

/// Find an enumerator from 0 to `last` by its name.
template <class Enum, class Name>
auto by_name(const char* option, Enum last, const Name& name) {
    return [option, last, name](const std::string& word) -> result<Enum> {
        std::string all;
        for (int i = 0; i <= static_cast<int>(last); ++i) {
            const std::string known = name(static_cast<Enum>(i));
            if (known == word) return static_cast<Enum>(i);
            all += (i == 0 ? "" : ", ") + known;
        }
        return fail(EINVAL, option, fmt::format("unknown '{}'; known are {}", word, all));
    };
}

result<uint32_t> small_bytes(const std::string& word, const char* option, uint32_t most) {
    const auto bytes = parse_bytes(word, option);
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes > most)
        return fail(EINVAL, option, fmt::format("{} is more than {} bytes", word, most));
    return static_cast<uint32_t>(*bytes);
}

auto node_among(std::span<const int> nodes) {
    return [nodes](const std::string& word) -> result<int> {
        int node = -1;
        const char* const end = word.data() + word.size();
        const auto [rest, failed] = std::from_chars(word.data(), end, node);
        if (failed != std::errc{} || rest != end || std::ranges::find(nodes, node) == nodes.end())
            return fail(EINVAL, "--node",
                        fmt::format("no NUMA node '{}'; EAL has memory on {}", word,
                                    fmt::join(nodes, ", ")));
        return node;
    };
}

const char* pattern_name(access_pattern p) {
    return p == access_pattern::random ? "random" : "sequential";
}

void add(std::vector<row>& rows, const row& r) {
    if (std::ranges::find(rows, r) == rows.end()) rows.push_back(r);
}

std::vector<row> paper_rows(int local_node, std::span<const int> nodes) {
    std::vector<row> rows;
    const auto with = [&](micro test, uint32_t size, uint64_t window, cache_state cache, int node) {
        add(rows, {test, access_pattern::random, {window, size, 0}, cache, node});
    };
    for (const micro test :
         {micro::bw_rd, micro::bw_wr, micro::bw_rdwr, micro::lat_rd, micro::lat_wrrd})
        for (const uint32_t size : baseline_sizes())
            with(test, size, usual_window.bytes, cache_state::warm, local_node);
    for (const uint64_t window : swept_windows()) {
        for (const cache_state cache : {cache_state::cold, cache_state::warm}) {
            for (const micro test : {micro::lat_rd, micro::lat_wrrd})
                with(test, 8, window, cache, local_node);
            for (const micro test : {micro::bw_rd, micro::bw_wr})
                with(test, 64, window, cache, local_node);
        }
        for (const uint32_t size : compared_sizes()) {
            with(micro::bw_rd, size, window, cache_state::warm, local_node);
            for (const int node : nodes)
                if (nodes.size() > 1 && node != local_node)
                    with(micro::bw_rd, size, window, cache_state::warm, node);
        }
    }
    return rows;
}

}  // namespace

bool wish::empty() const noexcept {
    return tests.empty() && patterns.empty() && offsets.empty() && sizes.empty() &&
           windows.empty() && caches.empty() && nodes.empty();
}

std::span<const uint32_t> baseline_sizes() noexcept {
    static constexpr uint32_t sizes[] = {64,  65,  127, 128, 129,  255,  256,  257,
                                         511, 512, 513, 768, 1023, 1024, 1025, 2048};
    return sizes;
}

std::vector<uint64_t> swept_windows() {
    std::vector<uint64_t> windows;
    for (uint64_t bytes = 4096; bytes <= uint64_t{64} << 20; bytes *= 2) windows.push_back(bytes);
    return windows;
}

std::span<const uint32_t> compared_sizes() noexcept {
    static constexpr uint32_t sizes[] = {64, 128, 256, 512};
    return sizes;
}

result<std::vector<row>> rows_of(const wish& w, int local_node, std::span<const int> nodes) {
    if (w.empty()) return paper_rows(local_node, nodes);
    constexpr uint32_t max_transfer = 1u << 20;
    const auto bytes = [](const char* option) {
        return
            [option](const std::string& word) { return small_bytes(word, option, max_transfer); };
    };
    const std::vector<micro> every_test{micro::lat_rd, micro::lat_wrrd, micro::bw_rd, micro::bw_wr,
                                        micro::bw_rdwr};
    std::optional<error> wrong;
    const auto tests =
        each_of(w.tests, every_test,
                by_name("--test", micro::bw_rdwr, [](micro t) { return name_of(t); }), wrong);
    const auto patterns =
        each_of<access_pattern>(w.patterns, {access_pattern::random},
                                by_name("--pattern", access_pattern::random, pattern_name), wrong);
    const auto offsets =
        each_of<uint32_t>(w.offsets, {usual_window.offset_bytes}, bytes("--offset"), wrong);
    const auto sizes =
        each_of<uint32_t>(w.sizes, {usual_window.transfer_bytes}, bytes("--size"), wrong);
    const auto windows = each_of<uint64_t>(
        w.windows, {usual_window.bytes},
        [](const std::string& word) { return parse_bytes(word, "--window"); }, wrong);
    const auto caches = each_of<cache_state>(
        w.caches, {cache_state::warm},
        by_name("--cache", cache_state::thrash, [](cache_state c) { return name_of(c); }), wrong);
    const auto chosen_nodes = each_of<int>(w.nodes, {local_node}, node_among(nodes), wrong);
    if (wrong) return tl::unexpected(*wrong);
    std::vector<row> rows;
    for (const micro test : tests)
        for (const access_pattern pattern : patterns)
            for (const uint32_t offset : offsets)
                for (const uint64_t window : windows)
                    for (const cache_state cache : caches)
                        for (const int node : chosen_nodes)
                            for (const uint32_t size : sizes)
                                rows.push_back(
                                    {test, pattern, {window, size, offset}, cache, node});
    for (const row& r : rows)
        if (const auto valid = validate(r.window, least_units(r.test)); !valid)
            return tl::unexpected(valid.error());
    return rows;
}

}  // namespace turnpike::bench::dma
