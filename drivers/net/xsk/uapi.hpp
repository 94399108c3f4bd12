// SPDX-License-Identifier: BSD-3-Clause
// The kernel's AF_XDP interface, including definitions newer than Debian 12's linux/if_xdp.h (6.1).
// The running kernel may be older: sockets probe for each feature.
//
// Source: Documentation/networking/af_xdp.rst; include/uapi/linux/if_xdp.h of Linux 6.18.
#pragma once

#include <linux/if_xdp.h>
#include <sys/socket.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)  // Linux 6.6: multi-buffer frames
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)  // Linux 6.6: descriptor option: the frame continues in the next one
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9  // Linux 6.17: maximum frames per call in copy mode
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69  // Linux 5.11
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
