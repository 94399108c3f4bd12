/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DPDK program in C with lib/acl, lib/fib and lib/hash in place of rte_acl, rte_fib and rte_hash (doc/tables.md): is a packet
 * permitted, where does it go, and is its flow known?
 *   dpdk_tables --no-huge --no-pci -- 10.1.2.3 192.0.2.1 17
 */
#include <arpa/inet.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/tpk_acl.h"
#include "fib/tpk_fib.h"
#include "hash/tpk_hash.h"

/* What the tables look up, in network byte order. */
struct header {
    uint8_t protocol, unused[3];
    uint32_t source, destination;
};

TPK_ACL_RULE_DEF(rule, 3);

static struct tpk_acl_ctx* make_list(void) {
    const struct tpk_acl_param param = {
        .name = "list", .socket_id = SOCKET_ID_ANY, .rule_size = TPK_ACL_RULE_SZ(3), .max_rule_num = 8};
    const struct tpk_acl_config layout = {
        .num_categories = 1,
        .num_fields = 3,
        .defs = {{TPK_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct header, protocol)},
                 {TPK_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(struct header, source)},
                 {TPK_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(struct header, destination)}}};
    /* UDP from 10.0.0.0/8 to anywhere; user data 0 would be "no rule". */
    const struct rule udp = {.data = {.category_mask = 1, .priority = 1, .userdata = 1},
                             .field = {{{.u8 = 17}, {.u8 = 0xff}},
                                       {{.u32 = 0x0a000000}, {.u32 = 8}},
                                       {{.u32 = 0}, {.u32 = 0}}}};
    struct tpk_acl_ctx* list = tpk_acl_create(&param);
    if (list == NULL || tpk_acl_add_rules(list, (const struct tpk_acl_rule*)&udp, 1) != 0 ||
        tpk_acl_build(list, &layout) != 0)
        return NULL;
    return list;
}

static struct tpk_fib* make_routes(void) {
    struct tpk_fib_conf conf = {.type = TPK_FIB_DIR24_8, .max_routes = 1000};
    struct tpk_fib* routes;
    conf.dir24_8.nh_sz = TPK_FIB_DIR24_8_4B;
    conf.dir24_8.num_tbl8 = 256;
    routes = tpk_fib_create("routes", SOCKET_ID_ANY, &conf);
    if (routes == NULL || tpk_fib_add(routes, 0xc0000200, 24, 1) != 0 || /* 192.0.2.0/24 */
        tpk_fib_add(routes, 0xc0000201, 32, 2) != 0)
        return NULL;
    return routes;
}

static struct tpk_hash* make_flows(void) {
    const struct tpk_hash_parameters param = {.name = "flows",
                                              .entries = 1024,
                                              .key_len = sizeof(struct header),
                                              .socket_id = SOCKET_ID_ANY};
    return tpk_hash_create(&param);
}

static int failed(const char* what) {
    fprintf(stderr, "dpdk_tables: %s\n", what);
    return 1;
}

int main(int argc, char** argv) {
    struct header h = {0};
    struct tpk_acl_ctx* list;
    struct tpk_fib* routes;
    struct tpk_hash* flows;
    const uint8_t* burst[1] = {(const uint8_t*)&h};
    uint32_t rules[1], addresses[1];
    uint64_t next_hops[1];
    const int used = rte_eal_init(argc, argv);

    if (used < 0) return failed("EAL does not start");
    argc -= used, argv += used;
    if (argc != 4 || inet_pton(AF_INET, argv[1], &h.source) != 1 ||
        inet_pton(AF_INET, argv[2], &h.destination) != 1)
        return failed("[EAL options] -- SOURCE DESTINATION PROTOCOL");
    h.protocol = (uint8_t)atoi(argv[3]);
    list = make_list(), routes = make_routes(), flows = make_flows();
    if (list == NULL || routes == NULL || flows == NULL) return failed("no memory for the tables");

    addresses[0] = ntohl(h.destination);
    tpk_acl_classify(list, burst, rules, 1, 1);
    tpk_fib_lookup_bulk(routes, addresses, next_hops, 1);
    if (tpk_hash_lookup(flows, &h) >= 0 || tpk_hash_add_key(flows, &h) < 0)
        return failed("the flow is known already, or there is no room for it");
    printf("rule %u, next hop %lu, flow %d\n", rules[0], (unsigned long)next_hops[0],
           tpk_hash_lookup(flows, &h));
    tpk_acl_free(list);
    tpk_fib_free(routes);
    tpk_hash_free(flows);
    rte_eal_cleanup();
    return 0;
}
