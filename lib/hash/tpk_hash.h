/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/hash with the API of DPDK 22.11's rte_hash.h: to port a program written for rte_hash, rename
 * rte_hash -> tpk_hash and RTE_HASH -> TPK_HASH, except rte_hash_crc (doc/tables.md). Argument meanings
 * and return codes are rte_hash's; differences are documented at the function. Keys have 1 to 40 bytes, padded to 8, 16 or 40. There is
 * no tpk_hash_set_cmp_func (keys are compared bytewise) and no tpk_hash_rcu_qsbr_*: lookups concurrent
 * with one writer need no RCU, since a table is allocated at full size; the caller frees a deleted
 * key's position after a grace period (LF flag), as in rte_hash.
 */
#ifndef TURNPIKE_TPK_HASH_H
#define TURNPIKE_TPK_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPK_HASH_ENTRIES_MAX (1 << 30)
/** Longer names are truncated to TPK_HASH_NAMESIZE - 1. */
#define TPK_HASH_NAMESIZE 32
#define TPK_HASH_LOOKUP_BULK_MAX 64
#define TPK_HASH_LOOKUP_MULTI_MAX TPK_HASH_LOOKUP_BULK_MAX

/** Accepted and ignored. */
#define TPK_HASH_EXTRA_FLAGS_TRANS_MEM_SUPPORT 0x01
/** Writers take a lock, as with both RW flags; so do count, get_key_with_position and iterate. */
#define TPK_HASH_EXTRA_FLAGS_MULTI_WRITER_ADD 0x02
/** Lookups concurrent with writers. Lookups never take a lock. */
#define TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY 0x04
/** Accepted and ignored: the table always has room for all `entries`. */
#define TPK_HASH_EXTRA_FLAGS_EXT_TABLE 0x08
/** tpk_hash_free_key_with_position frees a deleted key's position. */
#define TPK_HASH_EXTRA_FLAGS_NO_FREE_ON_DEL 0x10
/** RW_CONCURRENCY and NO_FREE_ON_DEL. */
#define TPK_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF 0x20

typedef uint32_t hash_sig_t;
typedef uint32_t (*tpk_hash_function)(const void *key, uint32_t key_len, uint32_t init_val);

struct tpk_hash_parameters {
    const char *name;
    uint32_t entries; /**< 8 to TPK_HASH_ENTRIES_MAX */
    uint32_t reserved;
    uint32_t key_len;            /**< 1 to 40 */
    tpk_hash_function hash_func; /**< ignored: the table uses its own keyed hash */
    uint32_t hash_func_init_val; /**< ignored */
    int socket_id;               /**< a NUMA node or SOCKET_ID_ANY */
    uint8_t extra_flag;
};

struct tpk_hash;

/** NULL and rte_errno: EINVAL, EEXIST, ENOMEM. */
struct tpk_hash *tpk_hash_create(const struct tpk_hash_parameters *params);
/** NULL and rte_errno ENOENT. */
struct tpk_hash *tpk_hash_find_existing(const char *name);
void tpk_hash_free(struct tpk_hash *h);
/** Not concurrent with lookups. */
void tpk_hash_reset(struct tpk_hash *h);
/** Number of positions in use: of keys, and of deleted keys that are not freed yet; -EINVAL. */
int32_t tpk_hash_count(const struct tpk_hash *h);
/** `entries`, as rte_hash without lcore caches: positions are below it; -EINVAL. */
int32_t tpk_hash_max_key_id(const struct tpk_hash *h);

/** 0; -EINVAL, -ENOSPC, -ENOMEM. Replaces the data of an existing key. */
int tpk_hash_add_key_data(const struct tpk_hash *h, const void *key, void *data);
int tpk_hash_add_key_with_hash_data(const struct tpk_hash *h, const void *key, hash_sig_t sig, void *data);
/** The key's position, 0 to entries - 1; -EINVAL, -ENOSPC, -ENOMEM. */
int32_t tpk_hash_add_key(const struct tpk_hash *h, const void *key);
/** Here and below: sig is tpk_hash_hash's result for the key; ignored. */
int32_t tpk_hash_add_key_with_hash(const struct tpk_hash *h, const void *key, hash_sig_t sig);
/** The key's former position; -EINVAL, -ENOENT. */
int32_t tpk_hash_del_key(const struct tpk_hash *h, const void *key);
int32_t tpk_hash_del_key_with_hash(const struct tpk_hash *h, const void *key, hash_sig_t sig);
/** 0; -EINVAL, -ENOENT. */
int tpk_hash_get_key_with_position(const struct tpk_hash *h, int32_t position, void **key);
/** 0; -EINVAL: also if the position is free, or its key was not deleted. */
int tpk_hash_free_key_with_position(const struct tpk_hash *h, int32_t position);

/** The position; -EINVAL, -ENOENT. */
int32_t tpk_hash_lookup(const struct tpk_hash *h, const void *key);
int32_t tpk_hash_lookup_with_hash(const struct tpk_hash *h, const void *key, hash_sig_t sig);
/** The position, and the data unless `data` is NULL; -EINVAL, -ENOENT. */
int tpk_hash_lookup_data(const struct tpk_hash *h, const void *key, void **data);
int tpk_hash_lookup_with_hash_data(const struct tpk_hash *h, const void *key, hash_sig_t sig, void **data);
/** 0, positions or -ENOENT for 1 to 64 keys; -EINVAL. */
int tpk_hash_lookup_bulk(const struct tpk_hash *h, const void **keys, uint32_t num_keys, int32_t *positions);
/** Number of keys found; sets their bits in hit_mask, and their data; -EINVAL. */
int tpk_hash_lookup_bulk_data(const struct tpk_hash *h, const void **keys, uint32_t num_keys,
                              uint64_t *hit_mask, void *data[]);
int tpk_hash_lookup_with_hash_bulk(const struct tpk_hash *h, const void **keys, hash_sig_t *sig,
                                   uint32_t num_keys, int32_t *positions);
int tpk_hash_lookup_with_hash_bulk_data(const struct tpk_hash *h, const void **keys, hash_sig_t *sig,
                                        uint32_t num_keys, uint64_t *hit_mask, void *data[]);
/** A hash of the whole key under the table's secret; 0 for NULL. */
hash_sig_t tpk_hash_hash(const struct tpk_hash *h, const void *key);
/** Position of the next key at or after position *next; -EINVAL, -ENOENT: no more. */
int32_t tpk_hash_iterate(const struct tpk_hash *h, const void **key, void **data, uint32_t *next);

#ifdef __cplusplus
}
#endif
#endif
