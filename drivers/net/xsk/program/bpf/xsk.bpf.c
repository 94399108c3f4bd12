/* SPDX-License-Identifier: BSD-3-Clause */
/* Redirect each queue's packets to its AF_XDP socket, except packets that match the filter.
 *
 *   frame -> headers (read) -> candidates[family, protocol] -> entries -> XDP_PASS, counted
 *                                     no match -> the socket; XDP_PASS if the queue has no socket
 *
 * Without a filter the verifier removes the filter code: three instructions and a helper call remain. No
 * GPL-only helper is used. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

char _license[] SEC("license") = "BSD-3-Clause";

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 1); /* the loader sets the number of queues */
    __type(key, __u32);
    __type(value, __u32);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, XSK_FILTER_MOST_ENTRIES);
    __type(key, __u32);
    __type(value, __u64);
} kept SEC(".maps");

/* Maps instead of constants: without CAP_PERFMON the verifier rejects variable indices into constants. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XSK_CANDIDATES);
    __type(key, __u32);
    __type(value, __u64);
} candidates SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, XSK_FILTER_MOST_ENTRIES);
    __type(key, __u32);
    __type(value, struct xsk_filter_entry);
} entries SEC(".maps");

/* Set before the program is loaded. */
const volatile __u8 filtering = 0;

enum {
    type_ipv4 = 0x0800,
    type_ipv6 = 0x86dd,
    type_vlan = 0x8100,    /* IEEE 802.1Q */
    type_service = 0x88a8, /* IEEE 802.1ad */
    max_tags = 2,
    hop_by_hop = 0,
    routing = 43,
    fragment = 44,
    destination_options = 60,
    tcp = 6,
    udp = 17,
    sctp = 132,
    udp_lite = 136,
};

struct headers {
    __u32 source[4], destination[4]; /* as in layout.h */
    __u16 ether_type;                /* after the tags */
    __u16 source_port, destination_port;
    bool ports;           /* the ports are known: not truncated, no fragment */
    __u32 candidates_row; /* XSK_CANDIDATES: malformed packet, no field is valid */
};

/* Load `words` 32-bit words at offset `at`; false if the frame or the parsed range ends before. Uses a
 * helper because the first buffer of a multi-buffer frame may end within the headers, and because the
 * verifier permits only constant packet offsets without CAP_PERFMON. */
static __always_inline bool read(struct xdp_md* frame, __u32 at, __u32* into, const __u32 words) {
    return at <= XSK_FILTER_MOST_HEADER_BYTES && bpf_xdp_load_bytes(frame, at, into, 4 * words) == 0;
}

static __always_inline void read_ports(struct xdp_md* frame, struct headers* h, __u8 protocol, __u32 at,
                                       __u32 end) {
    __u32 word;
    if (protocol != tcp && protocol != udp && protocol != sctp && protocol != udp_lite) return;
    if (at + 4 > end || !read(frame, at, &word, 1)) return;
    word = bpf_ntohl(word);
    h->source_port = word >> 16;
    h->destination_port = word;
    h->ports = true;
}

/* RFC 791 section 3.1 */
static __always_inline void read_ipv4(struct xdp_md* frame, struct headers* h, __u32 at) {
    __u32 ip[5];
    if (!read(frame, at, ip, 5)) return;
    const __u32 first = bpf_ntohl(ip[0]);
    const __u32 header_bytes = (first >> 24 & 15) * 4;
    if (first >> 28 != 4 || header_bytes < 20) return;
    const __u8 protocol = bpf_ntohl(ip[2]) >> 16;
    h->candidates_row = protocol;
    h->source[0] = ip[3];
    h->destination[0] = ip[4];
    /* All fragments of a datagram take the same path: ignore the ports of the first fragment too. */
    if ((bpf_ntohl(ip[1]) & 0x3fff) == 0)
        read_ports(frame, h, protocol, at + header_bytes, at + (first & 0xffff));
}

/* RFC 8200 section 4. A fragment's protocol is the Next Header of its fragment header, which is the same
 * in all fragments of a datagram. */
