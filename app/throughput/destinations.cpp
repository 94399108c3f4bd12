// SPDX-License-Identifier: BSD-3-Clause
#include "destinations.hpp"

#include <algorithm>
#include <array>

#include "yaml/byte_order_mark.hpp"

namespace turnpike::throughput {
namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class random_bits {
  public:
    explicit random_bits(uint64_t seed) noexcept : state_(seed) {}
    uint64_t operator()() noexcept {
        uint64_t z = state_ += 0x9e37'79b9'7f4a'7c15u;
        z = (z ^ z >> 30) * 0xbf58'476d'1ce4'e5b9u;
        z = (z ^ z >> 27) * 0x94d0'49bb'1331'11ebu;
        return z ^ z >> 31;
    }

  private:
    uint64_t state_;
};

/// RFC 6890: "this network", loopback, link-local, multicast and above have no hosts behind a router.
const auto& networks_without_hosts() {
    static const std::array networks = {
        *parse_prefix("0.0.0.0/8"),   *parse_prefix("127.0.0.0/8"), *parse_prefix("169.254.0.0/16"),
        *parse_prefix("224.0.0.0/3"), *parse_prefix("::/8"),        *parse_prefix("fe80::/10"),
        *parse_prefix("ff00::/8")};
    return networks;
}

bool is_host(const ip_address& a) noexcept {
    const auto& none = networks_without_hosts();
    return std::none_of(none.begin(), none.end(), [&](const auto& n) { return n.contains(a); });
}

bool has_hosts(const ip_prefix& p) noexcept {
    const auto& none = networks_without_hosts();
    return p.length != 0 && std::none_of(none.begin(), none.end(), [&](const auto& n) {
               return p.length >= n.length && n.contains(p.address);
           });
}

ip_address draw_address(const ip_prefix& p, random_bits& random) noexcept {
    ip_address a = p.network().address;
    const unsigned bytes = a.bits() / 8;
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; ++i) {
        if (i % 8 == 0) bits = random();
        const unsigned kept = p.length > 8 * i ? std::min(8u, p.length - 8 * i) : 0;
        a.bytes[i] = static_cast<uint8_t>(a.bytes[i] | (bits & (0xffu >> kept)));
        bits >>= 8;
    }
    return a;
}

/// More than a third of a prefix with hosts is of hosts (fe00::/7 has the fewest).
ip_address draw_host(const ip_prefix& p, random_bits& random) noexcept {
    constexpr unsigned max_draws = 64;
    ip_address a = draw_address(p, random);
    for (unsigned n = 1; n < max_draws && !is_host(a); ++n) a = draw_address(p, random);
    return a;
}

}  // namespace

result<std::shared_ptr<const destination_list>> destination_list::draw(std::string_view text,
                                                                       const std::string& file,
                                                                       bool ipv6, uint32_t flows,
                                                                       uint64_t seed) {
    std::vector<ip_prefix> prefixes;
    const auto marked = yaml::without_byte_order_mark(text);
    if (!marked) return fail(EINVAL, file, marked.error().text);
    text = *marked;
    for (size_t line = 1; !text.empty(); ++line) {
        const size_t end = text.find('\n');
        std::string_view word = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        word.remove_prefix(std::min(word.find_first_not_of(" \t\r"), word.size()));
        if (word.empty() || word.front() == '#') continue;
        word = word.substr(0, word.find_first_of(" \t\r,"));
        const auto p = parse_prefix(word);
        if (!p)
            return fail(EINVAL, file + ":" + std::to_string(line),
                        "should begin with a prefix such as 192.0.2.0/24: " + p.error().text);
        if (p->address.v6 == ipv6 && has_hosts(*p)) prefixes.push_back(*p);
    }
    if (prefixes.empty())
        return fail(EINVAL, file,
                    std::string("has no prefix of ") + (ipv6 ? "IPv6" : "IPv4") + " unicast hosts");
    const auto made = std::make_shared<destination_list>();
    made->prefixes_ = prefixes.size();
    random_bits random(seed);
    for (uint32_t flow = 0; flow < flows; ++flow) {
        const ip_address a = draw_host(prefixes[random() % prefixes.size()], random);
        if (ipv6)
            made->v6_.push_back(a.v6_bytes());
        else
            made->v4_.push_back(a.v4());
        made->sorted_.push_back(a);
    }
    std::sort(made->sorted_.begin(), made->sorted_.end());
    return std::shared_ptr<const destination_list>(made);
}

bool destination_list::has(const ip_address& a) const noexcept {
    return std::binary_search(sorted_.begin(), sorted_.end(), a);
}

}  // namespace turnpike::throughput
