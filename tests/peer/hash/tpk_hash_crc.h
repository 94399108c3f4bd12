/* SPDX-License-Identifier: BSD-3-Clause */
/* The CRC functions are not the table's, and stay DPDK's: rte_hash_crc under the renamed name. */
#include <rte_hash_crc.h>

#define tpk_hash_crc rte_hash_crc
#define tpk_hash_crc_set_alg rte_hash_crc_set_alg
