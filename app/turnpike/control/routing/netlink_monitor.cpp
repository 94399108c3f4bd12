// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/netlink_monitor.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "netlink/parse.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

using part_kind = sources::netlink_rib::dump_part::kind;

constexpr uint64_t again_ms = 1000;  ///< minimum interval of repeated dumps
constexpr unsigned max_waits = 3;

uint16_t request_of(part_kind what) noexcept {
    switch (what) {
        case part_kind::links:
            return RTM_GETLINK;
        case part_kind::addresses:
            return RTM_GETADDR;
        case part_kind::neighbours:
            return RTM_GETNEIGH;
        case part_kind::next_hops:
            return RTM_GETNEXTHOP;
        case part_kind::routes:
            break;
    }
    return RTM_GETROUTE;
}

uint8_t family_of(const sources::netlink_rib::dump_part& p) noexcept {
    if (p.what != part_kind::neighbours && p.what != part_kind::routes) return AF_UNSPEC;
    return p.v6 ? AF_INET6 : AF_INET;
}

/// The errors of a kernel that has no such objects: next-hop objects, IPv6, the table, the interface.
bool means_none(int code) noexcept {
    return code == EOPNOTSUPP || code == EAFNOSUPPORT || code == ENOENT || code == ENODEV;
}

}  // namespace

std::span<const unsigned> netlink_monitor::groups() noexcept {
    static constexpr unsigned all[] = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                       RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,  RTNLGRP_NEXTHOP,
                                       RTNLGRP_NEIGH};
    return all;
}

uint64_t netlink_monitor::steady_ns() noexcept {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                 std::chrono::nanoseconds(1));
}

netlink_monitor::netlink_monitor(netlink::link_socket socket, sources::netlink_rib::followed ours,
                                 clock now_ns)
    : socket_(std::move(socket)),
      ours_(std::move(ours)),
      known_(ours_),
      now_ns_(std::move(now_ns)),
      buffer_(netlink::link_socket::datagram_bytes) {
    want_all();
    ask_next(0);
}

/// A part that is in progress may be wanted again.
void netlink_monitor::want(const dump_part& p) {
    const bool is_first_new = (phase_ == phase::idle && !repeats_) || pending_.empty();
    const auto waiting = pending_.begin() + (is_first_new ? 0 : 1);
    if (std::find(waiting, pending_.end(), p) == pending_.end()) pending_.push_back(p);
}

void netlink_monitor::want_routes(uint32_t table) {
    for (const bool v6 : {false, true}) want({part_kind::routes, v6, table});
}

/// In this order: each part may refer to objects of an earlier one.
void netlink_monitor::want_all() {
    pending_.clear();
    phase_ = phase::idle;
    repeats_ = false;
    is_whole_ = true;
    want({part_kind::links});
    want({part_kind::addresses});
    for (const bool v6 : {false, true}) want({part_kind::neighbours, v6});
    want({part_kind::next_hops});
    want_routes(RT_TABLE_LOCAL);
    want_routes(RT_TABLE_MAIN);
    for (const auto& [table, vrf] : ours_.vrfs) want_routes(table);
}

/// Out of memory: the RIB is created anew, as if notifications were lost.
template <class Call>
auto netlink_monitor::change_rib(const Call& call) {
    try {
        if (is_inconsistent_) {
            known_ = sources::netlink_rib(ours_);
            has_all_ = is_inconsistent_ = false;
            is_recreated_ = true;
        }
        return call();
    } catch (const std::bad_alloc&) {
        is_inconsistent_ = true;
        phase_ = phase::idle;  // the end of a reply may be lost, too
        lost();
        throw;
    }
}

void netlink_monitor::set_ours(sources::netlink_rib::followed ours) {
    if (ours != ours_) change_rib([&] { change_ours(std::move(ours)); });
}

void netlink_monitor::change_ours(sources::netlink_rib::followed ours) {
    const auto was = std::exchange(ours_, std::move(ours));
    known_.set_ours(ours_);
    for (const auto& [index, name] : ours_.interfaces) {
        const auto before = was.interfaces.find(index);
        const bool same_ra = was.accept_ra.contains(index) == ours_.accept_ra.contains(index);
        if (before != was.interfaces.end() && before->second == name && same_ra) continue;
        want({part_kind::addresses, false, index});
        for (const bool v6 : {false, true}) want({part_kind::neighbours, v6, index});
    }
    for (const auto& [table, vrf] : ours_.vrfs) {
        const auto before = was.vrfs.find(table);
        if (before == was.vrfs.end() || before->second != vrf) want_routes(table);
    }
}

