/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fib6 with the API of DPDK 22.11's rte_fib6.h: rename rte_fib6 -> tpk_fib6 and RTE_FIB6 -> TPK_FIB6.
 * The notes in tpk_fib.h also apply here.
 */
#ifndef TURNPIKE_TPK_FIB6_H
#define TURNPIKE_TPK_FIB6_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tpk_fib6;
struct rte_rib6;

#define TPK_FIB6_IPV6_ADDR_SIZE 16
#define TPK_FIB6_NAMESIZE 64
#define TPK_FIB6_MAXDEPTH 128

enum tpk_fib6_type { TPK_FIB6_DUMMY, TPK_FIB6_TRIE };

enum tpk_fib_trie_nh_sz { TPK_FIB6_TRIE_2B = 1, TPK_FIB6_TRIE_4B, TPK_FIB6_TRIE_8B };

enum tpk_fib6_lookup_type {
    TPK_FIB6_LOOKUP_DEFAULT,
    TPK_FIB6_LOOKUP_TRIE_SCALAR,
    TPK_FIB6_LOOKUP_TRIE_VECTOR_AVX512
};

struct tpk_fib6_trie_conf {
    enum tpk_fib_trie_nh_sz nh_sz;
    uint32_t num_tbl8;
};

struct tpk_fib6_conf {
    enum tpk_fib6_type type;
    uint64_t default_nh;
    int max_routes;
    unsigned int rib_ext_sz;
    union {
        struct tpk_fib6_trie_conf trie;
    };
};

struct tpk_fib6 *tpk_fib6_create(const char *name, int socket_id, struct tpk_fib6_conf *conf);
struct tpk_fib6 *tpk_fib6_find_existing(const char *name);
void tpk_fib6_free(struct tpk_fib6 *fib);
int tpk_fib6_add(struct tpk_fib6 *fib, const uint8_t ip[TPK_FIB6_IPV6_ADDR_SIZE], uint8_t depth,
                 uint64_t next_hop);
int tpk_fib6_delete(struct tpk_fib6 *fib, const uint8_t ip[TPK_FIB6_IPV6_ADDR_SIZE], uint8_t depth);
int tpk_fib6_lookup_bulk(struct tpk_fib6 *fib, uint8_t ips[][TPK_FIB6_IPV6_ADDR_SIZE],
                         uint64_t *next_hops, int n);
void *tpk_fib6_get_dp(struct tpk_fib6 *fib);
struct rte_rib6 *tpk_fib6_get_rib(struct tpk_fib6 *fib);
int tpk_fib6_select_lookup(struct tpk_fib6 *fib, enum tpk_fib6_lookup_type type);

#ifdef __cplusplus
}
#endif
#endif
