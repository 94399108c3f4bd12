// SPDX-License-Identifier: BSD-3-Clause
#include "fresh_rules.hpp"

#include <fmt/format.h>

#include <array>

#include "draw.hpp"

namespace turnpike::bench {
namespace {

using acl::address_match;
using acl::port_range;
using acl::rule;

/// Structures of a set, each with a share of its rules.
enum rule_structure : size_t { independent, refinements, products, flows, rule_structures };
enum port_kind : size_t {
    any_port,
    exact_port,
    known_port,
    high_or_low,
    short_range,
    long_range,
    port_kinds
};

/// The addresses of one side of the rules, source or destination.
class address_generator {
  public:
    address_generator(acl::family kind, draw& random) : kind_(kind), random_(random) {
        const unsigned bits = kind == acl::family::ipv4 ? 32 : 128;
        for (uint64_t n = random.magnitude(1, 200); n > 0; --n) {
            const auto length =
                static_cast<unsigned>(bits == 32 ? random.between(0, 20) : random.between(16, 48));
            blocks_.push_back(within({}, 0, length));
        }
        wild_ = static_cast<unsigned>(random.percent(50) ? random.below(10) : random.below(70));
        host_ = static_cast<unsigned>(random.below(90));
        again_ = static_cast<unsigned>(random.below(80));
        shortest_ = static_cast<unsigned>(random.between(bits / 4, bits / 2));
    }

    address_match next() {
        if (random_.percent(wild_)) return {};
        if (!seen_.empty() && random_.percent(again_)) return seen_[random_.below(seen_.size())];
        const unsigned bits = kind_ == acl::family::ipv4 ? 32 : 128;
        const match& block = blocks_[random_.below(1 + random_.below(blocks_.size()))];
        auto length = static_cast<unsigned>(random_.between(shortest_, bits));
        if (random_.percent(host_)) length = bits;
        seen_.push_back(within(block.value, block.length, std::max(length, block.length)).value);
        return seen_.back();
    }

    /// A part of `a`.
    address_match narrower(const address_match& a) {
        const unsigned bits = kind_ == acl::family::ipv4 ? 32 : 128;
        unsigned length = 0;
        for (const uint8_t byte : a.mask) length += static_cast<unsigned>(__builtin_popcount(byte));
        return within(
                   a, length,
                   std::min<unsigned>(bits, length + static_cast<unsigned>(random_.between(1, 8))))
            .value;
    }

    std::string statistics() const {
        return fmt::format("{} blocks, {} % any, {} % hosts, {} % again, from /{}", blocks_.size(),
                           wild_, host_, again_, shortest_);
    }

  private:
    struct match {
        address_match value;
        unsigned length;
    };

    match within(const address_match& around, unsigned kept, unsigned length) {
        std::array<uint8_t, 16> bytes{};
        for (unsigned i = 0; i < bytes.size(); ++i) {
            const unsigned fixed = kept > 8 * i ? std::min(8U, kept - 8 * i) : 0;
            const auto mask = static_cast<uint8_t>(0xff00U >> fixed);
            bytes[i] =
                static_cast<uint8_t>((around.value[i] & mask) | (random_.bits() & ~unsigned{mask}));
        }
        if (kind_ == acl::family::ipv6 && kept == 0) bytes[0] = 0x20 | (bytes[0] & 0x1f);
        return {acl::prefix(std::span(bytes).first(kind_ == acl::family::ipv4 ? 4 : 16), length),
                length};
    }

    acl::family kind_;
    draw& random_;
    std::vector<match> blocks_;
    std::vector<address_match> seen_;
    unsigned wild_, host_, again_;  ///< per cent
    unsigned shortest_;             ///< length of addresses outside longer blocks
};

class port_generator {
  public:
    explicit port_generator(draw& random) : random_(random), shares_(random.weights<port_kinds>()) {
        for (uint64_t n = random.magnitude(1, 3000); n > 0; --n)
            known_.push_back(
                static_cast<uint16_t>(random.percent(50) ? random.below(1024) : random.bits()));
    }
    /// Mostly wildcards, as source ports are.
    void make_wild() { shares_[any_port] += 10 * (1 + total()); }

