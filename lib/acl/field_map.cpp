// SPDX-License-Identifier: BSD-3-Clause
#include "acl/field_map.hpp"

#include <algorithm>

namespace turnpike::acl {
namespace {

constexpr size_t max_parts = 128;  ///< rules that one rule may expand to

struct ternary {
    uint64_t value, mask;
};

/// Split [first, last] into aligned blocks.
void divide(uint64_t first, uint64_t last, uint64_t all, std::vector<ternary>& to) {
    while (true) {
        uint64_t low = first == 0 ? all : (first & -first) - 1;  // don't-care bits of the block
        while ((first | low) > last) low >>= 1;
        to.push_back({first, all & ~low});
        if ((first | low) == last) return;
        first = (first | low) + 1;
    }
}

uint64_t all_bits(unsigned bytes) {
    return bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
}

/// Convert a field to ternary values; a match of any is a match of the field.
std::vector<ternary> ternaries_of(const tpk_acl_field_def& def, const tpk_acl_field& field) {
    const uint64_t all = all_bits(def.size);
    const uint64_t value = number_of(field.value, def.size);
    const uint64_t other = number_of(field.mask_range, def.size);
    std::vector<ternary> out;
    if (def.type == TPK_ACL_FIELD_TYPE_RANGE) {
        if (value <= other) divide(value, other, all, out);
    } else {
        const unsigned bits = 8U * def.size;
        const uint64_t length = std::min<uint64_t>(other, bits);
        const uint64_t mask = def.type == TPK_ACL_FIELD_TYPE_BITMASK ? other
                              : length == 0                          ? 0
                                            : all & ~uint64_t{0} << (bits - length);
        out.push_back({value & mask, mask});
    }
    return out;
}

}  // namespace

uint64_t number_of(const tpk_acl_field_types& v, unsigned bytes) noexcept {
    return bytes == 1 ? v.u8 : bytes == 2 ? v.u16 : bytes == 4 ? v.u32 : v.u64;
}

bool is_prefix(uint64_t first, uint64_t last) noexcept {
    const uint64_t differ = first ^ last;
    return (differ & (differ + 1)) == 0 && (first & differ) == 0 && (last & differ) == differ;
}

template <unsigned Words>
void field_map<Words>::place(const tpk_acl_field_def& field, unsigned word, unsigned shift,
                             bool range, bool wide) {
    places_.push_back(
        {field, static_cast<uint8_t>(word), static_cast<uint8_t>(shift), range, wide});
    key_.at[key_.pieces++] = {static_cast<uint16_t>(field.offset), field.size,
                              static_cast<uint8_t>(word), static_cast<uint8_t>(shift)};
}

template <unsigned Words>
result<field_map<Words>> field_map<Words>::fitting(std::span<const tpk_acl_field_def> fields,
                                                   const std::vector<bool>& real_range) {
    field_map map;
    // Ternary words, and how many of their bits are used; only the upper half of the last word is
    // free.
    std::array<unsigned, Words> used{};
    used[Words - vlan_from_end] = 16;
    unsigned halves = 0;
    const auto refuse = [] {
        return fail(ENOTSUP, "acl", "the layout has more fields, or wider ones, than keys hold");
    };
    std::vector<size_t> order(fields.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return fields[a].size > fields[b].size; });
    // The two halves of the word of ranges: fields that need them first.
    std::vector<bool> as_range(fields.size());
    size_t ranges = 0;
    for (const bool needs : {true, false})
        for (const size_t i : order)
            if (fields[i].type == TPK_ACL_FIELD_TYPE_RANGE && ranges < 2 && !as_range[i] &&
                (needs ? real_range[i] && fields[i].size <= 2 : fields[i].size == 2)) {
                as_range[i] = true;
                ++ranges;
            }
    for (const size_t i : order) {
        const tpk_acl_field_def& f = fields[i];
        if (f.offset > 0xffff - 8) return refuse();
        if (map.key_.pieces + 1u + (f.size == 8) > max_pieces) return refuse();
        if (as_range[i]) {
            map.place(f, packed_rule<Words>::ports_word, halves++ == 0 ? 16 : 0, true);
            continue;
        }
        const unsigned parts = f.size == 8 ? 2 : 1, bits = f.size == 8 ? 32 : 8U * f.size;
        for (unsigned part = 0; part < parts; ++part) {
            unsigned word = 0;
            while (word < Words &&
                   (word == packed_rule<Words>::ports_word || used[word] + bits > 32))
                ++word;
            if (word == Words) return refuse();
            tpk_acl_field_def half = f;
            if (parts == 2) half.size = 4, half.offset += 4 * part;
            map.place(half, word, used[word], false, parts == 2 && part == 0);
            used[word] += bits;
        }
    }
    return map;
}

template <unsigned Words>
result<void> field_map<Words>::convert(const tpk_acl_rule_data& data, const tpk_acl_field* fields,
                                       uint32_t categories, std::vector<rule_type>& to) const {
    rule_type plain{};
    plain.priority = static_cast<uint32_t>(data.priority);
    plain.user_data = data.userdata;
    plain.categories = categories;
    port_range ports[2];
    std::vector<rule_type> made{plain};
    for (size_t i = 0; i < places_.size(); ++i) {
        const field_place& p = places_[i];
        const tpk_acl_field& field = fields[p.field.field_index];
        if (p.range) {
            const auto first = static_cast<uint16_t>(number_of(field.value, p.field.size));
            const auto last = static_cast<uint16_t>(number_of(field.mask_range, p.field.size));
            if (first > last) return {};  // matches nothing
            ports[p.shift == 0] = {first, last};
            continue;
        }
        tpk_acl_field_def def = p.field;
        if (p.wide) def.size = 8;
        std::vector<rule_type> next;
        for (const ternary& t : ternaries_of(def, field))
            for (rule_type r : made) {
                const auto put = [&r](const field_place& at, uint64_t value, uint64_t mask) {
                    r.value[at.word] |= static_cast<uint32_t>(value) << at.shift;
                    r.mask[at.word] |= static_cast<uint32_t>(mask) << at.shift;
                };
                put(p, p.wide ? t.value >> 32 : t.value, p.wide ? t.mask >> 32 : t.mask);
                if (p.wide) put(places_[i + 1], t.value, t.mask);
                next.push_back(r);
            }
        if (next.size() > max_parts)
            return fail(ENOTSUP, "acl", "a rule's ranges expand to too many prefixes");
        made = std::move(next);
        i += p.wide;
    }
    for (rule_type& r : made) {
        set_ports(r, ports[0], ports[1]);
        to.push_back(r);
    }
    return {};
}

template class field_map<ipv4_words>;
template class field_map<ipv6_words>;

}  // namespace turnpike::acl
