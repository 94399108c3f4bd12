/* SPDX-License-Identifier: BSD-3-Clause */
/* What the BPF program and the driver both know: the filter's maps. C, for clang -target bpf. */
#ifndef TURNPIKE_XSK_LAYOUT_H
#define TURNPIKE_XSK_LAYOUT_H

#include <linux/types.h>

/* A bit each in a 64-bit word. */
#define XSK_FILTER_MOST_ENTRIES 64

/* Headers that start further into the frame, and IPv6 extension headers beyond so many, are not looked
 * at: the protocol is then that of the first header not looked at, and the ports are not known. */
#define XSK_FILTER_MOST_HEADER_BYTES 512
#define XSK_FILTER_MOST_EXTENSIONS 8

/* Map `candidates`: which entries a packet can match at all, by its protocol.
 *   0-255    IPv4, by protocol      256-511  IPv6, by upper-layer protocol
 *   512      neither                                                        */
#define XSK_CANDIDATES_IPV6 256
#define XSK_CANDIDATES_NOT_IP 512
#define XSK_CANDIDATES 513

/* Map `entries`. Addresses are in network order, an IPv4 one in the first word with zeros behind;
 * a port of a range is in host order. */
struct xsk_filter_prefix {
    __u32 address[4];
    __u32 mask[4];
};

struct xsk_filter_ports {
    __u16 low;
    __u16 high;
};

enum xsk_filter_flag {
    XSK_FILTER_PORTS = 1 << 0,     /* the ranges hold, of a packet whose ports are known */
    XSK_FILTER_ADDRESSES = 1 << 1, /* the prefixes hold */
};

/* What an entry leaves open is 0-65535 or a mask of zeros. */
struct xsk_filter_entry {
    /* `address` holds for the source or the destination */
    struct xsk_filter_prefix address, source_address, destination_address;
    struct xsk_filter_ports port, source_port, destination_port; /* likewise */
    __u16 ether_type; /* host order, of a candidate that is not IP */
    __u16 flags;
};

#endif
