/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classifier with the API of DPDK 22.11's rte_acl.h: to port a program written for rte_acl,
 * rename rte_acl -> tpk_acl and RTE_ACL -> TPK_ACL. Argument meanings and return codes are rte_acl's;
 * differences are documented at the function.
 *
 * Layouts: fields of 1, 2, 4 and 8 bytes at offsets up to 65,527; at most two RANGE fields of up to two bytes
 * that hold real ranges (other ranges are divided into prefixes, as many as fit); all others together
 * 38 bytes. At most 20 fields, of which one of 8 bytes counts as two. Larger layouts are refused with
 * -ENOTSUP. Input indices are ignored.
 */
#ifndef TURNPIKE_TPK_ACL_H
#define TURNPIKE_TPK_ACL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPK_ACL_MAX_CATEGORIES 16
#define TPK_ACL_RESULTS_MULTIPLIER 4
#define TPK_ACL_MAX_LEVELS 64
#define TPK_ACL_MAX_FIELDS 64
#define TPK_ACL_NAMESIZE 32

union tpk_acl_field_types {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
};

enum {
    TPK_ACL_FIELD_TYPE_MASK = 0, /**< value and prefix length */
    TPK_ACL_FIELD_TYPE_RANGE,    /**< first and last */
    TPK_ACL_FIELD_TYPE_BITMASK   /**< value and mask */
};

/** Fields of more than one byte are big-endian in the input, in host order in rules. */
struct tpk_acl_field_def {
    uint8_t type;
    uint8_t size;        /**< bytes: 1, 2, 4 or 8 */
    uint8_t field_index; /**< in the rule */
    uint8_t input_index; /**< ignored */
    uint32_t offset;     /**< in the input */
};

struct tpk_acl_config {
    uint32_t num_categories;
    uint32_t num_fields;
    struct tpk_acl_field_def defs[TPK_ACL_MAX_FIELDS];
    size_t max_size; /**< bytes that classification may read; 0: no limit */
};

struct tpk_acl_field {
    union tpk_acl_field_types value;
    union tpk_acl_field_types mask_range;
};

enum {
    TPK_ACL_TYPE_SHIFT = 29,
    TPK_ACL_MAX_INDEX = (1 << TPK_ACL_TYPE_SHIFT) - 1,
    TPK_ACL_MAX_PRIORITY = TPK_ACL_MAX_INDEX,
    TPK_ACL_MIN_PRIORITY = 1
};

#define TPK_ACL_MASKLEN_TO_BITMASK(v, s) \
    ((v) == 0 ? (v) : (typeof(v))((uint64_t)-1 << ((s) * CHAR_BIT - (v))))

struct tpk_acl_rule_data {
    uint32_t category_mask;
    int32_t priority;
    uint32_t userdata;
};

#define TPK_ACL_RULE_DEF(name, fld_num)     \
    struct name {                           \
        struct tpk_acl_rule_data data;      \
        struct tpk_acl_field field[fld_num]; \
    }

#ifdef __cplusplus
TPK_ACL_RULE_DEF(tpk_acl_rule, 1);
#define TPK_ACL_RULE_SZ(fld_num) \
    (offsetof(struct tpk_acl_rule, field) + sizeof(struct tpk_acl_field) * (fld_num))
#else
TPK_ACL_RULE_DEF(tpk_acl_rule, );
#define TPK_ACL_RULE_SZ(fld_num) \
    (sizeof(struct tpk_acl_rule) + sizeof(struct tpk_acl_field) * (fld_num))
#endif

struct tpk_acl_param {
    const char *name; /**< truncated to TPK_ACL_NAMESIZE - 1 */
    int socket_id;
    uint32_t rule_size;
    uint32_t max_rule_num;
};

enum tpk_acl_classify_alg {
    TPK_ACL_CLASSIFY_DEFAULT = 0,
    TPK_ACL_CLASSIFY_SCALAR = 1,
    TPK_ACL_CLASSIFY_SSE = 2, /**< needs SSE4.2 here */
    TPK_ACL_CLASSIFY_AVX2 = 3,
    TPK_ACL_CLASSIFY_NEON = 4,
    TPK_ACL_CLASSIFY_ALTIVEC = 5, /**< -ENOTSUP */
    TPK_ACL_CLASSIFY_AVX512X16 = 6,
    TPK_ACL_CLASSIFY_AVX512X32 = 7
};

struct tpk_acl_ctx;

/** NULL and rte_errno: EINVAL, ENOMEM. Returns the context of that name if it exists, as rte_acl does. */
struct tpk_acl_ctx *tpk_acl_create(const struct tpk_acl_param *param);
/** NULL and rte_errno ENOENT. */
struct tpk_acl_ctx *tpk_acl_find_existing(const char *name);
void tpk_acl_free(struct tpk_acl_ctx *ctx);
/** 0; -EINVAL: a rule's categories or priority; -ENOMEM: more than max_rule_num. */
int tpk_acl_add_rules(struct tpk_acl_ctx *ctx, const struct tpk_acl_rule *rules, uint32_t num);
void tpk_acl_reset_rules(struct tpk_acl_ctx *ctx);
/** 0, -EINVAL (also: no rule of these categories), -ENOMEM, -ERANGE (max_size), -ENOTSUP (the layout). On failure the
    previous build stays. */
int tpk_acl_build(struct tpk_acl_ctx *ctx, const struct tpk_acl_config *cfg);
void tpk_acl_reset(struct tpk_acl_ctx *ctx);
/** 0; -EINVAL: categories is not 0 (no operation), 1 or a multiple of 4. Reads only the fields' bytes. */
int tpk_acl_classify(const struct tpk_acl_ctx *ctx, const uint8_t **data, uint32_t *results,
                     uint32_t num, uint32_t categories);
int tpk_acl_classify_alg(const struct tpk_acl_ctx *ctx, const uint8_t **data, uint32_t *results,
                         uint32_t num, uint32_t categories, enum tpk_acl_classify_alg alg);
/** 0; -EINVAL; -ENOTSUP: the CPU or the SIMD width does not permit it. */
int tpk_acl_set_ctx_classify(struct tpk_acl_ctx *ctx, enum tpk_acl_classify_alg alg);
void tpk_acl_dump(const struct tpk_acl_ctx *ctx);
void tpk_acl_list_dump(void);

#ifdef __cplusplus
}
#endif

#endif /* TURNPIKE_TPK_ACL_H */
