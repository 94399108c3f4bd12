// SPDX-License-Identifier: BSD-3-Clause
#include "acl/leaf.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace turnpike::acl {
namespace {

void put32(uint8_t*& to, uint32_t x) {
    std::memcpy(to, &x, sizeof x);
    to += sizeof x;
}

/// Masks that leaves compare: the ports imply the port classes, so these are left out.
template <unsigned Words>
uint32_t asked_bits(const packed_rule<Words>& r, unsigned word) {
    return word == Words - vlan_from_end ? r.mask[word] & vlan_bits : r.mask[word];
}

template <class T>
T get(const uint8_t* from) {
    T x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

}  // namespace

template <unsigned Words>
leaf_coding<Words> leaf_coding<Words>::fitting(const std::vector<packed_rule<Words>>& rules) {
    constexpr unsigned ports = packed_rule<Words>::ports_word;
    leaf_coding c;
    std::array<uint32_t, Words> asked{};
    uint32_t least = max_priority, most = 0;
    c.categories = rules.empty() ? 1 : rules[0].categories;
    for (const auto& r : rules) {
        for (unsigned w = 0; w < Words; ++w) asked[w] |= asked_bits<Words>(r, w);
        least = std::min(least, r.priority);
        most = std::max(most, r.priority);
        if (r.categories != rules[0].categories) c.categories = 0;
    }
    for (unsigned w = 0; w < Words; ++w) {
        const bool usual = Words == ipv4_words && w != Words - vlan_from_end;
        if (w != ports && (usual || asked[w] != 0))
            c.stored[c.stored_words++] = static_cast<uint8_t>(w);
    }
    c.stored[c.stored_words++] = static_cast<uint8_t>(ports);
    if (rules.empty()) least = 1, most = 1;
    const uint64_t spread = uint64_t{most} - least + 1024;
    c.base = least > spread ? static_cast<uint32_t>(least - spread) : 0;
    const uint64_t top = most - uint64_t{c.base} + spread;
    while (top >> c.rank_shift > layout::rank_mask) ++c.rank_shift;
    return c;
}

template <unsigned Words>
bool leaf_coding<Words>::fits(const packed_rule<Words>& r) const noexcept {
    if (categories != 0 && r.categories != categories) return false;
    if (r.priority <= base || rank(r.priority) > layout::rank_mask) return false;
    const auto* end = stored.begin() + stored_words;
    for (unsigned w = 0; w < Words; ++w)
        if (asked_bits<Words>(r, w) != 0 && std::find(stored.begin(), end, w) == end) return false;
    return true;
}

template <unsigned Words>
uint64_t leaves<Words>::write(const std::vector<rule_type>& rules) {
    return write_before(rules, 0);
}

template <unsigned Words>
uint64_t leaves<Words>::write_before(const std::vector<rule_type>& rules, uint64_t next) {
    std::vector<uint64_t> made;
    try {
        for (size_t end = rules.size(); end > 0;) {  // the last link of a chain first
            const size_t first = (end - 1) / layout::leaf_rules * layout::leaf_rules;
            made.reserve(made.size() + 1);
            next = write_one(rules.data() + first, static_cast<uint32_t>(end - first), next);
            made.push_back(next);
            end = first;
        }
    } catch (const std::bad_alloc&) {
        for (const uint64_t word : made) release_one(word);
        throw;
    }
    return next;
}

template <unsigned Words>
uint64_t leaves<Words>::write_one(const rule_type* rules, uint32_t count, uint64_t next) {
    const uint32_t granule = store_.allocate(coding_.bytes(count, next != 0));
    if (granule == store::none) throw std::bad_alloc();
    uint8_t* to = store_.at(granule);
    for (unsigned i = 0; i + 1 < coding_.stored_words; ++i) {
        const unsigned w = coding_.stored[i];
        for (uint32_t r = 0; r < count; ++r) put32(to, rules[r].value[w]);
        for (uint32_t r = 0; r < count; ++r) put32(to, rules[r].mask[w]);
    }
    for (uint32_t r = 0; r < count; ++r) put32(to, rules[r].ports_low);
    for (uint32_t r = 0; r < count; ++r) put32(to, rules[r].ports_more);
    for (uint32_t r = 0; r < count; ++r) {
        put32(to, rules[r].user_data);
        put32(to, coding_.stored_priority(rules[r].priority));
    }
    if (coding_.categories == 0) {
        for (uint32_t r = 0; r < count; ++r)
            for (unsigned c = 0; c < max_categories; ++c)
                to[r / 8 * max_categories + c] |=
                    static_cast<uint8_t>((rules[r].categories >> c & 1) << r % 8);
        to += layout::category_bytes(count);
    }
    if (next != 0) std::memcpy(to, &next, sizeof next);
    return entry_word(granule, layout::leaf_bit | (next != 0 ? layout::chained_bit : 0) |
                                   count << layout::count_at | coding_.rank(rules[0].priority));
}

template <unsigned Words>
uint64_t leaves<Words>::next_of(uint64_t word) const noexcept {
    const uint32_t info = info_of(word), count = info >> layout::count_at & 0xff;
    if ((info & layout::chained_bit) == 0) return 0;
    return get<uint64_t>(store_.at(granule_of(word)) + coding_.bytes(count, false));
}

template <unsigned Words>
std::vector<packed_rule<Words>> leaves<Words>::read(uint64_t word) const {
    std::vector<rule_type> rules;
    for (const uint64_t one : chain(word)) {
        const auto part = read_one(one);
        rules.insert(rules.end(), part.begin(), part.end());
    }
    return rules;
}

template <unsigned Words>
std::vector<uint64_t> leaves<Words>::chain(uint64_t word) const {
    std::vector<uint64_t> all;
    for (; word != 0; word = next_of(word)) all.push_back(word);
    return all;
}

template <unsigned Words>
std::vector<packed_rule<Words>> leaves<Words>::read_one(uint64_t word) const {
    const uint32_t count = info_of(word) >> layout::count_at & 0xff;
    const uint8_t* from = store_.at(granule_of(word));

    std::vector<rule_type> rules(count);
    const uint8_t* tops = from + 8 * count * coding_.stored_words;
    const uint8_t* ports = tops - 8 * count;
    for (uint32_t i = 0; i < count; ++i) {
        rule_type& r = rules[i];
        r = {};
        const uint32_t low = get<uint32_t>(ports + 4 * i);
        // the sum never carries
        const uint32_t high = low + get<uint32_t>(ports + 4 * (count + i));
        for (unsigned s = 0; s + 1 < coding_.stored_words; ++s) {
            r.value[coding_.stored[s]] = get<uint32_t>(from + 4 * (2 * s * count + i));
            r.mask[coding_.stored[s]] = get<uint32_t>(from + 4 * ((2 * s + 1) * count + i));
        }
        set_ports(r, {static_cast<uint16_t>(low >> 16), static_cast<uint16_t>(high >> 16)},
                  {static_cast<uint16_t>(low), static_cast<uint16_t>(high)});
        r.user_data = get<uint32_t>(tops + 8 * i);
        r.priority = get<uint32_t>(tops + 8 * i + 4) + coding_.base;
        r.categories = coding_.categories;
        for (unsigned c = 0; coding_.categories == 0 && c < max_categories; ++c)
            r.categories |= (tops[8 * count + i / 8 * max_categories + c] >> i % 8 & 1u) << c;
    }
    return rules;
}

template <unsigned Words>
void leaves<Words>::release_one(uint64_t word) {
    const uint32_t info = info_of(word);
    store_.release(granule_of(word), coding_.bytes(info >> layout::count_at & 0xff,
                                                   (info & layout::chained_bit) != 0));
}

template <unsigned Words>
std::pair<uint32_t, bool> leaves<Words>::link_of(uint64_t word) const noexcept {
    const uint32_t at = coding_.bytes(info_of(word) >> layout::count_at & 0xff, false);
    return {granule_of(word) + at / layout::granule_bytes, at % layout::granule_bytes != 0};
}

template <unsigned Words>
uint64_t leaves<Words>::filter(const std::vector<rule_type>& rules, unsigned word) noexcept {
    if (rules.empty()) return 0;
    uint32_t mask = ~0u;
    for (const auto& r : rules) mask &= r.mask[word] & ~(r.value[word] ^ rules[0].value[word]);
    return uint64_t{mask} << 32 | (rules[0].value[word] & mask);
}

template <unsigned Words>
uint64_t leaves<Words>::filter(uint64_t before, const rule_type& more, unsigned word) noexcept {
    const auto value = static_cast<uint32_t>(before);
    const auto mask =
        static_cast<uint32_t>(before >> 32) & more.mask[word] & ~(value ^ more.value[word]);
    return uint64_t{mask} << 32 | (value & mask);
}

template struct leaf_coding<ipv4_words>;
template struct leaf_coding<ipv6_words>;
template class leaves<ipv4_words>;
template class leaves<ipv6_words>;

}  // namespace turnpike::acl
