// SPDX-License-Identifier: BSD-3-Clause
// The C APIs of fib4 and fib6: argument checks and rte_fib's names.
#include <rte_errno.h>

#include <memory>
#include <new>
#include <string>

#include "base/registry.hpp"
#include "eal/simd_bitwidth.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "fib/fib_dpdk.hpp"
#include "fib/tpk_fib.h"
#include "fib/tpk_fib6.h"

struct tpk_fib {
    std::string name;
    bool dummy;
    unsigned next_hop_bits;
    std::unique_ptr<turnpike::fib::fib4> table;
};

struct tpk_fib6 {
    std::string name;
    bool dummy;
    unsigned next_hop_bits;
    std::unique_ptr<turnpike::fib::fib6> table;
};

namespace {

namespace fib = turnpike::fib;

using turnpike::registry;

registry<tpk_fib>& tables4 = *new registry<tpk_fib>;
registry<tpk_fib6>& tables6 = *new registry<tpk_fib6>;

template <class Handle>
Handle* failed(int code) {
    rte_errno = code;
    return nullptr;
}

/// The return code of a change. Catches all exceptions: C code cannot, and an error's text may fail
/// to allocate.
template <class Change>
int code_of(const Change& change) noexcept try {
    const turnpike::result<void> r = change();
    return r ? 0 : -r.error().code;
} catch (const std::bad_alloc&) {
    return -ENOMEM;
}

template <class Handle, class Table>
Handle* create(registry<Handle>& tables, const char* name, int socket_id, int max_routes,
               bool dummy, unsigned log2_bytes, uint64_t default_nh) try {
    const std::string cut = std::string(name).substr(0, TPK_FIB_NAMESIZE - 1);
    const unsigned bits = (8U << log2_bytes) - 1;
    if (socket_id < -1 || max_routes <= 0 || log2_bytes > 3 || default_nh >> bits != 0)
        return failed<Handle>(EINVAL);
    if (tables.find(cut) != nullptr) return failed<Handle>(EEXIST);
    fib::config config = fib::eal_config(cut, socket_id);
    config.max_routes = static_cast<uint32_t>(max_routes);
    config.next_hop_bytes = static_cast<uint8_t>(1U << log2_bytes);
    config.default_next_hop = default_nh;
    auto table = Table::create(config);
    if (!table) return failed<Handle>(table.error().code);
    std::unique_ptr<Handle> made(new Handle{cut, dummy, bits, std::move(*table)});
    Handle* added = tables.add(std::move(made));
    return added != nullptr ? added : failed<Handle>(EEXIST);
} catch (const std::bad_alloc&) {
    return failed<Handle>(ENOMEM);
}

template <class Handle>
Handle* find_existing(registry<Handle>& tables, const char* name) {
    Handle* found = name != nullptr ? tables.find(name) : nullptr;
    return found != nullptr ? found : failed<Handle>(ENOENT);
}

template <class Handle>
int select(Handle* handle, int type, int scalar_last, int avx512) try {
    if (handle == nullptr || handle->dummy || type < 0 || type > avx512) return -EINVAL;
    const char* kernel = type == 0 ? "" : type <= scalar_last ? "scalar" : "avx512";
    return handle->table->select_kernel(turnpike::eal::max_simd_bitwidth(), kernel) ? 0 : -EINVAL;
} catch (const std::bad_alloc&) {
    return -ENOMEM;
}

uint32_t masked4(uint32_t ip, unsigned depth) { return depth == 0 ? 0 : ip & ~0u << (32 - depth); }

turnpike::ipv6_address masked6(const uint8_t* ip, unsigned depth) {
    turnpike::ipv6_address out{};
    for (unsigned i = 0; i < depth; i += 8)
        out.bytes[i / 8] =
            static_cast<uint8_t>(ip[i / 8] & (depth - i >= 8 ? 0xff : 0xff00 >> (depth - i)));
    return out;
}

}  // namespace

// ---- IPv4: rte_fib ----

tpk_fib* tpk_fib_create(const char* name, int socket_id, tpk_fib_conf* conf) {
    if (name == nullptr || conf == nullptr || conf->type > TPK_FIB_DIR24_8)
        return failed<tpk_fib>(EINVAL);
    const bool dummy = conf->type == TPK_FIB_DUMMY;  // without a width
    if (!dummy && conf->dir24_8.num_tbl8 == 0) return failed<tpk_fib>(EINVAL);
    return create<tpk_fib, fib::fib4>(tables4, name, socket_id, conf->max_routes, dummy,
                                      dummy ? 3U : static_cast<unsigned>(conf->dir24_8.nh_sz),
                                      conf->default_nh);
}

