// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> a datagram of the kernel's -> messages.
//
// Invariants: nothing outside of the bytes is read (the sanitizers' part), prefixes and weights are
// valid, each refusal has a name, and a second parse gives the same result.
#include <array>
#include <cstring>
#include <vector>

#include "lib/require.hpp"
#include "netlink/parse.hpp"

namespace {

using namespace turnpike;
using namespace turnpike::netlink;

void check_prefix(const ip_prefix& p) { REQUIRE(p.length <= p.address.bits()); }

void check(const content& what) {
    if (const auto* r = std::get_if<route>(&what)) {
        check_prefix(r->to);
        for (const nexthop& h : r->nexthops) REQUIRE(h.weight >= 1);
    }
    if (const auto* a = std::get_if<address>(&what)) check_prefix(a->local);
    if (const auto* n = std::get_if<next_hop>(&what))
        for (const auto& m : n->group) REQUIRE(m.weight >= 1);
    if (const auto* r = std::get_if<rule>(&what)) {
        if (r->from) check_prefix(*r->from);
        if (r->to) check_prefix(*r->to);
    }
    if (const auto* d = std::get_if<done>(&what)) REQUIRE(d->code >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // A copy, whose end the sanitizer knows, as aligned as a socket's buffer.
    std::vector<uint8_t> bytes(data, data + size);
    std::vector<message> once, twice;
    size_t named = 0;
    const size_t refused = parse(
        bytes, [&](message&& m) { once.push_back(std::move(m)); },
        [&](const error& e) { named += !e.text.empty() && !e.object.empty(); });
    REQUIRE(refused == named);
    for (const message& m : once) check(m.what);
    REQUIRE(parse(bytes, [&](message&& m) { twice.push_back(std::move(m)); }) == refused);
    REQUIRE(once == twice);
    return 0;
}
