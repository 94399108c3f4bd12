// SPDX-License-Identifier: BSD-3-Clause
#include "acl/group_tables.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace turnpike::acl {
namespace {

constexpr uint32_t values = 256;  ///< of a byte
constexpr uint32_t index_bytes = 2 * values;
constexpr uint32_t unit = bit_vectors::offset_unit;

constexpr uint64_t aligned(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

size_t distinct_vectors::add(const uint32_t* vector) {
    const size_t bytes = words_ * sizeof *vector;
    const size_t hash =
        std::hash<std::string_view>()({reinterpret_cast<const char*>(vector), bytes});
    const auto [first, end] = by_hash_.equal_range(hash);
    for (auto it = first; it != end; ++it)
        if (std::memcmp(&all_[it->second * words_], vector, bytes) == 0) return it->second;
    const size_t number = size();
    by_hash_.emplace(hash, number);
    all_.insert(all_.end(), vector, vector + words_);
    return number;
}

template <unsigned Words>
group_tables<Words>::group_tables(std::span<const rule_type> rules, std::vector<uint32_t> those,
                                  uint32_t vector_bytes, bool categories)
    : rules_(rules),
      those_(std::move(those)),
      vector_bytes_(vector_bytes),
      words_(vector_bytes / 4),
      categories_(categories) {}

/// A vector with the last bit only.
template <unsigned Words>
std::vector<uint32_t> group_tables<Words>::no_rules() const {
    std::vector<uint32_t> out(words_);
    set(out.data(), 32 * words_ - 1);
    return out;
}

template <unsigned Words>
void group_tables<Words>::add_byte(const vector_field& f) {
    const unsigned word = f.word;
    const auto byte_of = [&f](uint32_t x) { return x >> f.shift & 0xff; };
    std::vector<uint32_t> rows, wild = no_rules();
    for (size_t i = 0; i < those_.size(); ++i)
        if (byte_of(rule(i).mask[word]) == 0) set(wild.data(), i);
    rows.reserve(values * words_);
    for (uint32_t v = 0; v < values; ++v) rows.insert(rows.end(), wild.begin(), wild.end());
    for (size_t i = 0; i < those_.size(); ++i) {
        const uint32_t mask = byte_of(rule(i).mask[word]);
        if (mask == 0) continue;
        const uint32_t open = ~mask & 0xff, value = byte_of(rule(i).value[word]) & mask;
        for (uint32_t bits = open;; bits = (bits - 1) & open) {
            set(&rows[(value | bits) * words_], i);
            if (bits == 0) break;
        }
    }
    distinct_vectors found(words_);
    field out;
    for (uint32_t v = 0; v < values; ++v) {
        const uint32_t* const now = &rows[v * words_];
        const bool again = v != 0 && std::memcmp(now - words_, now, vector_bytes_) == 0;
        out.index.push_back(again ? out.index.back() : static_cast<uint32_t>(found.add(now)));
    }
    out.vectors = found.release();
    bytes_.push_back(std::move(out));
}

template <unsigned Words>
void group_tables<Words>::add_port(const vector_field& f) {
    const unsigned shift = f.shift;
    // Ends of rules in order: between two of these all ports have the same rules.
    struct event {
        uint32_t port;
        uint32_t rule;
    };
    std::vector<event> events;
    std::vector<uint32_t> now = no_rules();
    for (uint32_t i = 0; i < those_.size(); ++i) {
        const uint32_t low = rule(i).ports_low >> shift & 0xffff,
                       more = rule(i).ports_more >> shift & 0xffff;
        events.push_back({low, i});
        events.push_back({low + more + 1, i});
    }
    std::ranges::sort(events, {}, &event::port);
    distinct_vectors intervals(words_);
    std::vector<uint16_t> of_port(65536);
    size_t next = 0;
    for (uint32_t port = 0, end; port <= 0xffff; port = end) {
        for (; next < events.size() && events[next].port == port; ++next)
            now[events[next].rule / 32] ^= 1U << events[next].rule % 32;
        end = next < events.size() ? events[next].port : 0x10000;
        // At most two ends a rule: fewer than 65,536.
        const auto number = static_cast<uint16_t>(intervals.add(now.data()));
        std::fill(of_port.begin() + port, of_port.begin() + end, number);
    }
    if (f.what == vector_field::kind::port_of_one_byte) {
        bytes_.push_back({{of_port.begin(), of_port.begin() + values}, {}, intervals.release()});
        return;
    }
    field out;
    out.vectors = intervals.release();
    distinct_vectors blocks(values / 2);
    for (uint32_t high = 0; high < values; ++high) {
        uint32_t block[values / 2];
        std::memcpy(block, &of_port[high * values], sizeof block);
        out.index.push_back(static_cast<uint32_t>(blocks.add(block)));
    }
    const std::vector<uint32_t> all = blocks.release();
    out.blocks.resize(2 * all.size());
    std::memcpy(out.blocks.data(), all.data(), 4 * all.size());
    ports_.push_back(std::move(out));
}

template <unsigned Words>
uint64_t group_tables<Words>::blocks_at() const noexcept {
    const uint64_t at = bit_vectors::header_bytes + 8 * vector_bytes_ * sizeof(uint32_t) +
                        (categories_ ? max_categories * vector_bytes_ : 0) +
                        index_bytes * (bytes_.size() + ports_.size());
    return aligned(at, vector_bytes_);
}

template <unsigned Words>
std::optional<uint64_t> group_tables<Words>::bytes() const noexcept {
    uint64_t at = blocks_at();
    for (const auto* fields : {&bytes_, &ports_})
        for (const field& f : *fields) at += 2 * f.blocks.size() + 4 * f.vectors.size();
    if (at / unit > UINT16_MAX) return {};
    return aligned(at, bit_vectors::granule_bytes);
}

template <unsigned Words>
void group_tables<Words>::write(uint8_t* to, uint16_t some_offset, bool numbered) const noexcept {
    std::memcpy(to, &some_offset, sizeof some_offset);
    auto* numbers = reinterpret_cast<uint32_t*>(to + bit_vectors::header_bytes);
    for (const uint32_t each : those_) *numbers++ = numbered ? each : rules_[each].user_data;
    for (size_t i = those_.size(); i < 32 * words_; ++i)
        *numbers++ = numbered ? static_cast<uint32_t>(rules_.size()) : 0;  // no rule
    uint8_t* next = to + bit_vectors::header_bytes + 8 * vector_bytes_ * sizeof(uint32_t);
    for (unsigned c = 0; c < max_categories && categories_; ++c, next += vector_bytes_) {
        auto* const members = reinterpret_cast<uint32_t*>(next);
        set(members, 32 * words_ - 1);
        for (size_t i = 0; i < those_.size(); ++i)
            if ((rule(i).categories >> c & 1) != 0) set(members, i);
    }
    auto* index = reinterpret_cast<uint16_t*>(next);
    auto* tables = reinterpret_cast<uint16_t*>(to + blocks_at());
    // Numbers become offsets: of what begins at `tables`, and has each of its parts in so many bytes.
    const auto put = [&](const auto& of, uint64_t at, uint64_t each, uint16_t* out) {
        for (const uint32_t number : of)
            *out++ = static_cast<uint16_t>((at + number * each) / unit);
        return out;
    };
    const auto here = [&] {
        return static_cast<uint64_t>(reinterpret_cast<uint8_t*>(tables) - to);
    };
    for (const auto* fields : {&bytes_, &ports_})
        for (const field& f : *fields) {
            const uint64_t vectors_at = here();
            std::memcpy(tables, f.vectors.data(), f.vectors.size() * sizeof f.vectors[0]);
            tables += 2 * f.vectors.size();
            if (fields == &bytes_) {
                index = put(f.index, vectors_at, vector_bytes_, index);
            } else {
                index = put(f.index, here(), index_bytes, index);
                tables = put(f.blocks, vectors_at, vector_bytes_, tables);
            }
        }
}

template class group_tables<ipv4_words>;
template class group_tables<ipv6_words>;

}  // namespace turnpike::acl
