// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/route_table.hpp"

#include "fib/fib_dpdk.hpp"

namespace turnpike::datapath {
namespace {

constexpr int any_socket = -1;

template <class Fib>
result<void> create_into(std::unique_ptr<Fib>& fib, const char* name, rcu::defer_free defer_free) {
    fib::config c = fib::eal_config(name, any_socket);
    c.max_routes = route_table::max_routes;
    c.next_hop_bytes = 4;
    c.default_next_hop = next_hop{}.packed();
    c.defer_free = defer_free;
    auto made = Fib::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    fib = std::move(*made);
    return {};
}

}  // namespace

result<std::unique_ptr<route_table>> route_table::create(rcu::defer_free defer_free) {
    std::unique_ptr<route_table> t(new route_table());
    if (auto made = create_into(t->v4_, "routes of IPv4", defer_free); !made)
        return tl::unexpected<error>(made.error());
    if (auto made = create_into(t->v6_, "routes of IPv6", defer_free); !made)
        return tl::unexpected<error>(made.error());
    return t;
}

result<void> route_table::add(const ip_prefix& to, next_hop hop) {
    return to.address.v6 ? v6_->add(to.address.bytes, to.length, hop.packed())
                         : v4_->add(to.address.v4(), to.length, hop.packed());
}

result<void> route_table::remove(const ip_prefix& to) {
    return to.address.v6 ? v6_->remove(to.address.bytes, to.length)
                         : v4_->remove(to.address.v4(), to.length);
}

std::optional<next_hop> route_table::get(const ip_prefix& to) const {
    const auto hop = to.address.v6 ? v6_->get(to.address.bytes, to.length)
                                   : v4_->get(to.address.v4(), to.length);
    if (!hop) return std::nullopt;
    return next_hop::unpack(*hop);
}

next_hop route_table::lookup(const ip_address& destination) const noexcept {
    uint64_t hop = 0;
    if (destination.v6) {
        lookup6(&destination.bytes, &hop, 1);
    } else {
        const uint32_t address = destination.v4();
        lookup4(&address, &hop, 1);
    }
    return next_hop::unpack(hop);
}

}  // namespace turnpike::datapath
