// SPDX-License-Identifier: BSD-3-Clause
// What a classifier should answer: every rule compared with every key, field by field; and rules
// and keys to ask with.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "acl/acl.hpp"

namespace turnpike::acl::test {

template <class Key>
bool address_matches(const Key& key, const rule& r) {
    for (size_t i = 0; i < key.source.size(); ++i)
        if (((key.source[i] ^ r.source.value[i]) & r.source.mask[i]) != 0 ||
            ((key.destination[i] ^ r.destination.value[i]) & r.destination.mask[i]) != 0)
            return false;
    return true;
}

template <class T>
bool says(T key, const masked<T>& field) {
    return ((key ^ field.value) & field.mask) == 0;
}

template <class Key>
bool rule_matches(const Key& key, const rule& r) {
    const auto in = [](uint16_t port, const port_range& range) {
        return port >= range.first && port <= range.last;
    };
    return address_matches(key, r) && in(key.source_port, r.source_port) &&
           in(key.destination_port, r.destination_port) &&
           says<uint8_t>(key.protocol, r.protocol) && says<uint8_t>(key.dscp, r.dscp) &&
           says<uint16_t>(key.tcp_flags, r.tcp_flags) && says<uint16_t>(key.vlan, r.vlan) &&
           (!r.icmp_type || key.source_port == *r.icmp_type) &&
           (!r.icmp_code || key.destination_port == *r.icmp_code);
}

/// Is `result` right: the user data of a rule that matches in that category, none higher?
template <class Key>
bool right(const std::map<rule_id, rule>& rules, const Key& key, unsigned category,
           uint32_t result) {
    uint32_t highest = 0;
    bool found = false;
    for (const auto& [id, r] : rules)
        if ((r.categories >> category & 1) != 0 && r.priority >= highest && rule_matches(key, r)) {
            found = r.priority > highest ? r.user_data == result : found || r.user_data == result;
            highest = r.priority;
        }
    return highest == 0 ? result == 0 : found;
}

/// The oracle for many keys: rules sorted once, so that the first match ends it.
class sorted_rules {
  public:
    explicit sorted_rules(const std::vector<rule>& rules) : rules_(rules) {
        std::stable_sort(rules_.begin(), rules_.end(),
                         [](const rule& a, const rule& b) { return a.priority > b.priority; });
    }
    template <class Key>
    bool right(const Key& key, unsigned category, uint32_t result) const {
        uint32_t priority = 0;
        for (const rule& r : rules_) {
            if (r.priority < priority) return false;
            if ((r.categories >> category & 1) == 0 || !rule_matches(key, r)) continue;
            if (r.user_data == result) return true;
            priority = r.priority;  // another of the same may have won
        }
        return priority == 0 && result == 0;
    }

  private:
    std::vector<rule> rules_;
};

/// Random rules as rule sets have them: prefixes that nest, few ports, some fields wild.
class rules_maker {
  public:
    explicit rules_maker(uint32_t seed) : random_(seed) {}

    uint64_t operator()(uint64_t below) { return random_() % below; }

