// SPDX-License-Identifier: BSD-3-Clause
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_lpm.h>

#include <algorithm>
#include <cstring>

#include "base/byte_order.hpp"
#include "fib6_compat.hpp"
#include "lookup_cell.hpp"
#include "seconds.hpp"

namespace turnpike::bench {
namespace {

uint32_t host4(const fib::address& a) { return static_cast<uint32_t>(a.high >> 32); }

ipv6_address bytes6(const fib::address& a) {
    ipv6_address out;
    store_be(out.bytes, a.high);
    store_be(out.bytes + 8, a.low);
    return out;
}

unsigned log2_of(unsigned width_bytes) { return static_cast<unsigned>(__builtin_ctz(width_bytes)); }

peer_table<uint32_t> with_rte_fib(const routes& table, unsigned width_bytes) {
    peer_table<uint32_t> peer;
    rte_fib_conf conf{};
    conf.type = RTE_FIB_DIR24_8;
    conf.max_routes = static_cast<int>(table.size() + 16);
    conf.dir24_8.nh_sz = static_cast<rte_fib_dir24_8_nh_sz>(log2_of(width_bytes));
    conf.dir24_8.num_tbl8 = width_bytes == 1 ? 127 : width_bytes == 2 ? 32'000 : 65'000;
    auto* fib = rte_fib_create("bench", SOCKET_ID_ANY, &conf);
    if (fib == nullptr) {
        peer.why_not = std::string("rte_fib_create: ") + rte_strerror(rte_errno);
        return peer;
    }
    peer.keep.reset(fib, rte_fib_free);
    const uint64_t start = rte_rdtsc();
    for (const auto& r : table)
        peer.refused += rte_fib_add(fib, host4(r.prefix), r.length, r.next_hop) != 0;
    peer.load_seconds = seconds_since(start);
    const std::tuple<const char*, uint16_t, rte_fib_lookup_type> types[] = {
        {"rte_fib scalar macro", 64, RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO},
        {"rte_fib scalar inline", 64, RTE_FIB_LOOKUP_DIR24_8_SCALAR_INLINE},
        {"rte_fib scalar uni", 64, RTE_FIB_LOOKUP_DIR24_8_SCALAR_UNI},
        {"rte_fib avx512", 512, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512}};
    for (const auto& [name, bits, type] : types) {
        if (rte_fib_select_lookup(fib, type) != 0) continue;  // not permitted by this CPU or width
        peer.variants.push_back(
            {name, bits, [fib, type = type](const std::vector<uint32_t>& traffic, uint32_t burst) {
                 rte_fib_select_lookup(fib, type);
                 return cycles_per_lookup(
                     traffic, burst, [fib](const uint32_t* dst, uint64_t* nexthop, uint32_t n) {
                         rte_fib_lookup_bulk(fib, const_cast<uint32_t*>(dst), nexthop,
                                             static_cast<int>(n));
                     });
             }});
    }
    return peer;
}

peer_table<uint32_t> with_rte_lpm(const routes& table) {
    peer_table<uint32_t> peer;
    static unsigned serial = 0;
    rte_lpm_config conf{};
    conf.max_rules = static_cast<uint32_t>(table.size() + 16);
    conf.number_tbl8s = 16'384;
    auto* lpm = rte_lpm_create(("bench" + std::to_string(serial++)).c_str(), SOCKET_ID_ANY, &conf);
    if (lpm == nullptr) {
        peer.why_not = std::string("rte_lpm_create: ") + rte_strerror(rte_errno);
        return peer;
    }
    peer.keep.reset(lpm, rte_lpm_free);
    // rte_lpm has no default route: add /0 as two halves. Its next hops have 24 bits.
    const uint64_t start = rte_rdtsc();
    for (const auto& r : table) {
        const auto nexthop = static_cast<uint32_t>(r.next_hop);
        if (r.length != 0) {
            peer.refused += rte_lpm_add(lpm, host4(r.prefix), r.length, nexthop) != 0;
            continue;
        }
        peer.refused += rte_lpm_add(lpm, 0, 1, nexthop) != 0;
        peer.refused += rte_lpm_add(lpm, 1u << 31, 1, nexthop) != 0;
    }
    peer.load_seconds = seconds_since(start);
    peer.variants.push_back(
        {"rte_lpm bulk", 64, [lpm](const std::vector<uint32_t>& traffic, uint32_t burst) {
             return cycles_per_lookup(
                 traffic, burst, [lpm](const uint32_t* dst, uint64_t* nexthop, uint32_t n) {
                     rte_lpm_lookup_bulk(lpm, dst, reinterpret_cast<uint32_t*>(nexthop), n);
                 });
         }});
    peer.variants.push_back(
        {"rte_lpm x4", 128, [lpm](const std::vector<uint32_t>& traffic, uint32_t burst) {
             return cycles_per_lookup(traffic, burst,
                                      [lpm](const uint32_t* dst, uint64_t* nexthop, uint32_t n) {
                                          auto* out = reinterpret_cast<uint32_t*>(nexthop);
                                          for (uint32_t i = 0; i < n; i += 4) {
                                              xmm_t four;
                                              std::memcpy(&four, dst + i, sizeof four);
                                              rte_lpm_lookupx4(lpm, four, out + i, 0);
                                          }
                                      });
         }});
    return peer;
}

peer_table<ipv6_address> with_rte_fib6(const routes& table, unsigned width_bytes) {
    peer_table<ipv6_address> peer;
    rte_fib6_conf conf{};
    conf.type = RTE_FIB6_TRIE;
    conf.max_routes = static_cast<int>(table.size() + 16);
    conf.trie.nh_sz = static_cast<rte_fib_trie_nh_sz>(log2_of(width_bytes));
    conf.trie.num_tbl8 = width_bytes == 2 ? 32'000 : 400'000;
    auto* fib = rte_fib6_create("bench6", SOCKET_ID_ANY, &conf);
    if (fib == nullptr) {
        peer.why_not = std::string("rte_fib6_create: ") + rte_strerror(rte_errno);
        return peer;
    }
    peer.keep.reset(fib, rte_fib6_free);
    const uint64_t start = rte_rdtsc();
    for (const auto& r : table)
        peer.refused +=
            rte_fib6_add(fib, fib6_address(bytes6(r.prefix).bytes), r.length, r.next_hop) != 0;
    peer.load_seconds = seconds_since(start);
    const std::tuple<const char*, uint16_t, rte_fib6_lookup_type> types[] = {
        {"rte_fib6 scalar", 64, RTE_FIB6_LOOKUP_TRIE_SCALAR},
        {"rte_fib6 avx512", 512, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512}};
    for (const auto& [name, bits, type] : types) {
        if (rte_fib6_select_lookup(fib, type) != 0) continue;
        peer.variants.push_back(
            {name, bits,
             [fib, type = type](const std::vector<ipv6_address>& traffic, uint32_t burst) {
                 rte_fib6_select_lookup(fib, type);
                 return cycles_per_lookup(
                     traffic, burst, [fib](const ipv6_address* dst, uint64_t* nexthop, uint32_t n) {
                         rte_fib6_lookup_bulk(fib, fib6_addresses(dst->bytes), nexthop,
                                              static_cast<int>(n));
                     });
             }});
    }
    return peer;
}

bool same_prefixes(const routes& a, const routes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const fib::entry& x, const fib::entry& y) {
                          return x.prefix == y.prefix && x.length == y.length;
                      });
}

}  // namespace

std::vector<peer_table<uint32_t>> ipv4_peers(const routes& table, unsigned width_bytes) {
    std::vector<peer_table<uint32_t>> peers;
    peers.push_back(with_rte_fib(table, width_bytes));
    // Shared by all widths and next hops of a table, since its speed does not depend on them:
    // rte_lpm_add takes half a minute for a full table.
    static peer_table<uint32_t> lpm;
    static routes loaded;
    if (!same_prefixes(loaded, table)) {
        lpm = {};
        lpm = with_rte_lpm(table);
        loaded = table;
    }
    peers.push_back(lpm);
    return peers;
}

std::vector<peer_table<ipv6_address>> ipv6_peers(const routes& table, unsigned width_bytes) {
    std::vector<peer_table<ipv6_address>> peers;
    peers.push_back(with_rte_fib6(table, width_bytes));
    return peers;
}

}  // namespace turnpike::bench