tpk_fib* tpk_fib_find_existing(const char* name) { return find_existing(tables4, name); }

void tpk_fib_free(tpk_fib* fib) { tables4.remove(fib); }

int tpk_fib_add(tpk_fib* fib, uint32_t ip, uint8_t depth, uint64_t next_hop) {
    if (fib == nullptr || depth > TPK_FIB_MAXDEPTH || next_hop >> fib->next_hop_bits != 0)
        return -EINVAL;
    fib->table->retry_growth();  // the caller may have freed memory
    return code_of([&] { return fib->table->add(masked4(ip, depth), depth, next_hop); });
}

int tpk_fib_delete(tpk_fib* fib, uint32_t ip, uint8_t depth) {
    if (fib == nullptr || depth > TPK_FIB_MAXDEPTH) return -EINVAL;
    fib->table->retry_growth();
    return code_of([&] { return fib->table->remove(masked4(ip, depth), depth); });
}

int tpk_fib_lookup_bulk(tpk_fib* fib, uint32_t* ips, uint64_t* next_hops, int n) {
    if (fib == nullptr || ips == nullptr || next_hops == nullptr || n < 0) return -EINVAL;
    const auto count = static_cast<size_t>(n);
    fib->table->lookup_bulk({ips, count}, {next_hops, count});
    return 0;
}

void* tpk_fib_get_dp(tpk_fib* fib) { return fib != nullptr ? fib->table.get() : nullptr; }

rte_rib* tpk_fib_get_rib(tpk_fib*) { return nullptr; }

int tpk_fib_select_lookup(tpk_fib* fib, tpk_fib_lookup_type type) {
    return select(fib, type, TPK_FIB_LOOKUP_DIR24_8_SCALAR_UNI,
                  TPK_FIB_LOOKUP_DIR24_8_VECTOR_AVX512);
}

// ---- IPv6: rte_fib6 ----

tpk_fib6* tpk_fib6_create(const char* name, int socket_id, tpk_fib6_conf* conf) {
    if (name == nullptr || conf == nullptr || conf->type > TPK_FIB6_TRIE)
        return failed<tpk_fib6>(EINVAL);
    const bool dummy = conf->type == TPK_FIB6_DUMMY;
    if (!dummy && (conf->trie.num_tbl8 == 0 || conf->trie.nh_sz < TPK_FIB6_TRIE_2B))
        return failed<tpk_fib6>(EINVAL);
    return create<tpk_fib6, fib::fib6>(tables6, name, socket_id, conf->max_routes, dummy,
                                       dummy ? 3U : static_cast<unsigned>(conf->trie.nh_sz),
                                       conf->default_nh);
}

tpk_fib6* tpk_fib6_find_existing(const char* name) { return find_existing(tables6, name); }

void tpk_fib6_free(tpk_fib6* fib) { tables6.remove(fib); }

int tpk_fib6_add(tpk_fib6* fib, const uint8_t* ip, uint8_t depth, uint64_t next_hop) {
    if (fib == nullptr || ip == nullptr || depth > TPK_FIB6_MAXDEPTH ||
        next_hop >> fib->next_hop_bits != 0)
        return -EINVAL;
    fib->table->retry_growth();  // the caller may have freed memory
    return code_of([&] { return fib->table->add(masked6(ip, depth), depth, next_hop); });
}

int tpk_fib6_delete(tpk_fib6* fib, const uint8_t* ip, uint8_t depth) {
    if (fib == nullptr || ip == nullptr || depth > TPK_FIB6_MAXDEPTH) return -EINVAL;
    fib->table->retry_growth();
    return code_of([&] { return fib->table->remove(masked6(ip, depth), depth); });
}

int tpk_fib6_lookup_bulk(tpk_fib6* fib, uint8_t ips[][16], uint64_t* next_hops, int n) {
    if (fib == nullptr || ips == nullptr || next_hops == nullptr || n < 0) return -EINVAL;
    const auto count = static_cast<size_t>(n);
    fib->table->lookup_bulk({reinterpret_cast<const turnpike::ipv6_address*>(ips), count},
                            {next_hops, count});
    return 0;
}

void* tpk_fib6_get_dp(tpk_fib6* fib) { return fib != nullptr ? fib->table.get() : nullptr; }

rte_rib6* tpk_fib6_get_rib(tpk_fib6*) { return nullptr; }

int tpk_fib6_select_lookup(tpk_fib6* fib, tpk_fib6_lookup_type type) {
    return select(fib, type, TPK_FIB6_LOOKUP_TRIE_SCALAR, TPK_FIB6_LOOKUP_TRIE_VECTOR_AVX512);
}
