// SPDX-License-Identifier: BSD-3-Clause
#include "acl/rule_groups.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace turnpike::acl {
namespace {

constexpr uint32_t byte_values = 256;
constexpr uint32_t max_levels = bit_vectors::max_levels;
/// A child that is still too large costs another node, and copies there.
constexpr double divided_again = 2;
/// Rules of all groups of a part.
constexpr uint64_t copies_per_rule = 4;
/// Rules by which bytes are compared.
constexpr size_t compared = 1024;
/// Values of a byte that a rule may match to be in the first of two parts.
constexpr uint32_t narrow = 16;
/// Bytes by which rules are divided into two parts.
constexpr size_t tried = 3;
/// A node whose largest child is hardly smaller than itself does not help.
constexpr double hardly_smaller = 0.9;

/// The number of a node's rules in a row.
size_t marked_in(std::span<const uint64_t> r) {
    return std::accumulate(r.begin(), r.end(), size_t{0}, [](size_t sum, uint64_t x) {
        return sum + static_cast<size_t>(std::popcount(x));
    });
}

/// A node's rules by a byte's values, and their division into children.
struct split {
    key_byte byte{};
    double cost = 0;
    std::vector<uint64_t> rows;              ///< of children
    std::vector<size_t> sizes;               ///< rules of each child
    std::array<uint8_t, byte_values> child;  ///< by value

    /// The part of the rules that is in the child of one of them, on average.
    [[nodiscard]] double expected() const {
        double sum = 0, squares = 0;
        for (const size_t size : sizes) {
            sum += static_cast<double>(size);
            squares += static_cast<double>(size * size);
        }
        return squares / sum / sum;
    }
    [[nodiscard]] std::span<const uint64_t> row_of(size_t number) const {
        const size_t words = rows.size() / sizes.size();
        return {rows.data() + number * words, words};
    }
};

template <unsigned Words>
class divider {
  public:
    divider(std::span<const packed_rule<Words>> rules, std::span<const key_byte> bytes, size_t most)
        : rules_(rules), bytes_(bytes), most_(most) {}

    /// Answers  nothing if these rules need too many copies
    std::optional<rule_groups> groups_of(const std::vector<uint32_t>& set) {
        out_ = {};
        max_copies_ = copies_per_rule * set.size();
        out_.copies = set.size();
        const auto root = place(set, 0);
        if (!root) return {};
        out_.root = *root;
        return std::move(out_);
    }

    /// A part of the rules that match few values of a byte, and one of the others.
    std::vector<rule_groups> two_parts(const std::vector<uint32_t>& set) {
        struct candidate {
            std::vector<uint32_t> some;
            double left;  ///< rules of a header's child, and all of the others
        };
        std::vector<candidate> candidates;
        for (const key_byte byte : bytes_) {
            std::vector<uint32_t> some;
            for (const uint32_t i : set)
                if (values_of(byte, rules_[i]) <= narrow) some.push_back(i);
            if (some.empty() || some.size() == set.size()) continue;
            const auto by = split_of_some(some, byte);
            if (!by) continue;
            const double left = by->expected() * static_cast<double>(some.size()) +
                                static_cast<double>(set.size() - some.size());
            candidates.push_back({std::move(some), left});
        }
        std::ranges::stable_sort(candidates, {}, &candidate::left);
        candidates.resize(std::min(candidates.size(), tried));
        for (const auto& [some, left] : candidates) {
            auto first = groups_of(some);
            if (!first) continue;
            std::vector<uint32_t> others;
            std::ranges::set_difference(set, some, std::back_inserter(others));
            auto second = groups_of(others);
            if (!second) continue;
            std::vector<rule_groups> both;
            both.push_back(std::move(*first));
            both.push_back(std::move(*second));
            return both;
        }
        return {};
    }

  private:
    std::optional<rule_groups::child> place(std::vector<uint32_t> set, uint32_t level) {
        if (set.size() <= most_) {
            out_.levels = std::max(out_.levels, level);
            out_.groups.push_back(std::move(set));
            return rule_groups::child{static_cast<uint32_t>(out_.groups.size() - 1), true};
        }
        if (level == max_levels) return {};
        const auto best = best_split(set);
        if (!best) return {};
        // Each child's rules are copied at least once.
        out_.copies +=
            std::accumulate(best->sizes.begin(), best->sizes.end(), size_t{0}) - set.size();
        if (out_.copies > max_copies_) return {};
        const auto number = static_cast<uint32_t>(out_.nodes.size());
        out_.nodes.push_back({best->byte, {}});
        std::vector<rule_groups::child> children;
        for (size_t c = 0; c < best->sizes.size(); ++c) {
            const auto there = best->row_of(c);
            std::vector<uint32_t> of_child;
            of_child.reserve(best->sizes[c]);
            for (size_t i = 0; i < set.size(); ++i)
                if ((there[i / 64] >> i % 64 & 1) != 0) of_child.push_back(set[i]);
            const auto child = place(std::move(of_child), level + 1);
            if (!child) return {};
            children.push_back(*child);
        }
        for (uint32_t v = 0; v < byte_values; ++v)
            out_.nodes[number].children[v] = children[best->child[v]];
        return rule_groups::child{number, false};
    }

