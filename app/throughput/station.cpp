// SPDX-License-Identifier: BSD-3-Clause
#include "station.hpp"

#include <array>
#include <cstring>

#include "packet/arp.hpp"
#include "packet/headers.hpp"
#include "packet/nd.hpp"

namespace turnpike::throughput {
namespace {

using namespace packet;

constexpr size_t tag_bytes_of_frame = sizeof(vlan_tag);

/// Insert a tag (type and TCI) into a frame. Returns the frame's bytes.
uint32_t insert_tag(uint8_t* frame, uint32_t bytes, uint32_t tag) noexcept {
    std::memmove(frame + 16, frame + 12, bytes - 12);
    store_be(frame + 12, tag);
    return bytes + static_cast<uint32_t>(tag_bytes_of_frame);
}

}  // namespace

station::answer station::receive(std::span<const uint8_t> frame,
                                 std::span<uint8_t> reply) noexcept {
    if (frame.size() < ethernet_bytes + tag_bytes_of_frame) return {};
    const bool tagged = load_be<uint16_t>(frame.data() + 12) == ether_type_vlan;
    if (tagged) {
        // Process the frame without its tag.
        std::array<uint8_t, max_reply_bytes> plain;
        const size_t n = std::min(frame.size() - tag_bytes_of_frame, plain.size());
        std::memcpy(plain.data(), frame.data(), 12);
        std::memcpy(plain.data() + 12, frame.data() + 16, n - 12);
        const uint32_t tag = load_be<uint32_t>(frame.data() + 12);
        answer a =
            receive(std::span(plain).first(n), reply.first(reply.size() - tag_bytes_of_frame));
        if (a.reply_bytes != 0) a.reply_bytes = insert_tag(reply.data(), a.reply_bytes, tag);
        return a;
    }
    const auto& ethernet = *reinterpret_cast<const ethernet_header*>(frame.data());
    if (ethernet.type == ether_type_arp) return {true, receive_arp(frame, reply)};
    const bool icmp6 = ethernet.type == ether_type_ipv6 &&
                       frame.size() >= ethernet_bytes + sizeof(ipv6_header) &&
                       frame[ethernet_bytes + 6] == protocol_icmpv6;
    if (icmp6) return {true, receive_icmp6(frame, reply)};
    return {};
}

uint32_t station::receive_arp(std::span<const uint8_t> frame, std::span<uint8_t> reply) noexcept {
    if (frame.size() < arp_frame_bytes) return 0;
    const auto& message = *reinterpret_cast<const arp_message*>(frame.data() + ethernet_bytes);
    if (message.hardware_type != arp_hardware_ethernet || message.protocol_type != ether_type_ipv4)
        return 0;
    if (gateway_ && !gateway_->v6 && message.sender_ip == gateway_->v4())
        gateway_mac_ = message.sender_mac;
    if (message.operation != arp_request || !owns(ip_address::from_v4(message.target_ip))) return 0;
    return write_arp_reply(reply, {mac_, message.target_ip},
                           {message.sender_mac, message.sender_ip});
}

uint32_t station::receive_icmp6(std::span<const uint8_t> frame, std::span<uint8_t> reply) noexcept {
    if (frame.size() < ethernet_bytes + sizeof(ipv6_header) + sizeof(nd_message)) return 0;
    const auto& ethernet = *reinterpret_cast<const ethernet_header*>(frame.data());
    const auto& ip = *reinterpret_cast<const ipv6_header*>(frame.data() + ethernet_bytes);
    const auto& message =
        *reinterpret_cast<const nd_message*>(frame.data() + ethernet_bytes + sizeof ip);
    if (ip.hop_limit != 255) return 0;  // RFC 4861 section 7.1
    if (message.icmp.type == icmp6_neighbour_advertisement && gateway_ &&
        ip_address::from_v6(message.target) == *gateway_)
        gateway_mac_ = ethernet.source;
    if (message.icmp.type != icmp6_neighbour_solicitation ||
        !owns(ip_address::from_v6(message.target)))
        return 0;
    return write_neighbour_advertisement(reply, {mac_, message.target},
                                         {ethernet.source, ip.source},
                                         nd_flag_solicited | nd_flag_override);
}

uint32_t station::write_request(std::span<uint8_t> frame) const noexcept {
    if (vlan_ == 0) return write_untagged_request(frame);
    const uint32_t bytes = write_untagged_request(frame.first(frame.size() - tag_bytes_of_frame));
    return bytes == 0 ? 0
                      : insert_tag(frame.data(), bytes, uint32_t{ether_type_vlan} << 16 | vlan_);
}

uint32_t station::write_untagged_request(std::span<uint8_t> frame) const noexcept {
    if (!address_ || !gateway_) return 0;
    if (gateway_->v6)
        return write_neighbour_solicitation(frame, {mac_, address_->v6_bytes()},
                                            gateway_->v6_bytes());
    return write_arp_request(frame, {mac_, address_->v4()}, gateway_->v4());
}

}  // namespace turnpike::throughput
