// SPDX-License-Identifier: BSD-3-Clause
#include "inputs.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/byte_order.hpp"
#include "frames.hpp"
#include "net/ip.hpp"
#include "packet/ipv4.hpp"

namespace turnpike::bench {
namespace {

constexpr uint32_t small_flows = 62'500;

using wire_address = std::array<uint8_t, 16>;

wire_address on_wire(const fib::address& a) {
    wire_address bytes{};
    store_be(bytes.data(), a.high);
    store_be(bytes.data() + 8, a.low);
    return bytes;
}

/// Source of the n-th flow at a port, as the generator counts: from 198.18.0.0 and 198.19.0.0,
/// 2001:2:0:ffff:: upwards.
wire_address source_of(int family, unsigned port, size_t n) {
    const auto step = static_cast<uint32_t>(n % small_flows);
    return on_wire(family == 4 ? fib::address{}.with(0, 32, 0xc6120000 + (port << 16) + step)
                               : fib::address{0x20010002'0000ffff, step});
}

flow flow_of(int family, const wire_address& source, const wire_address& destination) {
    const size_t bytes = family == 4 ? 4 : 16;
    return {.family = family,
            .source = std::span(source).first(bytes),
            .destination = std::span(destination).first(bytes)};
}

std::string capture_name(const std::string& path, bool imix, unsigned port) {
    return fmt::format("{}-{}-{}.pcap", path, imix ? "imix" : "64", port);
}

/// A text file that is complete after close().
class text_file {
  public:
    explicit text_file(const std::string& path) : path_(path), file_(path) {}
    void line(const std::string& text) { file_ << text << '\n'; }
    void close() {
        file_.close();
        if (!file_) throw std::runtime_error(path_ + ": cannot write");
    }

  private:
    std::string path_;
    std::ofstream file_;
};

/// FIRST : LAST twice and PROTOCOL/MASK, the format of ClassBench and l3fwd.
std::string five_tuple(const acl::rule& r) {
    const auto network = [](const acl::address_match& m) {
        const auto mask = load_be<uint32_t>(m.mask.data());
        return fmt::format("{}/{}",
                           ip_address::from_v4(load_be<uint32_t>(m.value.data()) & mask).text(),
                           std::popcount(mask));
    };
    return fmt::format("{} {} {} : {} {} : {} 0x{:02x}/0x{:02x}", network(r.source),
                       network(r.destination), r.source_port.first, r.source_port.last,
                       r.destination_port.first, r.destination_port.last, r.protocol.value,
                       r.protocol.mask);
}

}  // namespace

void write_table(const routes& table, int family, const std::string& path) {
    text_file ours(path + ".routes"), theirs(path + ".l3fwd");
    for (const auto& r : table) {
        const wire_address bytes = on_wire(r.prefix);
        const auto to = family == 4 ? ip_address::from_v4(load_be<uint32_t>(bytes.data()))
                                    : ip_address::from_v6(bytes.data());
        const uint64_t port = r.next_hop - 1;
        const std::string prefix = ip_prefix{to, r.length}.text();
        const std::string via =
            family == 4 ? fmt::format("10.0.{}.2", port) : fmt::format("2001:db8:{}::2", port);
        ours.line(prefix + " via " + via);
        theirs.line(fmt::format("R{} {}", prefix, port));
    }
    ours.close();
    theirs.close();
}

void write_rules(const std::vector<acl::rule>& rules, const std::string& path) {
    text_file ours(path + ".rules"), theirs(path + ".l3fwd");
    for (const acl::rule& r : rules) {
        ours.line("@" + five_tuple(r));
        theirs.line("R" + five_tuple(r) + " 1");
    }
    theirs.line("R" + five_tuple({}) + " 1");
    ours.close();
    theirs.close();
}

routes small_table(int family) {
    routes table;
    for (uint32_t i = 0; i < 8; ++i) {
        const fib::address v4 = fib::address{}.with(0, 32, 0xc6120000 + (i << 14));
        const fib::address v6 = fib::address{}.with(0, 32, 0x20010002).with(32, 32, i);
        table.push_back(
            {family == 4 ? v4 : v6, static_cast<uint8_t>(family == 4 ? 18 : 64), 1 + i / 4});
    }
    return table;
}

routes forwardable(const routes& table, int family) {
    routes kept;
    for (const auto& r : table) {
        const auto v4 = static_cast<uint32_t>(r.prefix.high >> 32);
        const bool strange = family == 4 ? packet::is_ipv4_martian(v4) || v4 >> 24 == 10
                                         : r.prefix.high >> 61 != 1 || v4 == 0x20010db8;
        if (!strange || r.length == 0) kept.push_back(r);
    }
    return kept;
}

void write_small_traffic(families of, const std::string& path, bool imix) {
    for (unsigned port = 0; port < 2; ++port) {
        capture_writer file(capture_name(path, imix, port), port, imix);
        for (uint32_t n = 0; n < small_flows; ++n) {
            // Like the generator: addresses increment by one from flow to flow.
            const auto v4 = fib::address{}.with(0, 32, 0xc6120000 + ((1 - port) << 16) + n);
            // Spread over all four networks of the port.
            const auto v6 = fib::address{}
                                .with(0, 32, 0x20010002)
                                .with(32, 32, (1 - port) * 4 + n % 4)
                                .with(96, 32, 16 + n);
            const bool is_stranger = of == families::one_ipv6_in_32 && n % 32 == 31;
            if (of != families::ipv6 && !is_stranger)
                file.add(flow_of(4, source_of(4, port, n), on_wire(v4)));
            if (of != families::one_ipv6_in_32 || is_stranger)
                file.add(flow_of(6, source_of(6, port, n), on_wire(v6)));
        }
        file.close();
    }
}

void write_stick_traffic(const std::string& path, bool imix) {
    constexpr uint32_t vlans = 8;
    constexpr uint16_t first_vlan = 100;
    capture_writer file(capture_name(path, imix, 0), 0, imix);
    for (uint32_t n = 0; n < small_flows; ++n) {
        const uint32_t vlan = n % vlans, to = (vlan + 1) % vlans;
        const auto network = fib::address{}.with(0, 32, 0xc6120000 + (to << 14) + n / vlans);
        file.add_tagged(flow_of(4, source_of(4, 0, n), on_wire(network)),
                        static_cast<uint16_t>(first_vlan + vlan));
    }
    file.close();
}

void write_table_traffic(const routes& table, int family, const std::string& kind, size_t frames,
                         const std::string& path, bool imix) {
    const auto addresses = make_traffic(table, family, kind, 2 * frames);
    for (unsigned port = 0; port < 2; ++port) {
        capture_writer file(capture_name(path, imix, port), port, imix);
        for (size_t n = 0; n < frames; ++n)
            file.add(
                flow_of(family, source_of(family, port, n), on_wire(addresses[port * frames + n])));
        file.close();
    }
}

void write_rule_traffic(const rule_set& set, size_t frames, const std::string& path, bool imix) {
    // Extra headers: half of the random rules match no forwardable packet.
    const auto bytes = make_headers(set, "rules", 4 * frames);
    capture_writer file(capture_name(path, imix, 0), 0, imix);
    size_t written = 0;
    for (size_t at = 0; at < bytes.size() && written < frames; at += sizeof(acl::key4)) {
        acl::key4 key;
        std::memcpy(&key, &bytes[at], sizeof key);
        const auto from = load_be<uint32_t>(key.source.data()),
                   to = load_be<uint32_t>(key.destination.data());
        if ((key.protocol != 6 && key.protocol != 17) || to >> 24 == 10 ||
            packet::check_ipv4_addresses(from, to) != packet::drop_reason::none)
            continue;
        file.add({.family = 4,
                  .source = key.source,
                  .destination = key.destination,
                  .protocol = key.protocol,
                  .source_port = key.source_port,
                  .destination_port = key.destination_port});
        ++written;
    }
    if (written == 0)
        throw std::runtime_error(set.name + ": no rule matches TCP or UDP between hosts");
    file.close();
}

void write_tunnel_traffic(const std::string& path, bool imix) {
    constexpr uint32_t pairs = 3125, endpoints = 4;
    const auto station = [](unsigned port, uint32_t n) {
        return mac_address{{0x06, 0, static_cast<uint8_t>(port), 0, static_cast<uint8_t>(n >> 8),
                            static_cast<uint8_t>(n)}};
    };
    for (unsigned port = 0; port < 2; ++port) {
        capture_writer file(capture_name(path, imix, port), port, imix);
        for (uint32_t n = 0; n < pairs * endpoints; ++n) {
            const uint32_t pair = n % pairs;
            const wire_address from = source_of(4, port, pair), to = source_of(4, 1 - port, pair);
            const mac_pair between{.to = station(1 - port, pair), .from = station(port, pair)};
            if (port == 0)
                file.add_tunnelled(flow_of(4, from, to), between, pair % endpoints);
            else
                file.add(flow_of(4, from, to), between);
        }
        file.close();
    }
}

}  // namespace turnpike::bench
