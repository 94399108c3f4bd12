// SPDX-License-Identifier: BSD-3-Clause
// A network namespace with links, a socket that feeds a RIB with the kernel's notifications, and requests to the kernel.
//
//   v0 v1 v2: mirrored; v3: foreign; v4: packets come in by it. Each is a veth with the peer pN.
//   Tables are chosen by packet mark, so that lookups in each are those of forwarding.
#pragma once

#include <libmnl/libmnl.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netlink/link_socket.hpp"
#include "sources/netlink_rib.hpp"

namespace turnpike::sources {

class kernel_lab {
  public:
    static constexpr unsigned foreign = 3, ingress = 4, links = 5;

    kernel_lab();
    /// Whether the namespace could be made.
    [[nodiscard]] bool is_there() const noexcept { return there_; }
    [[nodiscard]] uint32_t index_of(unsigned link) const { return indices_[link]; }
    [[nodiscard]] bool is_up(unsigned link) const { return up_[link]; }
    [[nodiscard]] bool has_carrier(unsigned link) const { return carrier_[link]; }
    [[nodiscard]] static ip_address own_address(unsigned link);

    // Operations. The kernel may refuse each.
    void send_route(const netlink::route& r);
    /// replaces  as `ip nexthop replace` does
    void send_next_hop(const netlink::next_hop& h, bool v6, bool replaces);
    void send_own_address(unsigned link, bool gone, bool v6);
    void set_up(unsigned link, bool up);
    void set_carrier(unsigned link, bool on);

    /// Forgets the log.
    void begin_batch() { log_.clear(); }
    /// Takes all notifications.
    void follow();
    /// Looks an address up in the kernel and in the RIB. Returns the difference, or "".
    [[nodiscard]] std::string compare(uint32_t table, const ip_address& to);
    /// The route that the RIB derives for an address, by its longest prefix; null: none.
    [[nodiscard]] std::pair<ip_prefix, const state::route_target*> find(uint32_t table,
                                                                        const ip_address& to) const;

    [[nodiscard]] netlink_rib& rib() { return rib_; }
    /// Compares the RIB with a dump of the kernel's state, by mark and sweep.
    void dump();
    /// Number of dumps because the RIB was doubtful.
    [[nodiscard]] size_t doubts() const { return doubts_; }
    [[nodiscard]] std::string log_of_batch() const;
    [[nodiscard]] size_t taken() const { return taken_; }
    [[nodiscard]] size_t found() const { return found_; }
    [[nodiscard]] size_t not_followed_found() const { return not_followed_found_; }

  private:
    /// The kernel's answer to a lookup.
    struct answer {
        int error = 0;
        netlink::route route{};
    };
    using nexthop_weights = std::map<std::pair<std::string, std::string>, double>;
    /// upper  base 3: the upper parts of the hops' weights
    [[nodiscard]] nexthop_weights weights_of(const std::vector<netlink::nexthop>& live,
                                             unsigned upper) const;
    struct request;
    int exchange(request& r);
    [[nodiscard]] answer look_up(uint32_t table, const ip_address& to, const ip_address& from,
                                 uint8_t tos);
    void wait_for_link(unsigned link);
    void request_dump(uint16_t type, uint8_t family, uint32_t of,
                      const std::function<void(const netlink::message&)>& take);
    [[nodiscard]] size_t paths_by_object(uint32_t table, const ip_prefix& to);
    [[nodiscard]] std::string explain(uint32_t table, const ip_prefix& to);

    bool there_ = false;
    netlink::link_socket events_{}, requests_{}, dumps_{};
    uint32_t sequence_ = 0;
    std::array<uint32_t, links> indices_{};
    std::array<bool, links> up_{}, carrier_{};
    std::map<uint32_t, netlink::link> seen_{};
    netlink_rib rib_{{}};
    netlink_rib::followed ours_{};
    std::vector<std::string> log_{};
    /// IPv6 routes by nexthop objects and their numbers of paths, as last dumped; none: changed since
    std::optional<std::map<std::pair<uint32_t, ip_prefix>, size_t>> by_objects_{};
    size_t taken_ = 0, found_ = 0, not_followed_found_ = 0, doubts_ = 0;
    std::vector<uint8_t> buffer_;
};

}  // namespace turnpike::sources
