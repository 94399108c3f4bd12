// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/near_misses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "net/ip.hpp"
#include "sources/yaml_acl_rule.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "state/l2_match.hpp"

namespace turnpike::control {
namespace {

namespace acl_bits = state::acl_key;

/// Collects the conditions of one rule.
class comparison {
  public:
    /// bits  bits of the key that the condition fixes; 0: no condition
    template <class Text>
    void add(std::string_view field, bool same, unsigned bits, const Text& packet) {
        if (same) {
            out_.matched_bits += bits;
        } else if (out_.field.empty()) {
            out_.field = field;
            out_.packet = packet();
        } else {
            ++out_.more;
        }
    }
    template <class T, class Text>
    void add_masked(std::string_view field, T key, const acl::masked<T>& m, const Text& packet) {
        if (m.mask != 0)
            add(field, ((key ^ m.value) & m.mask) == 0,
                static_cast<unsigned>(std::popcount(m.mask)), packet);
    }
    template <size_t N, class Text>
    void add_address(std::string_view field, const std::array<uint8_t, N>& key,
                     const acl::address_match& m, const Text& packet) {
        unsigned bits = 0;
        bool same = true;
        for (size_t i = 0; i < N; ++i) {
            bits += static_cast<unsigned>(std::popcount(m.mask[i]));
            same &= ((key[i] ^ m.value[i]) & m.mask[i]) == 0;
        }
        if (bits != 0) add(field, same, bits, packet);
    }
    void add_ports(std::string_view field, bool has, uint16_t key, const acl::port_range& r) {
        const unsigned size = static_cast<unsigned>(r.last - r.first) + 1U;
        add(field, has && key >= r.first && key <= r.last,
            17U - static_cast<unsigned>(std::bit_width(size)),
            [&] { return has ? fmt::format("{}", key) : std::string("none"); });
    }
    [[nodiscard]] mismatch done() { return std::move(out_); }

