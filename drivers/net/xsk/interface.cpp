// SPDX-License-Identifier: BSD-3-Clause
#include "interface.hpp"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/ifindex.hpp"

namespace turnpike::xsk {
namespace {

ifreq request_for(const std::string& name) noexcept {
    ifreq r{};
    std::memcpy(r.ifr_name, name.data(), std::min(name.size(), sizeof r.ifr_name - 1));
    return r;
}

template <class Command>
bool ask_ethtool(int fd, const std::string& name, Command& command) noexcept {
    ifreq r = request_for(name);
    r.ifr_data = reinterpret_cast<char*>(&command);
    return ioctl(fd, SIOCETHTOOL, &r) == 0;
}

tl::unexpected<error> failed(const std::string& name, const std::string& what,
                             const char* capability) {
    const int code = errno;
    return fail(code, name, code == EPERM ? what + " needs " + capability : what + " failed");
}

}  // namespace

result<interface> interface::open(const std::string& name) {
    interface i;
    i.name_ = name;
    // Any family serves; a service may be denied sockets of IP.
    i.control_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (i.control_.get() < 0)
        return fail(errno, name, "cannot open a socket for interface requests");
    if (i.state_now().index == 0)
        return fail(ENODEV, "iface=" + name,
                    "there is no such interface in this network namespace (ip link shows them)");
    return i;
}

result<interface> interface::with_index(unsigned index) const {
    ifreq r{};
    r.ifr_ifindex = static_cast<int>(index);
    interface i;
    i.control_.reset(fcntl(control_.get(), F_DUPFD_CLOEXEC, 0));
    if (ioctl(i.control_.get(), SIOCGIFNAME, &r) != 0)
        return fail(errno, name_, "there is no interface of index " + std::to_string(index));
    i.name_ = r.ifr_name;
    return i;
}

result<void> interface::check_namespace() const {
    const auto cookie_of = [](int fd) {
        uint64_t cookie = 0;
        socklen_t bytes = sizeof cookie;
        return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &bytes) == 0 ? cookie : 0;
    };
    const owned_fd here(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const uint64_t wanted = cookie_of(control_.get()), is = cookie_of(here.get());
    if (wanted == 0 || is == 0 || wanted == is) return {};
    return fail(ENODEV, name_,
                "is in the network namespace in which the device was made, and this thread is in "
                "another one: start the port there");
}

interface_state interface::state_now() const noexcept {
    interface_state s;
    // First: the requests below, by a name that no interface has, run modprobe.
    s.index = index_now();
    if (s.index == 0) return s;
    const int fd = control_.get();
    ifreq r = request_for(name_);
    if (ioctl(fd, SIOCGIFFLAGS, &r) == 0) {
        s.up = (r.ifr_flags & IFF_UP) != 0;
        s.running = s.up && (r.ifr_flags & IFF_RUNNING) != 0;
    }
    // Read the carrier by ethtool where the driver supports it: IFF_RUNNING follows up to a second
    // later.
    ethtool_value carrier{};
    carrier.cmd = ETHTOOL_GLINK;
    if (ask_ethtool(fd, name_, carrier)) s.running = s.up && carrier.data != 0;
    if (ioctl(fd, SIOCGIFMTU, &r) == 0) s.mtu = static_cast<uint32_t>(r.ifr_mtu);
    if (ioctl(fd, SIOCGIFHWADDR, &r) == 0) {
        const unsigned type = r.ifr_hwaddr.sa_family;
        s.ethernet = type == ARPHRD_ETHER || type == ARPHRD_LOOPBACK;
        std::memcpy(s.mac.bytes, r.ifr_hwaddr.sa_data, sizeof s.mac.bytes);
    }
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (ask_ethtool(fd, name_, channels)) {
        s.rx_queues = channels.rx_count + channels.combined_count;
        s.tx_queues = channels.tx_count + channels.combined_count;
    }
    // A driver with one queue may not implement ETHTOOL_GCHANNELS.
    s.rx_queues = std::max(s.rx_queues, 1u);
    s.tx_queues = std::max(s.tx_queues, 1u);
    return s;
}

unsigned interface::index_now() const noexcept { return ifindex_of(control_.get(), name_); }

interface_speed interface::speed() const noexcept {
    // Room for the three link mode masks after the settings; this code does not read them.
    alignas(ethtool_link_settings) uint8_t answer[sizeof(ethtool_link_settings) + 3 * 127 * 4]{};
    auto& settings = *reinterpret_cast<ethtool_link_settings*>(answer);
    settings.cmd = ETHTOOL_GLINKSETTINGS;
    // The first reply contains the length of the masks, negated.
    if (!ask_ethtool(control_.get(), name_, settings)) return {};
    settings.cmd = ETHTOOL_GLINKSETTINGS;
    settings.link_mode_masks_nwords = static_cast<int8_t>(-settings.link_mode_masks_nwords);
    if (!ask_ethtool(control_.get(), name_, settings)) return {};
    const uint32_t mbps = settings.speed;
    return {.mbps = mbps == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : mbps,
            .full_duplex = settings.duplex != DUPLEX_HALF};
}

std::string interface::driver() const {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    return ask_ethtool(control_.get(), name_, info) ? info.driver : "";
}

result<void> interface::set_mtu(uint32_t mtu) const {
    ifreq r = request_for(name_);
    r.ifr_mtu = static_cast<int>(mtu);
    if (ioctl(control_.get(), SIOCSIFMTU, &r) == 0) return {};
    return failed(name_, "setting its MTU to " + std::to_string(mtu), "CAP_NET_ADMIN");
}

result<void> interface::set_mac(const packet::mac_address& mac) const {
    ifreq r = request_for(name_);
    r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    std::memcpy(r.ifr_hwaddr.sa_data, mac.bytes, sizeof mac.bytes);
    if (ioctl(control_.get(), SIOCSIFHWADDR, &r) == 0) return {};
    return failed(name_, "setting its MAC address", "CAP_NET_ADMIN");
}

result<void> interface::receive(const reception& what) {
    owned_fd fresh;
    const bool any = what.promiscuous || what.all_multicast || !what.groups.empty();
    if (any) {
        fresh.reset(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
        if (fresh.get() < 0)
            return failed(name_, "receiving frames for other addresses", "CAP_NET_RAW");
    }
    const auto join = [&](unsigned short type, const packet::mac_address* group) {
        packet_mreq m{};
        m.mr_ifindex = static_cast<int>(state_now().index);
        m.mr_type = type;
        if (group != nullptr) {
            m.mr_alen = sizeof group->bytes;
            std::memcpy(m.mr_address, group->bytes, sizeof group->bytes);
        }
        return setsockopt(fresh.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof m) == 0;
    };
    bool good = (!what.promiscuous || join(PACKET_MR_PROMISC, nullptr)) &&
                (!what.all_multicast || join(PACKET_MR_ALLMULTI, nullptr));
    for (const packet::mac_address& group : what.groups)
        good = good && join(PACKET_MR_MULTICAST, &group);
    if (!good) return failed(name_, "receiving frames for other addresses", "CAP_NET_RAW");
    members_ = std::move(fresh);
    return {};
}

}  // namespace turnpike::xsk
