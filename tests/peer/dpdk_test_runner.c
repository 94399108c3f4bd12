/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs what the sources of dpdk-test register (REGISTER_TEST_COMMAND), as TAP; what they print goes to
 * standard error. The arguments are EAL's.
 */
#include <inttypes.h>
#include <rte_eal.h>
#include <stdio.h>
#include <unistd.h>

#include "test.h"

static struct test_commands_list commands = TAILQ_HEAD_INITIALIZER(commands);

void add_test_command(struct test_command* t) { TAILQ_INSERT_TAIL(&commands, t, next); }

static int run_case(const struct unit_test_case* c) {
    if (c->setup != NULL && c->setup() != TEST_SUCCESS) return TEST_FAILED;
    const int result = c->testcase != NULL ? c->testcase() : c->testcase_with_data(c->data);
    if (c->teardown != NULL) c->teardown();
    return result;
}

int unit_test_suite_runner(struct unit_test_suite* suite) {
    int failed = 0;
    if (suite->setup != NULL && suite->setup() != TEST_SUCCESS) return TEST_FAILED;
    for (const struct unit_test_case* c = suite->unit_test_cases;
         c->testcase != NULL || c->testcase_with_data != NULL; ++c) {
        if (!c->enabled) continue;
        const int result = run_case(c);
        printf("# %s: %s: %s\n", suite->suite_name, c->name,
               result == TEST_SUCCESS ? "passed" : "FAILED");
        failed += result != TEST_SUCCESS;
    }
    if (suite->teardown != NULL) suite->teardown();
    return failed == 0 ? TEST_SUCCESS : TEST_FAILED;
}

int main(int argc, char** argv) {
    unsigned int count = 0, failed = 0;
    const struct test_command* t;
    FILE* tap = fdopen(dup(STDOUT_FILENO), "w");
    if (tap == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror("dpdk_test_runner");
        return 1;
    }
    if (rte_eal_init(argc, argv) < 0) {
        fprintf(stderr, "dpdk_test_runner: EAL does not start\n");
        return 1;
    }
    TAILQ_FOREACH(t, &commands, next) {
        const int result = t->callback();
        failed += result != TEST_SUCCESS;
        fprintf(tap, "%s %u - %s\n", result == TEST_SUCCESS ? "ok" : "not ok", ++count, t->command);
    }
    fprintf(tap, "1..%u\n", count);
    fclose(tap);
    rte_eal_cleanup();
    return failed != 0;
}