    port_range next() {
        const auto from = static_cast<uint16_t>(random_.bits());
        switch (random_.weighted(shares_)) {
            case exact_port:
                return {from, from};
            case known_port: {
                const uint16_t p = known_[random_.below(known_.size())];
                return {p, p};
            }
            case high_or_low:
                return random_.percent(60) ? port_range{1024, 65535} : port_range{0, 1023};
            case short_range:
                return up_to(from, random_.between(1, 64));
            case long_range:
                return up_to(from, random_.between(65, 20'000));
            default:
                return {};
        }
    }

    std::string statistics() const { return fmt::format("{}", fmt::join(shares_, ":")); }

  private:
    unsigned total() const {
        unsigned sum = 0;
        for (const unsigned s : shares_) sum += s;
        return sum;
    }
    static port_range up_to(uint16_t first, uint64_t more) {
        return {first, static_cast<uint16_t>(std::min<uint64_t>(65535, first + more))};
    }
    draw& random_;
    std::array<unsigned, port_kinds> shares_;
    std::vector<uint16_t> known_;
};

class rule_generator {
  public:
    rule_generator(acl::family kind, draw& random)
        : random_(random),
          sources_(kind, random),
          destinations_(kind, random),
          source_ports_(random),
          destination_ports_(random),
          shares_(random.weights<rule_structures>()),
          any_protocol_(static_cast<unsigned>(random.below(40))) {
        if (random.percent(80)) source_ports_.make_wild();
    }

    std::vector<rule> make(size_t count) {
        while (rules_.size() < count) put_structure(random_.weighted(shares_), count);
        return std::move(rules_);
    }

    std::string statistics() const {
        return fmt::format(
            "independent {} refinements {} products {} flows {}; sources: {}; destinations: {}; "
            "ports "
            "{} and {}; {} % any protocol",
            shares_[independent], shares_[refinements], shares_[products], shares_[flows],
            sources_.statistics(), destinations_.statistics(), source_ports_.statistics(),
            destination_ports_.statistics(), any_protocol_);
    }

  private:
    /// A rule that matches everything would hide those below it.
    void add(rule r) {
        if (r == rule{}) r.protocol = {6, 0xff};
        rules_.push_back(r);
    }

    rule next() {
        rule r;
        r.source = sources_.next();
        r.destination = destinations_.next();
        set_service(r);
        return r;
    }

    void set_service(rule& r) {
        r.source_port = source_ports_.next();
        r.destination_port = destination_ports_.next();
        r.protocol = protocol();
    }

    acl::masked<uint8_t> protocol() {
        static constexpr std::array<uint8_t, 8> protocols{6, 6, 6, 17, 17, 1, 47, 50};
        if (random_.percent(any_protocol_)) return {};
        return {protocols[random_.below(protocols.size())], 0xff};
    }

    /// A rule within an earlier one.
    rule refined() {
        rule r = rules_[random_.below(rules_.size())];
        if (random_.percent(50)) r.source = sources_.narrower(r.source);
        if (random_.percent(50)) r.destination = destinations_.narrower(r.destination);
        if (r.destination_port == port_range{}) r.destination_port = destination_ports_.next();
        if (r.protocol.mask == 0) r.protocol = protocol();
        return r;
    }

    /// Every source of a group with every destination and every service.
    void put_product(size_t count) {
        std::vector<rule> sources(random_.between(1, 12)), destinations(random_.between(1, 12)),
            services(random_.between(1, 6));
        for (rule& r : sources) r.source = sources_.next();
        for (rule& r : destinations) r.destination = destinations_.next();
        for (rule& r : services) set_service(r);
        for (const rule& s : sources)
            for (const rule& d : destinations)
                for (rule r : services) {
                    if (rules_.size() == count) return;
                    r.source = s.source;
                    r.destination = d.destination;
                    add(r);
                }
    }

    rule flow() {
        rule r = next();
        r.source = sources_.narrower(r.source);
        r.destination = destinations_.narrower(r.destination);
        const auto port = static_cast<uint16_t>(random_.bits());
        r.destination_port = {port, port};
        if (r.protocol.mask == 0) r.protocol = {6, 0xff};
        return r;
    }

    void put_structure(size_t which, size_t count) {
        if (which == products)
            put_product(count);
        else if (which == refinements && !rules_.empty())
            add(refined());
        else
            add(which == flows ? flow() : next());
    }

    draw& random_;
    address_generator sources_, destinations_;
    port_generator source_ports_, destination_ports_;
    std::array<unsigned, rule_structures> shares_;
    unsigned any_protocol_;  ///< per cent
    std::vector<rule> rules_;
};

constexpr uint64_t max_fresh_rules = 8000;
enum class order : uint8_t { specific_first, as_drawn, shuffled };

}  // namespace

fresh_rules draw_rules(const std::string& name, uint64_t seed) {
    draw random(seed);
    const auto kind = random.percent(85) ? acl::family::ipv4 : acl::family::ipv6;
    rule_generator generator(kind, random);
    fresh_rules made{{name, kind, generator.make(random.magnitude(20, max_fresh_rules))}, 0, {}};
    const auto in = static_cast<order>(random.below(3));
    const bool last_matches_all = random.percent(50);
    if (in == order::shuffled) random.shuffle(std::span(made.set.rules));
    if (in == order::specific_first) sort_by_specificity(made.set);
    if (last_matches_all) made.set.rules.back() = {};
    number_rules(made.set);
    made.header_seed = random.bits();
    static constexpr std::array<const char*, 3> orders{"specific first", "as drawn", "shuffled"};
    made.statistics = fmt::format(
        "{} IPv{} rules, {}{}: {}", made.set.rules.size(), kind == acl::family::ipv4 ? 4 : 6,
        orders[static_cast<size_t>(in)],
        last_matches_all ? ", the last one matches everything" : "", generator.statistics());
    return made;
}

}  // namespace turnpike::bench
