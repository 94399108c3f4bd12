// SPDX-License-Identifier: BSD-3-Clause
#include "control/netlink_monitor.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>

#include "netlink/parse.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

/// The dumps, in order: each may refer to objects of an earlier one.
struct question {
    uint16_t type;
    uint8_t family;
};
constexpr question questions[] = {{RTM_GETLINK, AF_UNSPEC},    {RTM_GETADDR, AF_UNSPEC},
                                  {RTM_GETNEIGH, AF_INET},     {RTM_GETNEIGH, AF_INET6},
                                  {RTM_GETNEXTHOP, AF_UNSPEC}, {RTM_GETROUTE, AF_INET},
                                  {RTM_GETROUTE, AF_INET6}};
constexpr uint64_t again_ms = 1000;     ///< minimum interval of dumps
constexpr unsigned max_at_once = 4096;  ///< datagrams per iteration of control

}  // namespace

std::span<const unsigned> netlink_monitor::groups() noexcept {
    static constexpr unsigned all[] = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                       RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,  RTNLGRP_NEXTHOP,
                                       RTNLGRP_NEIGH};
    return all;
}

netlink_monitor::netlink_monitor(netlink::link_socket socket, sources::netlink_rib::followed ours)
    : socket_(std::move(socket)),
      ours_(std::move(ours)),
      known_(ours_),
      buffer_(netlink::link_socket::datagram_bytes) {
    begin(0);
}

void netlink_monitor::set_ours(sources::netlink_rib::followed ours) {
    if (ours == ours_) return;
    ours_ = std::move(ours);
    known_.set_ours(ours_);
    if (next_) next_->set_ours(ours_);
    may_begin_ms_ = 0;
    interrupted_ = true;
    if (!next_) next_.emplace(ours_);  // the mirror skipped routes by an interface that is new
}

void netlink_monitor::forget_address(uint32_t interface, const ip_prefix& a) {
    const netlink::message gone{
        .what = netlink::address{.gone = true, .interface = interface, .local = a}};
    known_.take(gone);
    if (next_) next_->take(gone);
}

void netlink_monitor::begin(uint64_t now_ms) {
    next_.emplace(ours_);
    step_ = 0;
    interrupted_ = answered_ = false;
    may_begin_ms_ = now_ms + again_ms;
    ask();
}

void netlink_monitor::ask() {
    const auto asked = socket_.ask(questions[step_].type, questions[step_].family);
    sequence_ = asked ? *asked : 0;
    interrupted_ |= !asked;
}

void netlink_monitor::take(const netlink::message& m) {
    ++numbers_.messages;
    if (std::holds_alternative<netlink::overrun>(m.what)) return lost();
    if (m.sequence == sequence_ && sequence_ != 0) {
        interrupted_ |= m.interrupted;
        answered_ = true;
    }
    const auto* end = std::get_if<netlink::done>(&m.what);
    // Ignore notifications queued before the dump's first reply: the dump includes them, and a
    // later one that reverted them may have been lost.
    if (end == nullptr && next_ && !answered_) return;
    if (end == nullptr) return next_ ? next_->take(m) : known_.take(m);
    if (!next_ || m.sequence != sequence_) return;
    // A kernel without next-hop objects or IPv6 replies with these errors.
    interrupted_ |= end->code != 0 && end->code != EOPNOTSUPP && end->code != EAFNOSUPPORT;
    sequence_ = 0;
    if (interrupted_) return;
    if (++step_ < std::size(questions)) return ask();
    known_ = std::move(*next_);
    next_.reset();
    fresh_ = true;
    ++numbers_.whole;
}

/// Replies that are still queued belong to an abandoned dump.
void netlink_monitor::lost() {
    ++numbers_.overruns;
    interrupted_ = true;
    if (!next_) next_.emplace(ours_);
    observe::log(observe::log_level::notice,
                 "netlink notifications were lost; the kernel's state is dumped again");
}

bool netlink_monitor::follow(uint64_t now_ms) {
    if (!next_ && known_.is_doubtful() && now_ms >= may_begin_ms_) begin(now_ms);
    // Wait for the end of the current dump: the kernel runs one per socket.

    if (next_ && interrupted_ && sequence_ == 0 && now_ms >= may_begin_ms_) begin(now_ms);
    for (unsigned n = 0; n < max_at_once; ++n) {
        const auto got = socket_.receive(buffer_);
        if (!got) {
            lost();
            break;
        }
        if (*got == 0) break;
        numbers_.refused += netlink::parse(
            std::span(buffer_).first(*got), [&](netlink::message&& m) { take(m); },
            [](const error& why) { observe::log(observe::log_level::error, why.message()); });
    }
    if (numbers_.whole == 0) return false;
    const bool changed = known_.take_changed();
    return std::exchange(fresh_, false) || changed;
}

netlink_monitor::numbers netlink_monitor::counted() const noexcept {
    numbers out = numbers_;
    out.asking = next_.has_value();
    return out;
}

}  // namespace turnpike::control