void netlink_monitor::forget_address(uint32_t interface, const ip_prefix& a) {
    change_rib([&] {
        known_.apply({.what = netlink::address{.gone = true, .interface = interface, .local = a}});
    });
}

bool netlink_monitor::may_ask(uint64_t now_ms) const noexcept {
    return phase_ == phase::idle && is_drained_ && now_ms >= may_ask_ms_ &&
           (all_again_ || !pending_.empty());
}

/// Whether the kernel may list routes that it is about to flush: not for ever, beside steady changes.
bool netlink_monitor::must_wait() const noexcept {
    return pending_.front().what == part_kind::routes && !is_flushed_ && waits_ < max_waits;
}

/// The part to ask for.
const netlink_monitor::dump_part& netlink_monitor::next_part() {
    if (std::exchange(all_again_, false)) want_all();
    if (!repeats_ && must_wait()) {
        ++waits_;
        pending_.insert(pending_.begin(), {part_kind::links});
    }
    return pending_.front();
}

/// sequence  none: the kernel refused the request
void netlink_monitor::asked(std::optional<uint32_t> sequence, uint64_t now_ms) {
    if (!sequence) {
        may_ask_ms_ = now_ms + again_ms;
        return;
    }
    sequence_ = *sequence;
    interrupted_ = false;
    is_flushed_ |= pending_.front().what == part_kind::links;
    known_.begin_part(pending_.front());
    phase_ = phase::asked;
}

void netlink_monitor::ask_next(uint64_t now_ms) {
    if (!may_ask(now_ms)) return;
    const dump_part& p = next_part();
    const auto sequence = socket_.ask(request_of(p.what), family_of(p), p.of);
    asked(sequence ? std::optional(*sequence) : std::nullopt, now_ms);
}

bool netlink_monitor::wants_read(uint64_t now_ms) const noexcept {
    if (!is_read_beside_ || is_being_read_) return false;
    if (phase_ == phase::asked) return read_.size() <= socket_read::max_datagrams / 2;
    return may_ask(now_ms) && read_.empty();  // the datagrams may contain a loss
}

std::optional<netlink_monitor::socket_read> netlink_monitor::plan_read(uint64_t now_ms) {
    if (!wants_read(now_ms)) return std::nullopt;
    socket_read out;
    if (phase_ == phase::idle) {
        const dump_part& p = next_part();
        out.asks = true;
        out.type = request_of(p.what);
        out.family = family_of(p);
        out.of = p.of;
    }
    is_being_read_ = true;
    return out;
}