  private:
    mismatch out_;
};

template <class Key>
std::string address_text(const Key&, const uint8_t* bytes) {
    return (sizeof(Key) == sizeof(acl::key4) ? ip_address::from_v4(load_be<uint32_t>(bytes))
                                             : ip_address::from_v6(bytes))
        .text();
}

std::string vlan_text(uint16_t vlan) {
    return (vlan & acl_bits::tagged) == 0 ? "untagged"
                                          : fmt::format("{}", vlan & acl_bits::vlan_id);
}

std::string set_flags(uint16_t flags) {
    if ((flags & acl_bits::has_tcp_flags) == 0) return "none";
    std::string out;
    for (size_t i = 0; i < sources::tcp_flag_names.size(); ++i)
        if ((flags >> i & 1) != 0)
            out += (out.empty() ? "+" : " +") + std::string(sources::tcp_flag_names[i]);
    return out.empty() ? "no flag" : out;
}

/// Conditions on ports, flags and ICMP; bits of tcp_flags in the key tell the fields that the packet has.
template <class Key>
void compare_upper(comparison& c, const acl::rule& r, const Key& k) {
    const uint16_t has = k.tcp_flags;
    const acl::port_range any{};
    if ((r.tcp_flags.mask & acl_bits::has_ports) != 0 || r.source_port != any ||
        r.destination_port != any) {
        const bool ports = (has & acl_bits::has_ports) != 0;
        if (r.source_port != any) c.add_ports("source_ports", ports, k.source_port, r.source_port);
        // Without ports, one condition is enough to say so.
        if (r.destination_port != any && (ports || r.source_port == any))
            c.add_ports("destination_ports", ports, k.destination_port, r.destination_port);
        if (r.source_port == any && r.destination_port == any)
            c.add_ports("source_ports", ports, k.source_port, any);
    }
    const auto tcp_mask =
        static_cast<uint16_t>(r.tcp_flags.mask & (0xff | acl_bits::has_tcp_flags));
    c.add_masked<uint16_t>("tcp_flags", has, {r.tcp_flags.value, tcp_mask},
                           [&] { return set_flags(has); });
    const bool icmp = (has & acl_bits::has_icmp_type) != 0;
    const auto number = [&](uint16_t value) {
        return icmp ? fmt::format("{}", value) : std::string("none");
    };
    if (r.icmp_type)
        c.add("icmp_type", icmp && k.source_port == *r.icmp_type, 8,
              [&] { return number(k.source_port); });
    if (r.icmp_code)
        c.add("icmp_code", icmp && k.destination_port == *r.icmp_code, 8,
              [&] { return number(k.destination_port); });
    c.add_masked<uint16_t>(
        "fragments", has,
        {r.tcp_flags.value, static_cast<uint16_t>(r.tcp_flags.mask & acl_bits::later_fragment)},
        [&] { return std::string((has & acl_bits::later_fragment) != 0 ? "true" : "false"); });
}

template <class Key>
mismatch compare_packet(const acl::rule& r, const Key& k) {
    comparison c;
    c.add_address("source", k.source, r.source, [&] { return address_text(k, k.source.data()); });
    c.add_address("destination", k.destination, r.destination,
                  [&] { return address_text(k, k.destination.data()); });
    const auto protocol_text = [&] { return sources::protocol_text(k.protocol); };
    const auto extension = sizeof(Key) != sizeof(acl::key4) && r.protocol.mask == 0xff
                               ? state::has_extension(r.protocol.value, k.tcp_flags, k.vlan)
                               : std::nullopt;
    if (extension)
        c.add("protocol", *extension, 8, protocol_text);
    else
        c.add_masked("protocol", k.protocol, r.protocol, protocol_text);
    compare_upper(c, r, k);
    c.add_masked("dscp", k.dscp, r.dscp, [&] { return fmt::format("{}", k.dscp >> 2); });
    c.add_masked<uint16_t>("vlan", k.vlan, r.vlan, [&] { return vlan_text(k.vlan); });
    return c.done();
}

/// The frame's fields, out of its key (state/l2_match.hpp).
mismatch compare_frame(const acl::rule& rule, const acl::key4& k) {
    const state::l2_match r = state::l2_of(rule);
    std::array<uint8_t, 6> source{k.protocol, k.dscp}, destination{};
    store_be(destination.data(), uint16_t{k.tcp_flags});
    std::copy(k.source.begin(), k.source.end(), source.begin() + 2);
    std::copy(k.destination.begin(), k.destination.end(), destination.begin() + 2);
    comparison c;
    const auto add_mac = [&](std::string_view field, const std::array<uint8_t, 6>& key,
                             const state::mac_match& m) {
        acl::address_match as_address;
        std::copy_n(m.value.bytes, 6, as_address.value.begin());
        std::copy_n(m.mask.bytes, 6, as_address.mask.begin());
        c.add_address(field, key, as_address, [&] {
            mac_address text;
            std::copy(key.begin(), key.end(), text.bytes);
            return text.text();
        });
    };
    add_mac("source_mac", source, r.source);
    add_mac("destination_mac", destination, r.destination);
    const uint16_t type = k.source_port;
    if (r.type != acl::port_range{})
        c.add("ethertype", type >= r.type.first && type <= r.type.last, 16,
              [&] { return fmt::format("{:#06x}", type); });
    c.add_masked<uint16_t>("vlan", k.vlan, r.vlan, [&] { return vlan_text(k.vlan); });
    return c.done();
}

bool permits(const state::acl_list& l, size_t index) {
    return index < l.rules.size() ? l.rules[index].action == state::acl_action::permit
                                  : l.default_permits;
}

}  // namespace

mismatch compare(const state::acl_rule& r, bool l2, const datapath::acl_packet& packet) {
    if (l2) return compare_frame(r.match, packet.frame);
    return packet.ipv4 ? compare_packet(r.match, packet.v4) : compare_packet(r.match, packet.v6);
}

std::vector<near_miss> near_misses(const state::acl_list& list, size_t decided,
                                   const datapath::acl_packet& packet, size_t most) {
    struct ranked {
        unsigned bits;
        near_miss miss;
    };
    std::vector<ranked> found;
    if (!list.l2 && !packet.ipv4 && !packet.ipv6) return {};
    for (size_t i = 0; i < std::min(decided, list.rules.size()); ++i) {
        const state::acl_rule& r = list.rules[i];
        const bool implicit = r.where.text.empty();
        const bool of_family = list.l2 || (packet.ipv4 ? r.ipv4 : r.ipv6);
        if (implicit || !of_family || r.action == state::acl_action::count ||
            permits(list, i) == permits(list, decided))
            continue;
        mismatch m = compare(r, list.l2, packet);
        if (m.field.empty() || m.more != 0) continue;
        const auto at = std::find_if(found.begin(), found.end(),
                                     [&](const ranked& f) { return f.bits < m.matched_bits; });
        if (at == found.end() && found.size() == most) continue;
        found.insert(at, {m.matched_bits, {i, m.field, std::move(m.packet)}});
        if (found.size() > most) found.pop_back();
    }
    std::vector<near_miss> out;
    for (ranked& f : found) out.push_back(std::move(f.miss));
    return out;
}

}  // namespace turnpike::control
