// SPDX-License-Identifier: BSD-3-Clause
#include "unit/xsk/filter_reference.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

namespace turnpike::test {
namespace {

/// Bytes of a frame from `at`; nothing where it ends before, or where a filter does not look.
struct cursor {
    const byte_vector& frame;
    std::optional<unsigned> number(size_t at, size_t bytes) const {
        if (at + bytes > frame.size()) return std::nullopt;
        unsigned n = 0;
        for (size_t i = 0; i < bytes; ++i) n = n << 8 | frame[at + i];
        return n;
    }
    byte_vector slice(size_t at, size_t bytes) const {
        return {frame.begin() + static_cast<ptrdiff_t>(at),
                frame.begin() + static_cast<ptrdiff_t>(at + bytes)};
    }
};

struct facts {
    std::optional<unsigned> ether_type{};  ///< of a frame that is not IP
    std::optional<unsigned> protocol{};
    bool v6 = false;
    byte_vector source{}, destination{};
    std::optional<std::pair<unsigned, unsigned>> ports{};
};

void learn_ports(const cursor& c, size_t at, size_t end, facts& f) {
    const unsigned p = *f.protocol;
    if (p != 6 && p != 17 && p != 132 && p != 136) return;
    if (at > 512 || at + 4 > end || !c.number(at, 4)) return;
    f.ports = {*c.number(at, 2), *c.number(at + 2, 2)};
}

void learn_ipv4(const cursor& c, size_t at, facts& f) {
    if (!c.number(at + 19, 1) || *c.number(at, 1) >> 4 != 4) return;
    const size_t header = (*c.number(at, 1) & 15) * size_t{4};
    if (header < 20) return;
    f.protocol = c.number(at + 9, 1);
    f.source = c.slice(at + 12, 4);
    f.destination = c.slice(at + 16, 4);
    const unsigned part = *c.number(at + 6, 2);
    const bool is_part = (part & 0x2000) != 0 || (part & 0x1fff) != 0;
    if (!is_part) learn_ports(c, at + header, at + *c.number(at + 2, 2), f);
}

void learn_ipv6(const cursor& c, size_t at, facts& f) {
    if (!c.number(at + 39, 1) || *c.number(at, 1) >> 4 != 6) return;
    f.v6 = true;
    f.source = c.slice(at + 8, 16);
    f.destination = c.slice(at + 24, 16);
    f.protocol = c.number(at + 6, 1);
    const size_t end = at + 40 + *c.number(at + 4, 2);
    at += 40;
    for (int seen = 0; seen < 8; ++seen) {
        const unsigned p = *f.protocol;
        if (p != 0 && p != 43 && p != 44 && p != 60) break;
        if (at > 512 || at + 8 > end || !c.number(at, 4)) return;  // no ports behind it
        f.protocol = c.number(at, 1);
        const unsigned detail = *c.number(at + 2, 2);
        if (p == 44 && (detail >> 3 != 0 || (detail & 1) != 0)) return;
        at += p == 44 ? 8 : 8 * (*c.number(at + 1, 1) + size_t{1});
    }
    learn_ports(c, at, end, f);
}

facts learn(const byte_vector& frame) {
    const cursor c{frame};
    facts f;
    size_t at = 12;
    for (int tags = 0; tags < 2; ++tags) {
        const auto type = c.number(at, 2);
        if (!type || (*type != 0x8100 && *type != 0x88a8)) break;
        at += 4;
    }
    if (!c.number(at, 4)) return f;
    const unsigned type = *c.number(at, 2);
    if (type == 0x0800)
        learn_ipv4(c, at + 2, f);
    else if (type == 0x86dd)
        learn_ipv6(c, at + 2, f);
    else
        f.ether_type = type;
    return f;
}

bool covers(const std::optional<prefix>& p, const byte_vector& address) {
    if (!p) return true;
    if (p->address.size() != address.size()) return false;
    for (unsigned bit = 0; bit < p->length; ++bit)
        if (((p->address[bit / 8] ^ address[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
    return true;
}

using range = std::optional<std::pair<unsigned, unsigned>>;
bool holds(const range& r, unsigned port) { return !r || (r->first <= port && port <= r->second); }

bool keeps(const reference_entry& e, const facts& f) {
    if (e.ether_type) return f.ether_type == e.ether_type;
    if (!f.protocol) return false;
    if (e.protocol && *e.protocol != *f.protocol) return false;
    if (e.v6 && *e.v6 != f.v6) return false;
    if (e.port || e.source_port || e.destination_port) {
        if (!f.ports) return false;
        const auto [source, destination] = *f.ports;
        if (!holds(e.source_port, source) || !holds(e.destination_port, destination)) return false;
        if (!holds(e.port, source) && !holds(e.port, destination)) return false;
    }
    return covers(e.source_address, f.source) && covers(e.destination_address, f.destination) &&
           (covers(e.address, f.source) || covers(e.address, f.destination));
}

template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> all) {
    return all.begin()[random() % all.size()];
}

/// Few hosts, so that entries and frames meet.
byte_vector random_address(std::mt19937& random, bool v6) {
    if (!v6) return {10, 0, static_cast<uint8_t>(random() % 3), static_cast<uint8_t>(random() % 4)};
    byte_vector a = random() % 2 == 0 ? v6_a : v6_b;
    a[15] = static_cast<uint8_t>(random() % 4);
    return a;
}

unsigned random_port(std::mt19937& random) {
    return one_of<unsigned>(random, {0, 22, 179, 5000, 5001, 5010, 65535});
}

}  // namespace

std::string reference_entry::yaml() const {
    std::string text = "- {";
    const auto add = [&text](std::string_view key, const std::string& value) {
        text += fmt::format("{}{}: \"{}\"", text.ends_with('{') ? "" : ", ", key, value);
    };
    if (protocol) add("protocol", std::to_string(*protocol));
    if (ether_type) add("protocol", *ether_type == 0x0806 ? "arp" : "lldp");
    if (v6) add("family", *v6 ? "ipv6" : "ipv4");
    for (const auto& [key, r] : {std::pair{"port", port},
                                 {"source_port", source_port},
                                 {"destination_port", destination_port}})
        if (r)
            add(key, r->first == r->second ? std::to_string(r->first)
                                           : fmt::format("{}-{}", r->first, r->second));
    for (const auto& [key, p] : {std::pair{"address", address},
                                 {"source_address", source_address},
                                 {"destination_address", destination_address}})
        if (p) {
            char out[INET6_ADDRSTRLEN];
            inet_ntop(p->address.size() == 4 ? AF_INET : AF_INET6, p->address.data(), out,
                      sizeof out);
            add(key, fmt::format("{}/{}", out, p->length));
        }
    return text + "}\n";
}

reference_entry random_entry(std::mt19937& random) {
    reference_entry e;
    const auto maybe = [&random](unsigned in) { return random() % in == 0; };
    if (maybe(8)) {
        e.ether_type = maybe(2) ? 0x0806 : 0x88cc;
        return e;
    }
    const auto ports = [&]() -> range {
        const unsigned a = random_port(random), b = maybe(2) ? a : random_port(random);
        return std::pair{std::min(a, b), std::max(a, b)};
    };
    const auto some_prefix = [&](bool v6) {
        prefix p{random_address(random, v6), 0};
        p.length = static_cast<unsigned>(random() % (p.address.size() * 8 + 1));
        for (unsigned bit = p.length; bit < p.address.size() * 8; ++bit)
            p.address[bit / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
        return p;
    };
    const bool with_ports = maybe(2), v6 = maybe(2);
    if (with_ports) {
        if (maybe(2)) e.port = ports();
        if (maybe(2)) e.source_port = ports();
        if (maybe(2) || (!e.port && !e.source_port)) e.destination_port = ports();
    }
    if (!with_ports || maybe(2))
        e.protocol = with_ports ? one_of<unsigned>(random, {6, 17, 132, 136})
                                : one_of<unsigned>(random, {1, 6, 17, 47, 58, 89, 255});
    if (maybe(3)) e.v6 = v6;
    if (maybe(2)) e.address = some_prefix(v6);
    if (maybe(3)) e.source_address = some_prefix(v6);
    if (maybe(3)) e.destination_address = some_prefix(v6);
    return e;
}

byte_vector random_frame(std::mt19937& random) {
    const auto maybe = [&random](unsigned in) { return random() % in == 0; };
    auto protocol =
        static_cast<uint8_t>(one_of<unsigned>(random, {1, 6, 17, 17, 132, 136, 47, 58, 89}));
    byte_vector rest = be(static_cast<uint16_t>(random_port(random))) +
                       be(static_cast<uint16_t>(random_port(random))) + counted(random() % 40);
    uint16_t type = 0;
    const auto kind = random() % 16;
    if (kind == 0) {
        type = one_of<uint16_t>(random, {0x0806, 0x88cc, 0x0042, 0x8847});
    } else if (kind < 8) {
        type = 0x0800;
        ipv4_fields f{.protocol = protocol};
        f.source = load_be<uint32_t>(random_address(random, false).data());
        f.destination = load_be<uint32_t>(random_address(random, false).data());
        f.options = zeros(maybe(4) ? 4 * (random() % 11) : 0);
        if (maybe(6))
            f.fragment = static_cast<uint16_t>(
                one_of<unsigned>(random, {0x2000, 1, 0x2005, 0x4000, 0x8000}));
        if (maybe(12)) f.ihl = static_cast<uint8_t>(random() % 16);
        if (maybe(12)) f.total_bytes = static_cast<uint16_t>(random() % 64);
        rest = ipv4(f, rest);
    } else {
        type = 0x86dd;
        for (auto n = maybe(2) ? random() % 11 : 0; n > 0; --n) {
            const bool part = maybe(4);
            rest = part ? fragment(protocol, one_of<uint16_t>(random, {0, 1, 8, 9, 6}), rest)
                        : extension(protocol, static_cast<uint8_t>(random() % (maybe(8) ? 64 : 3)),
                                    rest);
            protocol = part ? 44 : static_cast<uint8_t>(one_of<unsigned>(random, {0, 43, 60}));
        }
        ipv6_fields f{.next_header = protocol};
        f.source = random_address(random, true);
        f.destination = random_address(random, true);
        if (maybe(12)) f.payload_bytes = static_cast<uint16_t>(random() % 64);
        rest = ipv6(f, rest);
    }
    for (auto tags = maybe(3) ? 1 + random() % 3 : 0; tags > 0; --tags) {
        rest = tag(static_cast<uint16_t>(random()), type, rest);
        type = maybe(2) ? 0x8100 : 0x88a8;
    }
    byte_vector frame = ethernet(type, rest);
    if (maybe(6)) frame.resize(14 + random() % (frame.size() - 13));
    if (maybe(6)) frame[12 + random() % (frame.size() - 12)] = static_cast<uint8_t>(random());
    return frame;
}

std::optional<size_t> reference_verdict(const std::vector<reference_entry>& entries,
                                        const byte_vector& frame) {
    const facts f = learn(frame);
    for (size_t i = 0; i < entries.size(); ++i)
        if (keeps(entries[i], f)) return i;
    return std::nullopt;
}

}  // namespace turnpike::test
