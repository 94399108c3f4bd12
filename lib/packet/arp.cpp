// SPDX-License-Identifier: BSD-3-Clause
#include "packet/arp.hpp"

#include "packet/ipv4.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::packet {
namespace {

/// The sender and target addresses are passed by value: they may point into the frame to write.
uint32_t write_arp(std::span<uint8_t> frame, uint16_t operation, const mac_address destination,
                   const arp_host sender, const arp_host target) noexcept {
    if (frame.size() < arp_frame_bytes) return 0;
    write_ethernet(header_at<ethernet_header>(frame.data()), destination, sender.mac,
                   ether_type_arp);
    auto& message = header_at<arp_message>(frame.data() + sizeof(ethernet_header));
    message.hardware_type = arp_hardware_ethernet;
    message.protocol_type = ether_type_ipv4;
    message.hardware_bytes = sizeof(mac_address);
    message.protocol_bytes = sizeof(uint32_t);
    message.operation = operation;
    message.sender_mac = sender.mac;
    message.sender_ip = sender.ip;
    message.target_mac = target.mac;
    message.target_ip = target.ip;
    return arp_frame_bytes;
}

}  // namespace

drop_reason check_arp(const arp_message& message, std::span<const uint32_t> ours) noexcept {
    // RFC 826, packet reception: "Do I have the hardware type", "Do I speak the protocol", and the
    // matching lengths.
    if (message.hardware_type != arp_hardware_ethernet ||
        message.protocol_type != ether_type_ipv4 || message.hardware_bytes != sizeof(mac_address) ||
        message.protocol_bytes != sizeof(uint32_t))
        return drop_reason::arp_format;
    if (message.operation != arp_request && message.operation != arp_reply)
        return drop_reason::arp_operation;
    // RFC 1812 section 3.3.2: a router "MUST not believe any ARP reply that claims that the Link
    // Layer address of another host or router is a broadcast or multicast address".
    if (message.sender_mac.is_group() || message.sender_mac.is_zero())
        return drop_reason::arp_sender_mac;
    const uint32_t sender = message.sender_ip;
    const bool probe = sender == 0 && message.operation == arp_request;
    // Accept link-local senders on their own link (RFC 3927 section 2.6.2).
    if (!probe && is_ipv4_no_host(sender)) return drop_reason::arp_sender_ip;
    for (const uint32_t our : ours)
        if (sender == our) return drop_reason::arp_sender_is_us;
    return drop_reason::none;
}

uint32_t write_arp_request(std::span<uint8_t> frame, const arp_host& sender, uint32_t target,
                           const mac_address& unicast) noexcept {
    return write_arp(frame, arp_request, unicast, sender, {mac_address{}, target});
}

uint32_t write_arp_reply(std::span<uint8_t> frame, const arp_host& sender,
                         const arp_host& target) noexcept {
    return write_arp(frame, arp_reply, target.mac, sender, target);
}

}  // namespace turnpike::packet