static __always_inline void read_ipv6(struct xdp_md* frame, struct headers* h, __u32 at) {
    __u32 ip[10], extension;
    if (!read(frame, at, ip, 10) || bpf_ntohl(ip[0]) >> 28 != 6) return;
    for (int i = 0; i < 4; ++i) {
        h->source[i] = ip[2 + i];
        h->destination[i] = ip[6 + i];
    }
    const __u32 end = at + 40 + (bpf_ntohl(ip[1]) >> 16);
    __u8 protocol = bpf_ntohl(ip[1]) >> 8;
    at += 40;
    for (int i = 0; i < XSK_FILTER_MOST_EXTENSIONS; ++i) {
        if (protocol != hop_by_hop && protocol != routing && protocol != fragment &&
            protocol != destination_options)
            break;
        if (at + 8 > end || !read(frame, at, &extension, 1)) break;
        const __u32 word = bpf_ntohl(extension);
        const bool part = protocol == fragment && (word & 0xfff9) != 0;
        at += protocol == fragment ? 8 : (word >> 16 & 0xff) * 8 + 8;
        protocol = word >> 24;
        if (part) {
            at = end;
            break;
        }
    }
    h->candidates_row = XSK_CANDIDATES_IPV6 + protocol;
    read_ports(frame, h, protocol, at, end);
}

static __always_inline void read_headers(struct xdp_md* frame, struct headers* h) {
    __u32 at = 12, word;
    if (!read(frame, at, &word, 1)) return;
    __u16 type = bpf_ntohl(word) >> 16;
    for (int tags = 0; tags < max_tags && (type == type_vlan || type == type_service); ++tags) {
        at += 4;
        if (!read(frame, at, &word, 1)) return;
        type = bpf_ntohl(word) >> 16;
    }
    at += 2;
    if (type == type_ipv4) return read_ipv4(frame, h, at);
    if (type == type_ipv6) return read_ipv6(frame, h, at);
    h->ether_type = type;
    h->candidates_row = XSK_CANDIDATES_NOT_IP;
}

static __always_inline bool within(const struct xsk_filter_ports* range, __u16 port) {
    return (__u16)(port - range->low) <= (__u16)(range->high - range->low);
}

static __always_inline bool covers(const struct xsk_filter_prefix* p, const __u32* address) {
    __u32 differ = 0;
    for (int i = 0; i < 4; ++i) differ |= (address[i] & p->mask[i]) ^ p->address[i];
    return differ == 0;
}

static __always_inline bool matches(const struct xsk_filter_entry* e, const struct headers* h) {
    if (h->candidates_row == XSK_CANDIDATES_NOT_IP) return e->ether_type == h->ether_type;
    if (e->flags & XSK_FILTER_PORTS) {
        if (!h->ports) return false;
        if (!within(&e->source_port, h->source_port)) return false;
        if (!within(&e->destination_port, h->destination_port)) return false;
        if (!within(&e->port, h->source_port) && !within(&e->port, h->destination_port)) return false;
    }
    if (e->flags & XSK_FILTER_ADDRESSES) {
        if (!covers(&e->source_address, h->source)) return false;
        if (!covers(&e->destination_address, h->destination)) return false;
        if (!covers(&e->address, h->source) && !covers(&e->address, h->destination)) return false;
    }
    return true;
}

/* Index of the lowest set bit, as the population count of the bits below it: BPF has no instruction for it. clang 19
 * would replace this by a lookup in a table of constants; the empty statement in assembler language prevents it. */
static __always_inline __u32 lowest_bit(__u64 mask) {
    __u64 below = ~mask & (mask - 1);
    asm volatile("" : "+r"(below));
    below = below - (below >> 1 & 0x5555555555555555);
    below = (below & 0x3333333333333333) + (below >> 2 & 0x3333333333333333);
    below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return below * 0x0101010101010101 >> 56;
}

struct search {
    struct headers headers;
    __u64 left; /* candidates not tested yet */
    bool found;
};

/* Test the next candidate; returning 1 ends bpf_loop(). */
static long check_next(__u32 step __attribute__((unused)), struct search* s) {
    if (s->left == 0) return 1;
    const __u32 number = lowest_bit(s->left);
    /* `left - 1` would have other limits in each round, and the verifier check each round separately. */
    s->left &= ~(1ULL << number);
    const struct xsk_filter_entry* entry = bpf_map_lookup_elem(&entries, &number);
    if (!entry || !matches(entry, &s->headers)) return 0;
    __u64* count = bpf_map_lookup_elem(&kept, &number);
    if (count) ++*count; /* per-CPU value */
    s->found = true;
    return 1;
}

static __always_inline bool is_for_kernel(struct xdp_md* frame) {
    struct search s = {.headers = {.candidates_row = XSK_CANDIDATES}};
    read_headers(frame, &s.headers);
    const __u64* row = bpf_map_lookup_elem(&candidates, &s.headers.candidates_row);
    if (!row || *row == 0) return false;
    s.left = *row;
    bpf_loop(XSK_FILTER_MOST_ENTRIES, check_next, &s, 0);
    return s.found;
}

SEC("xdp")
int turnpike_xsk(struct xdp_md* frame) {
    if (filtering && is_for_kernel(frame)) return XDP_PASS;
    return bpf_redirect_map(&sockets, frame->rx_queue_index, XDP_PASS);
}