    std::optional<split> best_split(std::span<const uint32_t> set) const {
        std::optional<split> best;
        for (const key_byte byte : bytes_) {
            auto one = split_of_some(set, byte);
            if (one && (!best || one->cost < best->cost)) best = std::move(one);
        }
        return best && set.size() >= 2 * compared ? split_by(best->byte, set, most_) : best;
    }
    /// A split of a sample of the rules, to compare bytes.
    std::optional<split> split_of_some(std::span<const uint32_t> set, key_byte byte) const {
        const size_t stride = std::max<size_t>(1, set.size() / compared);
        std::vector<uint32_t> some;
        for (size_t i = 0; i < set.size(); i += stride) some.push_back(set[i]);
        return split_by(byte, some, most_ / stride);
    }

    /// The rules of each value; then values that follow each other have a child together, as far as it is a group.
    std::optional<split> split_by(key_byte byte, std::span<const uint32_t> set, size_t most) const {
        const size_t words = (set.size() + 63) / 64;
        const std::vector<uint64_t> of_value = rules_by_value(byte, set, words);
        split out;
        out.byte = byte;
        std::vector<uint64_t> both(words);
        for (uint32_t v = 0; v < byte_values; ++v) {
            const std::span<const uint64_t> now(&of_value[v * words], words);
            if (v != 0 && std::ranges::equal(now, std::span(&of_value[(v - 1) * words], words))) {
                out.child[v] = out.child[v - 1];
                continue;
            }
            if (v != 0) {
                const std::span<uint64_t> last(&out.rows[out.rows.size() - words], words);
                std::transform(now.begin(), now.end(), last.begin(), both.begin(), std::bit_or<>());
                const size_t size = marked_in(both);
                if (size <= most) {
                    std::ranges::copy(both, last.begin());
                    out.sizes.back() = size;
                    out.child[v] = out.child[v - 1];
                    continue;
                }
            }
            out.child[v] = static_cast<uint8_t>(out.sizes.size());
            out.sizes.push_back(marked_in(now));
            out.rows.insert(out.rows.end(), now.begin(), now.end());
        }
        if (static_cast<double>(std::ranges::max(out.sizes)) >
            hardly_smaller * static_cast<double>(set.size()))
            return {};
        for (const size_t size : out.sizes)
            out.cost += static_cast<double>(size) * (size <= most ? 1 : divided_again);
        return out;
    }

    std::vector<uint64_t> rules_by_value(key_byte byte, std::span<const uint32_t> set,
                                         size_t words) const {
        std::vector<uint64_t> out(byte_values * words), every(words);
        const auto set_all = [&](uint32_t first, uint32_t last, size_t i) {
            for (uint32_t v = first; v <= last; ++v) out[v * words + i / 64] |= 1ULL << i % 64;
        };
        for (size_t i = 0; i < set.size(); ++i) {
            const packed_rule<Words>& r = rules_[set[i]];
            if (byte.word == packed_rule<Words>::ports_word) {
                const auto [low, high] = port_bytes(byte, r);
                set_all(low, high, i);
                continue;
            }
            const uint32_t mask = r.mask[byte.word] >> byte.shift & 0xff, open = ~mask & 0xff;
            if (mask == 0) {
                every[i / 64] |= 1ULL << i % 64;
                continue;
            }
            const uint32_t value = r.value[byte.word] >> byte.shift & mask;
            if ((open & (open + 1)) == 0) {
                set_all(value, value | open, i);
                continue;
            }
            for (uint32_t bits = open;; bits = (bits - 1) & open) {
                set_all(value | bits, value | bits, i);
                if (bits == 0) break;
            }
        }
        for (uint32_t v = 0; v < byte_values; ++v)
            for (size_t w = 0; w < words; ++w) out[v * words + w] |= every[w];
        return out;
    }

    static uint32_t values_of(key_byte byte, const packed_rule<Words>& r) {
        if (byte.word == packed_rule<Words>::ports_word) {
            const auto [low, high] = port_bytes(byte, r);
            return high - low + 1;
        }
        return 1U << (8 - std::popcount(r.mask[byte.word] >> byte.shift & 0xff));
    }
    /// The lowest and highest high byte of a rule's ports.
    static std::pair<uint32_t, uint32_t> port_bytes(key_byte byte, const packed_rule<Words>& r) {
        const uint32_t low = r.ports_low >> (byte.shift - 8) & 0xffff,
                       more = r.ports_more >> (byte.shift - 8) & 0xffff;
        return {low >> 8, (low + more) >> 8};
    }

    std::span<const packed_rule<Words>> rules_;
    std::span<const key_byte> bytes_;
    size_t most_;
    uint64_t max_copies_ = 0;
    rule_groups out_;
};

}  // namespace

template <unsigned Words>
std::vector<rule_groups> divide(std::span<const packed_rule<Words>> rules,
                                std::span<const key_byte> bytes, size_t most, unsigned parts) {
    divider<Words> of(rules, bytes, most);
    std::vector<uint32_t> all(rules.size());
    std::iota(all.begin(), all.end(), 0U);
    if (parts == 2) return of.two_parts(all);
    std::vector<rule_groups> out;
    if (auto one = of.groups_of(all)) out.push_back(std::move(*one));
    return out;
}

template std::vector<rule_groups> divide<ipv4_words>(std::span<const packed_rule<ipv4_words>>,
                                                     std::span<const key_byte>, size_t, unsigned);
template std::vector<rule_groups> divide<ipv6_words>(std::span<const packed_rule<ipv6_words>>,
                                                     std::span<const key_byte>, size_t, unsigned);

}  // namespace turnpike::acl
