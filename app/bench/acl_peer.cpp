// SPDX-License-Identifier: BSD-3-Clause
#include "acl_peer.hpp"

#include <rte_acl.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <bit>
#include <cstring>

namespace turnpike::bench {
namespace {

/// Addresses as 4-byte words, then the ports; rte_acl requires the protocol as the first field.
unsigned address_words(acl::family kind) { return kind == acl::family::ipv4 ? 1 : 4; }

rte_acl_config layout_of(acl::family kind, unsigned categories, size_t max_size) {
    rte_acl_config c{};
    const unsigned words = address_words(kind);
    const auto put = [&c](uint8_t type, uint8_t size, unsigned input, size_t offset) {
        const auto i = static_cast<uint8_t>(c.num_fields++);
        c.defs[i] = {type, size, i, static_cast<uint8_t>(input), static_cast<uint32_t>(offset)};
    };
    put(RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 8 * words + 4);
    for (unsigned w = 0; w < 2 * words; ++w) put(RTE_ACL_FIELD_TYPE_MASK, 4, 1 + w, 4 * w);
    put(RTE_ACL_FIELD_TYPE_RANGE, 2, 1 + 2 * words, 8 * words);
    put(RTE_ACL_FIELD_TYPE_RANGE, 2, 1 + 2 * words, 8 * words + 2);
    c.num_categories = categories;
    c.max_size = max_size;
    return c;
}

constexpr unsigned max_fields = 11;
RTE_ACL_RULE_DEF(peer_rule, max_fields);

peer_rule rule_of(const acl::rule& r, acl::family kind) {
    peer_rule out{};
    out.data.category_mask = r.categories;
    out.data.priority = static_cast<int32_t>(r.priority);
    out.data.userdata = r.user_data;
    unsigned i = 0;
    out.field[i].value.u8 = r.protocol.value;
    out.field[i++].mask_range.u8 = r.protocol.mask;
    for (const acl::address_match* a : {&r.source, &r.destination})
        for (unsigned w = 0; w < address_words(kind); ++w) {
            out.field[i].value.u32 = load_be<uint32_t>(&a->value[4 * w]);
            out.field[i++].mask_range.u32 =
                static_cast<uint32_t>(std::popcount(load_be<uint32_t>(&a->mask[4 * w])));
        }
    for (const acl::port_range* p : {&r.source_port, &r.destination_port}) {
        out.field[i].value.u16 = p->first;
        out.field[i++].mask_range.u16 = p->last;
    }
    return out;
}

uint64_t heap_bytes() {
    uint64_t bytes = 0;
    for (int socket = 0; socket < RTE_MAX_NUMA_NODES; ++socket) {
        rte_malloc_socket_stats s;
        if (rte_malloc_get_socket_stats(socket, &s) == 0) bytes += s.heap_allocsz_bytes;
    }
    return bytes;
}

}  // namespace

acl_peer build_peer(const rule_set& set, unsigned categories, size_t max_size) {
    acl_peer peer;
    peer.name = max_size == 0 ? "rte_acl" : "rte_acl_8MB";
    const uint64_t before = heap_bytes();
    const std::string name = peer.name + std::to_string(categories);
    const rte_acl_param param{name.c_str(), SOCKET_ID_ANY, RTE_ACL_RULE_SZ(max_fields),
                              static_cast<uint32_t>(set.rules.size())};
    peer.context.reset(rte_acl_create(&param), rte_acl_free);
    if (peer.context == nullptr) {
        peer.why_not = std::string("rte_acl_create: ") + rte_strerror(rte_errno);
        return peer;
    }
    for (const acl::rule& r : set.rules) {
        const peer_rule rule = rule_of(r, set.kind);
        rte_acl_add_rules(peer.context.get(), reinterpret_cast<const rte_acl_rule*>(&rule), 1);
    }
    const rte_acl_config c = layout_of(set.kind, categories, max_size);
    const uint64_t start = rte_rdtsc();
    const int rc = rte_acl_build(peer.context.get(), &c);
    peer.build_ms =
        static_cast<double>(rte_rdtsc() - start) * 1e3 / static_cast<double>(rte_get_tsc_hz());
    peer.bytes = heap_bytes() - before;
    if (rc != 0) {
        peer.why_not = std::string("rte_acl_build: ") + rte_strerror(-rc);
        peer.context.reset();
        return peer;
    }
    const acl_peer::variant all[] = {{"scalar", RTE_ACL_CLASSIFY_SCALAR, 64},
                                     {"sse", RTE_ACL_CLASSIFY_SSE, 128},
                                     {"neon", RTE_ACL_CLASSIFY_NEON, 128},
                                     {"avx2", RTE_ACL_CLASSIFY_AVX2, 256},
                                     {"avx512x16", RTE_ACL_CLASSIFY_AVX512X16, 256},
                                     {"avx512x32", RTE_ACL_CLASSIFY_AVX512X32, 512}};
    for (const auto& w : all)
        if (rte_acl_set_ctx_classify(peer.context.get(),
                                     static_cast<enum rte_acl_classify_alg>(w.algorithm)) == 0)
            peer.variants.push_back({peer.name + " " + w.name, w.algorithm, w.bits});
    return peer;
}

}  // namespace turnpike::bench
