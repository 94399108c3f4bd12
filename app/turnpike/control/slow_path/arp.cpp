// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/arp.hpp"

#include <algorithm>
#include <array>

#include "control/slow_path/own_source.hpp"
#include "packet/arp.hpp"

namespace turnpike::control::slow_path {

using datapath::drop_reason;

namespace {

packet::arp_message message_of(const owned_mbuf& p) {
    return packet::header_at<packet::arp_message>(p.lead().data() + p.about().parsed.l2_bytes);
}

uint64_t sender_of(const owned_mbuf& p) noexcept {
    return message_rate::host_of(
        packet::header_at<packet::ethernet_header>(p.lead().data()).source);
}

bool has(const std::vector<uint32_t>& some, uint32_t address) noexcept {
    return std::find(some.begin(), some.end(), address) != some.end();
}

}  // namespace

std::vector<uint32_t> arp::ours(uint16_t interface) const {
    std::vector<uint32_t> out;
    for (const auto& own : context_.interface(interface).addresses->v4) out.push_back(own.address);
    // The source address of its ARP requests where the interface has no address.
    if (const auto borrowed = out.empty() ? v4_answerer(context_, interface) : std::nullopt)
        out.push_back(*borrowed);
    return out;
}

bool arp::answer(const owned_mbuf& p) {
    const uint16_t in = p.about().in_interface;
    const packet::arp_message message = message_of(p);
    const std::vector<uint32_t> here = ours(in);
    if (packet::check_arp(message, here) != packet::drop_reason::none ||
        message.operation != packet::arp_request || !has(here, message.target_ip) ||
        !rate_.allow(p.about(), sender_of(p), context_.now_ms))
        return false;
    const datapath::interface& on = context_.interface(in);
    std::array<uint8_t, packet::arp_frame_bytes> frame;
    const uint32_t bytes = packet::write_arp_reply(frame, {on.mac, message.target_ip},
                                                   {message.sender_mac, message.sender_ip});
    context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    return true;
}

void arp::handle(owned_mbuf p) {
    const uint16_t in = p.about().in_interface;
    const datapath::interface& on = interface_of(p);
    const packet::arp_message message = message_of(p);
    const std::vector<uint32_t> here = ours(in);
    if (const drop_reason why = datapath::drop_reason_of(packet::check_arp(message, here));
        why != drop_reason::none) {
        // From our own MAC address: a frame that a loop returned. One of extra_macs may be another router's (VRRP).
        if (why == drop_reason::arp_sender_is_us && !on.answers_to(message.sender_mac))
            conflict_(in, ip_address::from_v4(message.sender_ip), message.sender_mac);
        return p.drop(why);
    }

    const uint32_t sender = message.sender_ip, target = message.target_ip;
    const bool for_us = has(here, target);
    const ip_address from = ip_address::from_v4(sender);
    const bool answer =
        message.operation == packet::arp_reply && (for_us || (here.empty() && target == 0));
    // A request between other hosts triggers no reply, so it does not use up a token.
    const bool spends = answer ? !context_.known.asks(in, from) : for_us;
    if (spends && !context_.answered && !rate_.allow(p.about(), sender_of(p), context_.now_ms))
        return p.drop(drop_reason::neighbour_rate);
    if (sender != 0 && context_.may_be_neighbour(in, from)) {
        // RFC 826: an existing entry is updated; the sender of a request for us is learned. A reply
        // confirms.
        if (answer)
            context_.known.confirm(in, from, {.mac = message.sender_mac, .solicited = true},
                                   context_.now_ms);
        else
            context_.known.learn(in, from, message.sender_mac, for_us, context_.now_ms);
    }
    // On interfaces that the kernel has, it also sends requests: replies go to both.
    if (answer) return context_.deliver_or_consume(std::move(p));
    // An address of a macvlan (VRRP), or another that only the kernel has: the kernel answers requests for it, and replies
    // to it are for requests of the kernel.
    if (!for_us && context_.is_kernels(in, ip_address::from_v4(target)))
        return context_.deliver_or_consume(std::move(p));
    if (!for_us || message.operation != packet::arp_request || context_.answered)
        return p.consume();
    const uint32_t bytes =
        packet::write_arp_reply(p.lead(), {on.mac, target}, {message.sender_mac, sender});
    if (bytes == 0) return p.consume();
    context_.out.reply_in_place(on.port);
    p.send(on.out());
}

}  // namespace turnpike::control::slow_path
