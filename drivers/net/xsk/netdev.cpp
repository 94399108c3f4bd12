// SPDX-License-Identifier: BSD-3-Clause
#include "netdev.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/owned_fd.hpp"

namespace turnpike::xsk {
namespace {

// Debian 12's headers lack linux/netdev.h.
constexpr char family_name[] = "netdev";
constexpr uint8_t command_get = 1;    // NETDEV_CMD_DEV_GET
constexpr uint16_t by_ifindex = 1;    // NETDEV_A_DEV_IFINDEX
constexpr uint16_t max_segments = 4;  // NETDEV_A_DEV_XDP_ZC_MAX_SEGS
constexpr uint8_t command_version = 1;

using answer = std::array<std::byte, 8192>;

/// Send a command with one attribute and return the reply; empty on error.
std::span<const std::byte> ask(int fd, uint16_t family, uint8_t command, uint16_t type,
                               const void* value, uint16_t bytes, answer& into) noexcept {
    struct {
        nlmsghdr header;
        genlmsghdr command;
        nlattr attribute;
        std::array<std::byte, 16> value;
    } request{};
    request.attribute = {static_cast<uint16_t>(sizeof(nlattr) + bytes), type};
    std::memcpy(request.value.data(), value, std::min<size_t>(bytes, sizeof request.value));
    request.command = {.cmd = command, .version = command_version, .reserved = 0};
    request.header.nlmsg_len =
        static_cast<uint32_t>(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(sizeof(nlattr) + bytes));
    request.header.nlmsg_type = family;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    if (send(fd, &request, request.header.nlmsg_len, 0) < 0) return {};
    const ssize_t n = recv(fd, into.data(), into.size(), 0);
    nlmsghdr header{};
    if (n < static_cast<ssize_t>(sizeof header)) return {};
    std::memcpy(&header, into.data(), sizeof header);
    if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_len > static_cast<size_t>(n)) return {};
    return {into.data(), header.nlmsg_len};
}

template <class Number>
Number number_of(std::span<const std::byte> value) noexcept {
    Number n{};
    if (value.size() >= sizeof n) std::memcpy(&n, value.data(), sizeof n);
    return n;
}

}  // namespace

std::span<const std::byte> netlink_attribute(std::span<const std::byte> message,
                                             uint16_t type) noexcept {
    size_t at = NLMSG_LENGTH(GENL_HDRLEN);
    while (at + sizeof(nlattr) <= message.size()) {
        nlattr head{};
        std::memcpy(&head, message.data() + at, sizeof head);
        if (head.nla_len < sizeof head || at + head.nla_len > message.size()) break;
        if ((head.nla_type & NLA_TYPE_MASK) == type)
            return message.subspan(at + sizeof head, head.nla_len - sizeof head);
        at += NLA_ALIGN(head.nla_len);
    }
    return {};
}

uint32_t zero_copy_parts(unsigned ifindex) noexcept {
    const owned_fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
    if (fd.get() < 0) return 0;
    answer into;
    const auto family = number_of<uint16_t>(
        netlink_attribute(ask(fd.get(), GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                              family_name, sizeof family_name, into),
                          CTRL_ATTR_FAMILY_ID));
    if (family == 0) return 0;
    const auto index = static_cast<uint32_t>(ifindex);
    return number_of<uint32_t>(netlink_attribute(
        ask(fd.get(), family, command_get, by_ifindex, &index, sizeof index, into), max_segments));
}

}  // namespace turnpike::xsk