/// Out of memory: datagrams that are received and not stored count as lost.
void netlink_monitor::read(socket_read& r) noexcept {
    r.is_done = true;
    try {
        if (r.asks) {
            const auto sequence = socket_.ask(r.type, r.family, r.of);
            if (!sequence) return;
            r.sequence = *sequence;
        }
        std::vector<uint8_t> buffer(netlink::link_socket::datagram_bytes);
        for (size_t bytes = 0;
             r.datagrams.size() < socket_read::max_datagrams && bytes < socket_read::max_bytes;) {
            socket_read::datagram& to = r.datagrams.emplace_back();
            to.is = socket_read::datagram::lost;
            const auto got = socket_.receive(buffer);
            if (!got) continue;
            if (*got == 0) {
                to.is = socket_read::datagram::drained;
                return;
            }
            to.is = socket_read::datagram::not_stored;
            to.bytes.assign(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
            to.is = socket_read::datagram::messages;
            bytes += *got;
        }
    } catch (const std::exception&) {
    }
}

void netlink_monitor::adopt(socket_read&& r, uint64_t now_ms) {
    is_being_read_ = false;
    if (!r.is_done) return;
    if (r.asks) asked(r.sequence, now_ms);
    for (auto& one : r.datagrams) read_.push_back(std::move(one));
    has_more_ = true;
}

void netlink_monitor::apply(const netlink::message& m) {
    ++numbers_.messages;
    if (std::holds_alternative<netlink::overrun>(m.what)) return lost();
    // A notification has the port ID and the sequence number of a daemon's request.
    const bool answers =
        m.requester == socket_.port_id() && m.sequence == sequence_ && phase_ == phase::asked;
    interrupted_ |= answers && m.interrupted;
    if (const auto* const l = std::get_if<netlink::link>(&m.what))
        link_messages_ += ours_.interfaces.contains(l->index);
    const auto* const end = std::get_if<netlink::done>(&m.what);
    if (end != nullptr) {
        if (answers) end_reply(end->code);
        return;
    }
    const uint64_t silent = known_.silent_changes();
    known_.apply(m);
    if (!m.listed && known_.silent_changes() != silent) is_flushed_ = false;
}

void netlink_monitor::end_reply(int code) {
    interrupted_ |= code != 0 && !means_none(code);
    if (!interrupted_ && !all_again_ && must_wait()) return lose_reply();
    const bool ends = known_.end_part(!interrupted_ && !all_again_);
    phase_ = ends ? phase::sweeping : phase::idle;
    repeats_ = !ends;
}

/// The part is asked for again.
void netlink_monitor::lose_reply() {
    static_cast<void>(known_.end_part(false));
    phase_ = phase::idle;
    repeats_ = false;
}

/// All differences are applied.
void netlink_monitor::end_part() {
    phase_ = phase::idle;
    if (interrupted_) return;  // asked again
    ++numbers_.parts;
    if (pending_.front().what == part_kind::routes) waits_ = 0;
    pending_.erase(pending_.begin());
    if (!pending_.empty() || all_again_ || !std::exchange(is_whole_, false)) return;
    ++numbers_.whole;
    has_all_ = true;
}

/// The kernel discards notifications, without another error, until the queue is empty (NETLINK_S_CONGESTED): a dump
/// that began before that would miss changes.
void netlink_monitor::lost() {
    ++numbers_.overruns;
    all_again_ = true;
    is_drained_ = false;
    if (loss_lines_.allow(now_ms_))
        observe::log(observe::log_level::notice,
                     "netlink notifications were lost; the kernel's state is dumped again");
}

void netlink_monitor::parse(std::span<const uint8_t> datagram) {
    numbers_.refused += netlink::parse(
        datagram, [&](netlink::message&& m) { apply(m); },
        [this](const error& why) {
            if (refused_lines_.allow(now_ms_))
                observe::log(observe::log_level::error, why.message());
        });
}

netlink_monitor::next_datagram netlink_monitor::receive_datagram() {
    if (!read_.empty()) {
        const socket_read::datagram d = std::move(read_.front());
        read_.pop_front();
        if (d.is == socket_read::datagram::not_stored && phase_ == phase::asked) lose_reply();
        if (d.is == socket_read::datagram::lost || d.is == socket_read::datagram::not_stored)
            return next_datagram::lost;
        if (d.is == socket_read::datagram::drained)
            is_drained_ = true;
        else
            parse(d.bytes);
        return next_datagram::parsed;
    }
    if (is_being_read_ || (is_read_beside_ && phase_ == phase::asked))
        return next_datagram::not_here;
    const auto got = socket_.receive(buffer_);
    if (!got) return next_datagram::lost;
    if (*got == 0) return next_datagram::none;
    parse(std::span(buffer_).first(*got));
    return next_datagram::parsed;
}

bool netlink_monitor::follow(uint64_t now_ms) {
    return change_rib([&] { return follow_messages(now_ms); });
}

bool netlink_monitor::follow_messages(uint64_t now_ms) {
    now_ms_ = now_ms;
    loss_lines_.flush(now_ms);
    refused_lines_.flush(now_ms);
    const uint64_t until = now_ns_() + budget_ns;
    const auto may_go_on = [&] { return now_ns_() < until; };
    has_more_ = true;
    if (!known_.settle(may_go_on)) return consume_changed();
    for (;;) {
        for (const uint32_t table : known_.consume_doubtful())
            want({part_kind::routes, true, table});
        if (phase_ == phase::sweeping) {
            if (!known_.sweep(may_go_on)) break;
            const bool repeats = interrupted_ || all_again_;
            end_part();
            if (repeats) may_ask_ms_ = now_ms + again_ms;
        }
        if (!is_read_beside_) ask_next(now_ms);
        if (!may_go_on()) break;
        const next_datagram next = receive_datagram();
        if (next == next_datagram::lost) lost();
        if (next == next_datagram::none && !std::exchange(is_drained_, true)) continue;
        if (next == next_datagram::none || next == next_datagram::not_here) {
            has_more_ = !known_.settle(may_go_on);
            return consume_changed();
        }
    }
    return consume_changed();
}

bool netlink_monitor::consume_changed() noexcept {
    if (!has_all_) return false;
    const bool changed = known_.consume_changed();
    return std::exchange(is_recreated_, false) || changed;
}

netlink_monitor::numbers netlink_monitor::counted() const noexcept {
    numbers out = numbers_;
    out.asking = !pending_.empty() || all_again_;
    return out;
}

}  // namespace turnpike::control
