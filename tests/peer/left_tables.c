/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that leaves its tables, as those of rte_fib, rte_acl and rte_hash may: it ends with exit code 0, after
 * rte_eal_cleanup(), which unmaps EAL's memory, or while another thread reads. The arguments are EAL's, then "cleanup" or "read".
 */
#include <pthread.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tpk_acl.h"
#include "tpk_fib.h"
#include "tpk_fib6.h"
#include "tpk_hash.h"

TPK_ACL_RULE_DEF(one_field_rule, 1);

static struct tpk_fib* fib;
static struct tpk_fib6* fib6;
static struct tpk_hash* hash;
static struct tpk_acl_ctx* acl;
static const uint64_t key = 7;

static void look_up(void) {
    uint32_t ip = 0x0a000001, result = 0;
    uint8_t ip6[1][TPK_FIB6_IPV6_ADDR_SIZE] = {{0x20, 0x01}};
    uint64_t hop = 0, hop6 = 0;
    void* data = NULL;
    const uint8_t header[4] = {6};
    const uint8_t* headers[1] = {header};
    if (tpk_fib_lookup_bulk(fib, &ip, &hop, 1) != 0 || hop != 3 ||
        tpk_fib6_lookup_bulk(fib6, ip6, &hop6, 1) != 0 || hop6 != 4 ||
        tpk_hash_lookup_data(hash, &key, &data) < 0 || data != &hash ||
        tpk_acl_classify(acl, headers, &result, 1, 1) != 0 || result != 5) {
        fprintf(stderr, "left_tables: a lookup gives something else\n");
        _Exit(1);
    }
}

static void* reader(void* unused) {
    for (;;) look_up();
    return unused;
}

static int make_tables(void) {
    const uint8_t net6[TPK_FIB6_IPV6_ADDR_SIZE] = {0x20, 0x01};
    struct tpk_fib_conf of_fib = {.type = TPK_FIB_DIR24_8, .max_routes = 100};
    struct tpk_fib6_conf of_fib6 = {.type = TPK_FIB6_TRIE, .max_routes = 100};
    struct tpk_hash_parameters of_hash = {
        .name = "left", .entries = 100, .key_len = sizeof key, .socket_id = SOCKET_ID_ANY};
    struct tpk_acl_param of_acl = {.name = "left",
                                   .socket_id = SOCKET_ID_ANY,
                                   .rule_size = TPK_ACL_RULE_SZ(1),
                                   .max_rule_num = 10};
    struct tpk_acl_config fields = {.num_categories = 1,
                                    .num_fields = 1,
                                    .defs = {{.type = TPK_ACL_FIELD_TYPE_BITMASK, .size = 1}}};
    struct one_field_rule rule = {.data = {.category_mask = 1, .priority = 1, .userdata = 5}};

    of_fib.dir24_8.nh_sz = TPK_FIB_DIR24_8_4B;
    of_fib.dir24_8.num_tbl8 = 100;
    of_fib6.trie.nh_sz = TPK_FIB6_TRIE_4B;
    of_fib6.trie.num_tbl8 = 100;
    rule.field[0].value.u8 = 6;
    rule.field[0].mask_range.u8 = 0xff;
    fib = tpk_fib_create("left", SOCKET_ID_ANY, &of_fib);
    fib6 = tpk_fib6_create("left", SOCKET_ID_ANY, &of_fib6);
    hash = tpk_hash_create(&of_hash);
    acl = tpk_acl_create(&of_acl);
    return fib != NULL && fib6 != NULL && hash != NULL && acl != NULL &&
           tpk_fib_add(fib, 0x0a000000, 8, 3) == 0 && tpk_fib6_add(fib6, net6, 16, 4) == 0 &&
           tpk_hash_add_key_data(hash, &key, &hash) == 0 &&
           tpk_acl_add_rules(acl, (const struct tpk_acl_rule*)&rule, 1) == 0 &&
           tpk_acl_build(acl, &fields) == 0;
}

int main(int argc, char** argv) {
    pthread_t thread;
    const int used = rte_eal_init(argc, argv);
    if (used < 0 || used + 1 >= argc || !make_tables()) {
        fprintf(stderr, "left_tables: EAL does not start, or has no memory for tables\n");
        return 1;
    }
    look_up();
    if (strcmp(argv[used + 1], "cleanup") == 0)
        rte_eal_cleanup();
    else if (pthread_create(&thread, NULL, reader, NULL) != 0)
        return 1;
    return 0;
}