    template <class Key>
    rule any() {
        constexpr unsigned bits = sizeof(Key::source) * 8;
        rule r;
        r.source = any_prefix(bits);
        r.destination = any_prefix(bits);
        r.source_port = any_ports();
        r.destination_port = any_ports();
        if ((*this)(3) != 0) r.protocol = {static_cast<uint8_t>((*this)(2) != 0 ? 6 : 17), 0xff};
        if ((*this)(8) == 0) r.dscp = {static_cast<uint8_t>((*this)(4) * 8), 0x38};
        if ((*this)(6) == 0) r.tcp_flags = {0x0002, 0x0012};
        if (vlans && (*this)(4) == 0) r.vlan = {static_cast<uint16_t>((*this)(3)), 0x0fff};
        if ((*this)(16) == 0) {
            r.source_port = r.destination_port = {};
            r.protocol = {1, 0xff};
            r.icmp_type = static_cast<uint8_t>((*this)(9));
            if ((*this)(2) != 0) r.icmp_code = static_cast<uint8_t>((*this)(3));
        }
        if ((*this)(10) == 0) {  // not a prefix
            r.source.mask[1] = 0x55;
            r.source.value[1] &= 0x55;
        }
        r.priority = static_cast<uint32_t>(1 + (*this)(priorities));
        r.user_data = static_cast<uint32_t>(1 + (*this)(0xffff'ffff));
        r.categories = categories == 0 ? 1 : static_cast<uint32_t>(1 + (*this)(categories - 1));
        return r;
    }

    template <class Key>
    std::vector<rule> many(size_t n) {
        std::vector<rule> rules;
        while (rules.size() < n) rules.push_back(any<Key>());
        return rules;
    }

    /// A key that `r` matches.
    template <class Key>
    Key key_of(const rule& r) {
        Key k = any_key<Key>();
        for (size_t i = 0; i < k.source.size(); ++i) {
            k.source[i] = mix(k.source[i], r.source.value[i], r.source.mask[i]);
            k.destination[i] = mix(k.destination[i], r.destination.value[i], r.destination.mask[i]);
        }
        k.source_port = r.icmp_type ? *r.icmp_type : port_in(r.source_port);
        k.destination_port = r.icmp_code ? *r.icmp_code : port_in(r.destination_port);
        k.protocol = mix(k.protocol, r.protocol.value, r.protocol.mask);
        k.dscp = mix(k.dscp, r.dscp.value, r.dscp.mask);
        k.tcp_flags = mix<uint16_t>(k.tcp_flags, r.tcp_flags.value, r.tcp_flags.mask);
        k.vlan = mix<uint16_t>(k.vlan, r.vlan.value, r.vlan.mask);
        return k;
    }

    template <class Key>
    Key any_key() {
        Key k;
        auto* bytes = reinterpret_cast<uint8_t*>(&k);
        for (size_t i = 0; i < sizeof k; ++i) bytes[i] = static_cast<uint8_t>(random_());
        return k;
    }

    /// Mostly keys of rules, some random.
    template <class Key>
    std::vector<Key> keys(const std::vector<rule>& rules, size_t n) {
        std::vector<Key> out;
        while (out.size() < n)
            out.push_back(rules.empty() || (*this)(8) == 0
                              ? any_key<Key>()
                              : key_of<Key>(rules[(*this)(rules.size())]));
        return out;
    }

    uint32_t priorities = 1000;  ///< 1 to this
    uint32_t categories = 0;     ///< masks below this; 0: category 0 only
    bool vlans = true;

  private:
    template <class T>
    static T mix(T any, T value, T mask) {
        return static_cast<T>((any & ~mask) | (value & mask));
    }
    uint16_t port_in(const port_range& r) {
        return static_cast<uint16_t>(r.first + (*this)(r.last - r.first + 1u));
    }
    address_match any_prefix(unsigned bits) {
        std::array<uint8_t, 16> a;
        for (auto& b : a) b = static_cast<uint8_t>((*this)(4));
        a[3] = static_cast<uint8_t>(random_());
        constexpr unsigned eighths[] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8};
        unsigned length = eighths[(*this)(std::size(eighths))] * bits / 8;
        if (length != 0) length -= static_cast<unsigned>((*this)(2));
        return prefix({a.data(), bits / 8}, length);
    }
    port_range any_ports() {
        const auto p = static_cast<uint16_t>((*this)(8) * 77);
        switch ((*this)(6)) {
            case 0:
                return {p, p};
            case 1:
                return {p, static_cast<uint16_t>(p + (*this)(9))};  // nested, adjacent
            case 2:
                return {1024, 65535};
            case 3:
                return {0, 1023};
            case 4:
                return {65535, 65535};
            default:
                return {};
        }
    }

    std::mt19937_64 random_;
};

template <class Key>
std::vector<const Key*> pointers(const std::vector<Key>& keys) {
    std::vector<const Key*> out;
    for (const Key& k : keys) out.push_back(&k);
    return out;
}

/// As the table's kernel does, by the trees: also where the table has bit vectors.
template <class Key>
void classify_by_trees(const classifier<Key>& table, const std::vector<const Key*>& at,
                       std::span<uint32_t> results, uint32_t categories = 1) {
    view trees = *table.readers_view();
    trees.vectors = nullptr;
    const auto all = classify_kernels();
    const auto row = std::ranges::find(all, table.kernel(), &isa::kernel<classify_function>::name);
    row->function(trees, reinterpret_cast<const uint8_t* const*>(at.data()), results.data(),
                  static_cast<uint32_t>(at.size()), categories);
}

}  // namespace turnpike::acl::test
