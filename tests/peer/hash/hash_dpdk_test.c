/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of DPDK's test_hash.c that are about the table, each a test by its own name, in DPDK's order
 * (some change what the next ones use). What does not map to tpk_hash.h is compiled and not run:
 *   test_hash_rcu_qsbr_add, _dq_mode, _sync_mode   there is no tpk_hash_rcu_qsbr_add: readers need no RCU
 *   test_fbk_hash_find_existing, fbk_hash_unit_test   rte_fbk_hash is another table
 *   run_hash_func_tests, test_crc32_hash_alg_equiv    hash functions of DPDK, which we do not take
 */
#include <rte_rcu_qsbr.h>

#include "test.h"
#undef REGISTER_TEST_COMMAND
#define REGISTER_TEST_COMMAND(command, function)

#include "tpk_hash.h"

enum tpk_hash_qsbr_mode { TPK_HASH_QSBR_MODE_DQ, TPK_HASH_QSBR_MODE_SYNC };
struct tpk_hash_rcu_config {
    struct rte_rcu_qsbr* v;
    enum tpk_hash_qsbr_mode mode;
    uint32_t dq_size;
};
int tpk_hash_rcu_qsbr_add(struct tpk_hash* h, struct tpk_hash_rcu_config* config); /* nowhere defined */

#include "test_hash_renamed.h"

#define TABLE_TEST(function)                                                             \
    static struct test_command command_##function = {.command = #function, .callback = function}; \
    RTE_INIT(add_##function) { add_test_command(&command_##function); }

static int utilization(void) { return test_average_table_utilization(0); }
static int iteration(void) { return test_hash_iteration(0); }
static int utilization_ext_table(void) { return test_average_table_utilization(1); }
static int iteration_ext_table(void) { return test_hash_iteration(1); }

TABLE_TEST(test_add_delete)
TABLE_TEST(test_hash_add_delete_jhash2)
TABLE_TEST(test_hash_add_delete_2_jhash2)
TABLE_TEST(test_hash_add_delete_jhash_1word)
TABLE_TEST(test_hash_add_delete_jhash_2word)
TABLE_TEST(test_hash_add_delete_jhash_3word)
TABLE_TEST(test_hash_get_key_with_position)
TABLE_TEST(test_hash_find_existing)
TABLE_TEST(test_add_update_delete)
TABLE_TEST(test_add_update_delete_free)
TABLE_TEST(test_add_delete_free_lf)
TABLE_TEST(test_five_keys)
TABLE_TEST(test_full_bucket)
TABLE_TEST(test_extendable_bucket)
TABLE_TEST(test_hash_creation_with_bad_parameters)
TABLE_TEST(test_hash_creation_with_good_parameters)
TABLE_TEST(utilization)
TABLE_TEST(iteration)
TABLE_TEST(utilization_ext_table)
TABLE_TEST(iteration_ext_table)
