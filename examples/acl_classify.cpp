// SPDX-License-Identifier: BSD-3-Clause
// Packet classification in forty lines: rules from a file of ClassBench's form, a header, and why it
// got its answer. No EAL needed.
//   acl_classify RULES 10.1.2.3 192.0.2.1 1234 80 6
#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>

#include "acl/acl.hpp"
#include "acl/rule_file.hpp"

namespace acl = turnpike::acl;

static int failed(const turnpike::error& e) {
    return std::fprintf(stderr, "%s\n", e.message().c_str()), 1;
}

int main(int argc, char** argv) {
    if (argc != 7) return std::fprintf(stderr, "acl_classify RULES SRC DST SPORT DPORT PROTO\n"), 2;
    const auto file = acl::read_rules(argv[1]);
    if (!file) return failed(file.error());
    auto table = acl::classifier4::create({.name = "example"});
    if (!table) return failed(table.error());
    if (auto ok = (*table)->build(file->rules); !ok) return failed(ok.error());

    acl::key4 key{};
    if (inet_pton(AF_INET, argv[2], key.source.data()) != 1 ||
        inet_pton(AF_INET, argv[3], key.destination.data()) != 1)
        return std::fprintf(stderr, "not an IPv4 address\n"), 2;
    key.source_port = static_cast<uint16_t>(std::atoi(argv[4]));
    key.destination_port = static_cast<uint16_t>(std::atoi(argv[5]));
    key.protocol = static_cast<uint8_t>(std::atoi(argv[6]));

    const acl::key4* burst[] = {&key};
    uint32_t result[1];
    (*table)->classify(burst, result);
    const auto why = (*table)->explain(key);
    if (!why.winner) return std::printf("no rule matches\n"), 0;
    std::printf("user data %u: the rule of line %u; %zu more match\n", result[0],
                file->lines[*why.winner], why.others.size());
}
