// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/route_table.hpp"

#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>

#include <algorithm>

namespace turnpike::datapath {

result<std::unique_ptr<route_table>> route_table::create(uint32_t max_routes) {
    std::unique_ptr<route_table> t(new route_table());
    rte_fib_conf v4{};
    v4.type = RTE_FIB_DIR24_8;
    v4.max_routes = static_cast<int>(max_routes);
    v4.default_nh = next_hop{}.packed();
    v4.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
    v4.dir24_8.num_tbl8 = std::clamp(max_routes, 256U, 1u << 20);
    t->v4_ = rte_fib_create("turnpike", SOCKET_ID_ANY, &v4);
    if (t->v4_ == nullptr)
        return fail(rte_errno, "routes", "rte_fib cannot make a table (it takes 64 MB at once)");
    rte_fib6_conf v6{};
    v6.type = RTE_FIB6_TRIE;
    v6.max_routes = static_cast<int>(max_routes);
    v6.default_nh = next_hop{}.packed();
    v6.trie.nh_sz = RTE_FIB6_TRIE_4B;
    // A prefix of up to 128 bits takes up to 14 levels of 8 bits below the first 24.
    v6.trie.num_tbl8 = std::clamp(14 * max_routes, 1024U, 1u << 20);
    t->v6_ = rte_fib6_create("turnpike6", SOCKET_ID_ANY, &v6);
    if (t->v6_ == nullptr)
        return fail(rte_errno, "routes", "rte_fib6 cannot make a table (it takes 64 MB at once)");
    return t;
}

route_table::~route_table() {
    rte_fib_free(v4_);
    rte_fib6_free(v6_);
}

result<void> route_table::add(const ip_prefix& to, next_hop hop) {
    ip_prefix p = to;
    const int code = p.address.v6
                         ? rte_fib6_add(v6_, p.address.bytes.data(), p.length, hop.packed())
                         : rte_fib_add(v4_, p.address.v4(), p.length, hop.packed());
    if (code != 0) return fail(-code, "route " + to.text(), "the FIB does not take it");
    ++routes_[p.address.v6];
    return {};
}

void route_table::lookup4(const uint32_t* destination, uint64_t* hop, uint32_t n) const noexcept {
    rte_fib_lookup_bulk(v4_, const_cast<uint32_t*>(destination), hop, static_cast<int>(n));
}

void route_table::lookup6(uint8_t (*destination)[16], uint64_t* hop, uint32_t n) const noexcept {
    rte_fib6_lookup_bulk(v6_, destination, hop, static_cast<int>(n));
}

next_hop route_table::lookup(const ip_address& destination) const noexcept {
    uint64_t hop = 0;
    if (destination.v6) {
        uint8_t address[1][16];
        std::copy(destination.bytes.begin(), destination.bytes.end(), address[0]);
        lookup6(address, &hop, 1);
    } else {
        const uint32_t address = destination.v4();
        lookup4(&address, &hop, 1);
    }
    return next_hop::unpack(hop);
}

}  // namespace turnpike::datapath
