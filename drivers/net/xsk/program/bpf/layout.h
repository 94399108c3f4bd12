/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of the filter's maps, shared by the BPF program and the driver. C, for clang -target bpf. */
#ifndef TURNPIKE_XSK_LAYOUT_H
#define TURNPIKE_XSK_LAYOUT_H

#include <linux/types.h>

/* Entries are bits of a 64-bit word. */
#define XSK_FILTER_MOST_ENTRIES 64

/* The program parses no header at a higher offset and no more IPv6 extension headers: the protocol is
 * then the first unparsed header's, and the ports are unknown. */
#define XSK_FILTER_MOST_HEADER_BYTES 512
#define XSK_FILTER_MOST_EXTENSIONS 8

/* Map `candidates`: bitmap of the entries that a packet can match, by its protocol.
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
    XSK_FILTER_PORTS = 1 << 0,     /* match the port ranges; a packet must have known ports */
    XSK_FILTER_ADDRESSES = 1 << 1, /* match the prefixes */
};

/* A condition that the entry does not give is 0-65535 or a zero mask. */
struct xsk_filter_entry {
    /* `address` matches the source or the destination */
    struct xsk_filter_prefix address, source_address, destination_address;
    struct xsk_filter_ports port, source_port, destination_port; /* `port`: likewise */
    __u16 ether_type; /* host order; for non-IP entries */
    __u16 flags;
};

#endif
