// SPDX-License-Identifier: BSD-3-Clause
#include "state/route_table.hpp"

#include "base/byte_order.hpp"

namespace turnpike::state {

packed6::key_type packed6::key_of(const ip_prefix& p) noexcept {
    return {load_be<uint64_t>(p.address.bytes.data()),
            load_be<uint64_t>(p.address.bytes.data() + 8), uint64_t{p.length} << 32};
}

route packed6::unpacked() const noexcept {
    route r{{ip_address{.v6 = true}, static_cast<uint8_t>(key_.length >> 32)}, target()};
    store_be(r.to.address.bytes.data(), key_.high);
    store_be(r.to.address.bytes.data() + 8, key_.low);
    return r;
}

/// Advances to the first existing route.
void route_table::cursor::settle() noexcept {
    if (!v6_) {
        four_ = in_->four_.settled(four_);
        if (!in_->four_.is_end(four_)) {
            part4_ = in_->four_.part_at(four_);
            return unpack();
        }
        v6_ = true;
    }
    six_ = in_->six_.settled(six_);
    if (in_->six_.is_end(six_)) {
        *this = cursor();
        return;
    }
    part6_ = in_->six_.part_at(six_);
    unpack();
}

route_table::cursor route_table::lower_bound(const ip_prefix& to) const noexcept {
    cursor c;
    c.in_ = this;
    c.v6_ = to.address.v6;
    if (c.v6_) {
        c.four_ = four_.end();
        c.six_ = six_.lower_bound(packed6::key_of(to));
    } else {
        c.four_ = four_.lower_bound(packed4::key_of(to));
    }
    c.settle();
    return c;
}

namespace {

template <class Packed>
uint32_t target_in(route_parts<Packed>& parts, const ip_prefix& to) noexcept {
    typename route_parts<Packed>::position p;
    const Packed* const there = parts.find(Packed::key_of(to), p);
    return there == nullptr ? route_table::none : there->target();
}

template <class Packed>
uint32_t exchange_in(route_parts<Packed>& parts, const ip_prefix& to, uint32_t target) {
    typename route_parts<Packed>::position p;
    Packed* const there = parts.find(Packed::key_of(to), p);
    const uint32_t was = there == nullptr ? route_table::none : there->target();
    if (there == nullptr) {
        if (target != route_table::none) parts.insert(p, Packed({to, target}));
    } else if (target == route_table::none) {
        parts.erase(p);
    } else {
        there->lead_to(target);
    }
    return was;
}

}  // namespace

uint32_t route_table::target_of(const ip_prefix& to) noexcept {
    return to.address.v6 ? target_in(six_, to) : target_in(four_, to);
}

void route_table::expect(const ip_prefix& to) const noexcept {
    to.address.v6 ? six_.expect(packed6::key_of(to)) : four_.expect(packed4::key_of(to));
}

uint32_t route_table::exchange(const ip_prefix& to, uint32_t target) {
    return to.address.v6 ? exchange_in(six_, to, target) : exchange_in(four_, to, target);
}

void route_table::append(const route& r) {
    r.to.address.v6 ? six_.append(packed6(r)) : four_.append(packed4(r));
}

}  // namespace turnpike::state
