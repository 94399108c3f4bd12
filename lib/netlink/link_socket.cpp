// SPDX-License-Identifier: BSD-3-Clause
#include "netlink/link_socket.hpp"

#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace turnpike::netlink {
namespace {

using buffer = std::array<char, 512>;  // our longest request has 80 bytes

/// The kernel derives the link-local address from the MAC address (EUI-64): turnpike uses the same
/// one.
void add_address_mode(nlmsghdr* m) {
    nlattr* all = mnl_attr_nest_start(m, IFLA_AF_SPEC);
    nlattr* v6 = mnl_attr_nest_start(m, AF_INET6);
    mnl_attr_put_u8(m, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_EUI64);
    mnl_attr_nest_end(m, v6);
    mnl_attr_nest_end(m, all);
}

}  // namespace

result<link_socket> link_socket::open(std::span<const unsigned> groups, unsigned receive_bytes) {
    link_socket out;
    const auto failed = [](const char* what) { return fail(errno, "netlink", what); };
    out.fd_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (out.fd() < 0) return failed("cannot open a rtnetlink socket");
    sockaddr_nl us{};
    us.nl_family = AF_NETLINK;
    if (::bind(out.fd(), reinterpret_cast<const sockaddr*>(&us), sizeof us) != 0)
        return failed("cannot bind the rtnetlink socket");
    socklen_t length = sizeof us;
    if (::getsockname(out.fd(), reinterpret_cast<sockaddr*>(&us), &length) != 0)
        return failed("cannot read the rtnetlink socket's port ID");
    out.port_id_ = us.nl_pid;
    const auto bytes = static_cast<int>(receive_bytes);
    if (::setsockopt(out.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        static_cast<void>(::setsockopt(out.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes));
    // The kernel then looks at the filters of dump requests.
    const int on = 1;
    static_cast<void>(::setsockopt(out.fd(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on));
    for (const unsigned group : groups)
        if (::setsockopt(out.fd(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
            return failed("cannot join a rtnetlink multicast group");
    return out;
}

result<size_t> link_socket::receive(std::span<uint8_t> into) noexcept {
    for (;;) {
        sockaddr_nl from{};
        socklen_t length = sizeof from;
        const ssize_t got = ::recvfrom(fd(), into.data(), into.size(), MSG_DONTWAIT | MSG_TRUNC,
                                       reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
        if (got < 0) return fail(errno, "netlink", "netlink messages were lost");
        if (from.nl_pid != 0) continue;  // not from the kernel: ignore
        if (static_cast<size_t>(got) > into.size())
            return fail(ENOBUFS, "netlink", "a datagram is too long");
        return static_cast<size_t>(got);
    }
}

result<uint32_t> link_socket::ask(uint16_t type, uint8_t family, uint32_t of, uint32_t by) {
    alignas(nlmsghdr) buffer room{};
    nlmsghdr* m = mnl_nlmsg_put_header(room.data());
    m->nlmsg_type = type;
    m->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    m->nlmsg_seq = ++sequence_;
    // Each message type has a header of its own length, which begins with the family.
    const size_t fixed = type == RTM_GETLINK      ? sizeof(ifinfomsg)
                         : type == RTM_GETADDR    ? sizeof(ifaddrmsg)
                         : type == RTM_GETNEXTHOP ? sizeof(nhmsg)
                         : type == RTM_GETNEIGH   ? sizeof(ndmsg)
                                                  : sizeof(rtmsg);
    void* const head = mnl_nlmsg_put_extra_header(m, fixed);
    *static_cast<uint8_t*>(head) = family;
    if (of != 0 && type == RTM_GETADDR) static_cast<ifaddrmsg*>(head)->ifa_index = of;
    if (of != 0 && type == RTM_GETNEIGH) mnl_attr_put_u32(m, NDA_IFINDEX, of);
    if (of != 0 && type == RTM_GETROUTE) mnl_attr_put_u32(m, RTA_TABLE, of);
    if (by != 0 && type == RTM_GETROUTE) mnl_attr_put_u32(m, RTA_OIF, by);
    if (::send(fd(), m, m->nlmsg_len, 0) < 0)
        return fail(errno, "netlink", "cannot send the dump request");
    return sequence_;
}

/// Send a request and wait for its acknowledgement, which the kernel queues before send() returns.
result<void> link_socket::request(nlmsghdr* m) {
    m->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    m->nlmsg_seq = ++sequence_;
    if (::send(fd(), m, m->nlmsg_len, 0) < 0)
        return fail(errno, "netlink", "cannot send the request");
    alignas(nlmsghdr) std::array<char, 4096> room{};
    for (;;) {
        const ssize_t got = ::recv(fd(), room.data(), room.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(errno, "netlink", "the kernel's acknowledgement is lost");
        const auto* answer = reinterpret_cast<const nlmsghdr*>(room.data());
        if (!mnl_nlmsg_ok(answer, static_cast<int>(got)) || answer->nlmsg_pid != port_id_ ||
            answer->nlmsg_seq != sequence_ || answer->nlmsg_type != NLMSG_ERROR ||
            mnl_nlmsg_get_payload_len(answer) < sizeof(int))
            continue;
        int code = 0;
        std::memcpy(&code, mnl_nlmsg_get_payload(answer), sizeof code);
        if (code != 0) return fail(-code, "netlink", "the kernel refuses the request");
        return {};
    }
}

result<void> link_socket::set_link(uint32_t index, const link_settings& to, bool keeps_status) {
    alignas(nlmsghdr) buffer room{};
    nlmsghdr* m = mnl_nlmsg_put_header(room.data());
    m->nlmsg_type = RTM_NEWLINK;
    auto* head = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifinfomsg)));
    head->ifi_index = static_cast<int>(index);
    // Without a mask, flags would replace all flags of the interface.
    head->ifi_flags = to.up && !keeps_status ? IFF_UP : 0;
    head->ifi_change = keeps_status ? 0 : IFF_UP;
    mnl_attr_put(m, IFLA_ADDRESS, sizeof to.mac.bytes, to.mac.bytes);
    if (to.mtu != 0) mnl_attr_put_u32(m, IFLA_MTU, to.mtu);
    const uint32_t plain_bytes = m->nlmsg_len;
    add_address_mode(m);
    auto done = request(m);
    // Kernels without IPv6 reject the address generation mode: retry without it.
    if (done || (done.error().code != EAFNOSUPPORT && done.error().code != EOPNOTSUPP &&
                 done.error().code != EINVAL))
        return done;
    m->nlmsg_len = plain_bytes;
    return request(m);
}

result<void> link_socket::set_carrier(uint32_t index, bool on) {
    alignas(nlmsghdr) buffer room{};
    nlmsghdr* m = mnl_nlmsg_put_header(room.data());
    m->nlmsg_type = RTM_SETLINK;
    auto* head = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifinfomsg)));
    head->ifi_index = static_cast<int>(index);
    // IF_OPER_DORMANT of RFC 2863: not running for the interface's users. The kernel reports it as
    // down.
    mnl_attr_put_u8(m, IFLA_OPERSTATE, on ? IF_OPER_UP : IF_OPER_DORMANT);
    return request(m);
}

result<void> link_socket::change_address(uint16_t type, uint32_t index, const ip_prefix& a) {
    alignas(nlmsghdr) buffer room{};
    nlmsghdr* m = mnl_nlmsg_put_header(room.data());
    m->nlmsg_type = type;
    if (type == RTM_NEWADDR) m->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
    auto* head = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifaddrmsg)));
    head->ifa_family = a.address.v6 ? AF_INET6 : AF_INET;
    head->ifa_prefixlen = a.length;
    head->ifa_index = index;
    const size_t bytes = a.address.bits() / 8;
    mnl_attr_put(m, IFA_LOCAL, bytes, a.address.bytes.data());
    mnl_attr_put(m, IFA_ADDRESS, bytes, a.address.bytes.data());
    // turnpike runs duplicate address detection itself; NODAD lets daemons bind to the address at
    // once.
    if (a.address.v6) mnl_attr_put_u32(m, IFA_FLAGS, IFA_F_NODAD);
    return request(m);
}

result<void> link_socket::add_address(uint32_t index, const ip_prefix& a) {
    auto done = change_address(RTM_NEWADDR, index, a);
    if (!done && done.error().code == EEXIST) return {};
    return done;
}

result<void> link_socket::remove_address(uint32_t index, const ip_prefix& a) {
    auto done = change_address(RTM_DELADDR, index, a);
    if (!done && done.error().code == EADDRNOTAVAIL) return {};
    return done;
}

}  // namespace turnpike::netlink
