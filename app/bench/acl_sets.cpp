// SPDX-License-Identifier: BSD-3-Clause
#include "acl_sets.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace turnpike::bench {
namespace {

using acl::rule;

/// Parameters of a kind of set, in per cent.
struct seed {
    const char* name;
    unsigned wild_source, wild_destination;  ///< wildcard addresses
    unsigned host_source, host_destination;  ///< /32 among the others
    unsigned exact_port, range_port;         ///< destination ports; the rest are wildcards
    unsigned source_port;                    ///< source ports that are not wildcards
    unsigned blocks;                         ///< address blocks of the rules
};
constexpr seed seeds[] = {{"acl", 3, 2, 55, 60, 60, 15, 2, 40},
                          {"fw", 45, 25, 40, 55, 40, 25, 30, 25},
                          {"ipc", 15, 10, 45, 50, 35, 20, 20, 60}};

class maker {
  public:
    maker(const seed& s, acl::family kind, uint32_t number)
        : seed_(s), kind_(kind), random_(number) {
        for (unsigned i = 0; i < s.blocks; ++i)
            blocks_.push_back({static_cast<uint32_t>(random_()), 8 + 4 * unsigned(random_() % 5)});
    }

    rule any() {
        rule r;
        r.source = address(seed_.wild_source, seed_.host_source);
        r.destination = address(seed_.wild_destination, seed_.host_destination);
        if (percent(seed_.source_port)) r.source_port = port();
        r.destination_port = port();
        constexpr uint8_t protocols[] = {6, 6, 6, 17, 17, 1};
        if (!percent(12)) r.protocol = {protocols[random_() % std::size(protocols)], 0xff};
        return r;
    }

  private:
    struct block {
        uint32_t address;
        unsigned length;
    };
    bool percent(unsigned p) { return random_() % 100 < p; }

    acl::address_match address(unsigned wild, unsigned host) {
        if (percent(wild)) return {};
        // Block, subnet in it, host: drawn so that few are reused often.
        const block& b = blocks_[random_() % (1 + random_() % blocks_.size())];
        const uint32_t inside = static_cast<uint32_t>(random_() % 997 * 2654435761U);
        const uint32_t a = (b.address & ~0U << (32 - b.length)) | (inside >> b.length);
        const bool whole = percent(host);
        if (kind_ == acl::family::ipv6) return address6(b, inside, whole);
        uint8_t bytes[4];
        store_be(bytes, a);
        const unsigned length = whole ? 32 : std::min(31U, b.length + unsigned(random_() % 20));
        return acl::prefix(bytes, length);
    }

