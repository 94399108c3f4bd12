/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fib4 with the API of DPDK 22.11's rte_fib.h: to port a program written for rte_fib, rename
 * rte_fib -> tpk_fib and RTE_FIB -> TPK_FIB. Argument meanings and return codes are rte_fib's;
 * differences are documented at the function. One writer; lookups concurrent with changes need the
 * C++ interface (fib/fib4.hpp), which takes an RCU hook.
 */
#ifndef TURNPIKE_TPK_FIB_H
#define TURNPIKE_TPK_FIB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tpk_fib;
struct rte_rib;

/** Longer names are truncated to TPK_FIB_NAMESIZE - 1. */
#define TPK_FIB_NAMESIZE 64
#define TPK_FIB_MAXDEPTH 32

enum tpk_fib_type {
    TPK_FIB_DUMMY,  /**< accepted; select_lookup refuses it, as rte_fib does */
    TPK_FIB_DIR24_8 /**< selects fib4 */
};

/** Next-hop width; next hops are below 2^(bits - 1), rte_fib's limit. */
enum tpk_fib_dir24_8_nh_sz {
    TPK_FIB_DIR24_8_1B,
    TPK_FIB_DIR24_8_2B,
    TPK_FIB_DIR24_8_4B,
    TPK_FIB_DIR24_8_8B
};

/** DEFAULT: automatic, by CPU and SIMD width; the scalar types all select fib4's scalar kernel. */
enum tpk_fib_lookup_type {
    TPK_FIB_LOOKUP_DEFAULT,
    TPK_FIB_LOOKUP_DIR24_8_SCALAR_MACRO,
    TPK_FIB_LOOKUP_DIR24_8_SCALAR_INLINE,
    TPK_FIB_LOOKUP_DIR24_8_SCALAR_UNI,
    TPK_FIB_LOOKUP_DIR24_8_VECTOR_AVX512
};

struct tpk_fib_dir24_8_conf {
    enum tpk_fib_dir24_8_nh_sz nh_sz;
    uint32_t num_tbl8; /**< must not be 0; otherwise ignored */
};

struct tpk_fib_conf {
    enum tpk_fib_type type;
    uint64_t default_nh; /**< result if no route matches */
    int max_routes;
    unsigned int rib_ext_sz; /**< ignored: there is no rte_rib */
    union {
        struct tpk_fib_dir24_8_conf dir24_8;
    };
};

/** NULL and rte_errno: EINVAL, EEXIST, ENOMEM. socket_id: a NUMA node or SOCKET_ID_ANY. */
struct tpk_fib *tpk_fib_create(const char *name, int socket_id, struct tpk_fib_conf *conf);
/** NULL and rte_errno ENOENT. */
struct tpk_fib *tpk_fib_find_existing(const char *name);
void tpk_fib_free(struct tpk_fib *fib);
/** ip: host byte order; bits after depth are ignored. 0, -EINVAL, -ENOSPC, -ENOMEM. */
int tpk_fib_add(struct tpk_fib *fib, uint32_t ip, uint8_t depth, uint64_t next_hop);
/** 0, -EINVAL, -ENOENT, -ENOMEM. */
int tpk_fib_delete(struct tpk_fib *fib, uint32_t ip, uint8_t depth);
/** 0, -EINVAL. */
int tpk_fib_lookup_bulk(struct tpk_fib *fib, uint32_t *ips, uint64_t *next_hops, int n);
/** The fib::fib4 inside, for C++ callers; NULL for NULL. */
void *tpk_fib_get_dp(struct tpk_fib *fib);
/** Always NULL: there is no rte_rib. */
struct rte_rib *tpk_fib_get_rib(struct tpk_fib *fib);
/** 0; -EINVAL: unknown type, or not supported by this CPU or SIMD width; -ENOMEM. */
int tpk_fib_select_lookup(struct tpk_fib *fib, enum tpk_fib_lookup_type type);

#ifdef __cplusplus
}
#endif
#endif