    /// A provider's /32, a site's /48, a subnet's /64, and hosts such as 2001:db8::1.
    acl::address_match address6(const block& b, uint32_t inside, bool host) {
        constexpr unsigned lengths[] = {32, 40, 44, 48, 48, 48, 52, 56, 60, 64, 64, 64};
        uint8_t bytes[16]{};
        store_be(bytes, 0x2000'0000U | b.address >> 3);
        store_be(bytes + 4, inside);
        store_be(bytes + 12, inside >> 20);
        return acl::prefix(bytes, host ? 128 : lengths[random_() % std::size(lengths)]);
    }

    acl::port_range port() {
        static constexpr uint16_t known[] = {80, 443, 53, 22, 25, 123, 161, 1521, 3306, 8080};
        if (percent(seed_.exact_port)) {
            const auto p = percent(50) ? known[random_() % std::size(known)]
                                       : static_cast<uint16_t>(random_() % 30'000);
            return {p, p};
        }
        if (!percent(seed_.range_port * 100 / (100 - seed_.exact_port))) return {};
        if (percent(60))
            return percent(70) ? acl::port_range{1024, 65535} : acl::port_range{0, 1023};
        const auto first = static_cast<uint16_t>(random_() % 60'000);
        return {first, static_cast<uint16_t>(first + random_() % 5000)};
    }

    const seed& seed_;
    acl::family kind_;
    std::mt19937_64 random_;
    std::vector<block> blocks_;
};

/// A key in the family's layout (acl/rule.hpp), with the fields of the rule.
template <class Key>
Key key_of(const rule& r, std::mt19937_64& random) {
    Key k{};
    const auto fill = [&random](auto& to, const acl::address_match& from) {
        for (size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<uint8_t>((random() & ~unsigned{from.mask[i]}) | from.value[i]);
    };
    const auto port = [&random](const acl::port_range& p) {
        return static_cast<uint16_t>(p.first + random() % (p.last - p.first + 1u));
    };
    fill(k.source, r.source);
    fill(k.destination, r.destination);
    k.source_port = port(r.source_port);
    k.destination_port = port(r.destination_port);
    constexpr uint8_t usual[] = {6, 17, 1, 6};
    k.protocol = r.protocol.mask != 0 ? r.protocol.value : usual[random() % 4];
    return k;
}

template <class Key>
std::vector<uint8_t> headers_of(const rule_set& set, const std::string& kind, size_t count,
                                uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Key> keys;
    while (keys.size() < count) {
        size_t times = 1;
        Key k;
        if (kind == "random") {
            k = key_of<Key>(rule{}, random);
        } else {
            k = key_of<Key>(set.rules[random() % set.rules.size()], random);
            if (kind == "pareto") {  // shape 1, scale 1
                const double u = static_cast<double>(random() >> 11) * 0x1p-53;
                times = static_cast<size_t>(std::min(1000.0, std::ceil(1 / (1 - u))));
            }
        }
        for (; times != 0 && keys.size() < count; --times) keys.push_back(k);
    }
    if (kind == "pareto") std::shuffle(keys.begin(), keys.end(), random);
    std::vector<uint8_t> bytes(count * sizeof(Key));
    std::memcpy(bytes.data(), keys.data(), bytes.size());
    return bytes;
}

}  // namespace

void number_rules(rule_set& set) {
    const auto count = static_cast<uint32_t>(set.rules.size());
    for (uint32_t i = 0; i < count; ++i) {
        set.rules[i].priority = count - i;
        set.rules[i].user_data = i + 1;
    }
}

void sort_by_specificity(rule_set& set) {
    const auto bits = [](const rule& r) {
        unsigned n = 0;
        for (const uint8_t b : r.source.mask) n += unsigned(__builtin_popcount(b));
        for (const uint8_t b : r.destination.mask) n += unsigned(__builtin_popcount(b));
        return n;
    };
    std::stable_sort(set.rules.begin(), set.rules.end(),
                     [&](const rule& a, const rule& b) { return bits(a) > bits(b); });
}

std::vector<rule_set> generate_sets() {
    std::vector<rule_set> sets;
    for (const auto& [kind, version] :
         {std::pair{acl::family::ipv4, ""}, std::pair{acl::family::ipv6, "6"}})
        for (const auto& [size, suffix] : {std::pair{1000U, "_1k"}, {10'000U, "_10k"}})
            for (const seed& s : seeds) {
                maker make(s, kind, size);
                rule_set set{std::string(s.name) + version + suffix, kind, {}};
                while (set.rules.size() < size) set.rules.push_back(make.any());
                sort_by_specificity(set);
                number_rules(set);
                sets.push_back(std::move(set));
                if (kind == acl::family::ipv6) break;  // one set of each size
            }
    return sets;
}

std::vector<rule_set> concatenations(const std::vector<rule_set>& sets) {
    std::vector<rule_set> all;
    for (const rule_set& set : sets) {
        const std::string name = set.name.substr(0, set.name.find_first_of("0123456789_"));
        const auto at = std::find_if(all.begin(), all.end(), [&](const rule_set& s) {
            return s.name == name && s.kind == set.kind;
        });
        rule_set& to = at != all.end() ? *at : all.emplace_back(rule_set{name, set.kind, {}});
        to.rules.insert(to.rules.end(), set.rules.begin(), set.rules.end());
    }
    std::erase_if(all, [](const rule_set& s) { return s.rules.size() < 20'000; });
    for (rule_set& s : all) number_rules(s);
    return all;
}

std::vector<uint8_t> make_headers(const rule_set& set, const std::string& kind, size_t count,
                                  uint64_t seed) {
    return set.kind == acl::family::ipv4 ? headers_of<acl::key4>(set, kind, count, seed)
                                         : headers_of<acl::key6>(set, kind, count, seed);
}

}  // namespace turnpike::bench
