// SPDX-License-Identifier: BSD-3-Clause
// The kernel's network stack in a namespace, as the router's host stack: each interface with `host_interface: true` has a TAP of
// its name, MAC address and MTU there. Packets to the router that turnpike does not handle are written to the TAP;
// packets from the kernel are sent by the port. Routes and addresses that daemons set in the kernel are followed by
// netlink_monitor.hpp. doc/control-plane.md.
//
//   worker --punted--> slow_path handlers --deliver()--> TAP --> kernel --> daemon
//   worker <-- control_tx <-------------- tick() <------- TAP <-- kernel <-- daemon
//   controller::learn <-- netlink_monitor <--netlink-- kernel
//
// An interface whose TAP is set down (`ip link set down`, a daemon's `shutdown`) forwards nothing, as in Linux
// (state::learned::admin_down). A deleted, renamed or moved TAP is made again, and so are all TAPs when their namespace is made again. Requests to the kernel
// that wait for its RTNL lock, which any program may hold for seconds, are executed by another thread (upkeep.hpp): carriers,
// links and addresses of new TAPs, repair, dumps.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/token_bucket.hpp"
#include "control/control_tx.hpp"
#include "control/host_interfaces/tap.hpp"
#include "control/host_interfaces/tap_limits.hpp"
#include "control/host_interfaces/upkeep.hpp"
#include "control/routing/netlink_monitor.hpp"
#include "control/transaction.hpp"
#include "observe/inventory.hpp"
#include "observe/log.hpp"

namespace turnpike::control {

/// Threads  control, or management during a loan, except where noted.
class host_stack : public config_handler {
  public:
    struct dependencies {
        const std::atomic<const datapath::snapshot*>& published;
        control_tx& out;
        /// Whether an interface has a link.
        std::function<bool(const datapath::interface&)> link_of;
        /// Apply learned state to the running configuration.
        /// Returns  false: to be called again
        std::function<result<bool>(state::learned)> learn;
    };
    explicit host_stack(dependencies s);
    ~host_stack() override;

    /// Needs ifindex_of and the interfaces of the snapshot; sets to_host.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Whether the kernel has the interface at an index.
    [[nodiscard]] bool has(uint16_t ifindex) const noexcept { return taps_.contains(ifindex); }
    /// Write a packet to the TAP of its ingress interface. Each punt class has a separate limit of the same rate, so
    /// that a flood of one displaces no packets of the others.
    void deliver(owned_mbuf p, uint64_t now_ms) noexcept;
    /// The same for a packet in transit with Router Alert. Such packets have one more limit, so that
    /// they cannot displace a daemon's own (RFC 6398 section 5).
    void deliver_alert(owned_mbuf p, uint64_t now_ms) noexcept;
    /// Send the kernel's packets, and process netlink. Call every iteration.
    void tick(uint64_t now_ms);
    /// Send the kernel's packets only; reads nothing that a change prepares.
    void exchange_frames();
    /// The TAPs' carriers are compared with the links in the next iteration.
    void links_changed() noexcept { next_carrier_ms_ = 0; }
    /// Another thread executes requests that may block, until end_upkeep(). Before it begins (true), and after it has ended.
    void connect_upkeep(bool on) noexcept;
    /// Threads  the other one
    void serve_upkeep() noexcept { upkeep_.serve(); }
    /// Wait until no request is executed.
    /// Threads  management
    void wait_for_upkeep() const noexcept { upkeep_.wait(); }
    /// Threads  any
    void end_upkeep() noexcept { upkeep_.end(); }
    [[nodiscard]] bool runs() const noexcept { return netns_ != nullptr; }

    /// For operators, by interface index and without names.
    [[nodiscard]] std::map<uint16_t, observe::host_interface_report> shown() const;
    [[nodiscard]] const netlink_monitor* follower() const noexcept;

  private:
    /// Sockets in a namespace.
    struct netns_handle {
        std::string network_namespace;
        /// device and inode of its name in /run/netns; a namespace made again under the name has others
        std::optional<std::pair<dev_t, ino_t>> identity{};
        owned_fd any{};                      ///< for ioctls
        netlink::link_socket asking;         ///< of transactions
        netlink::link_socket upkeep_asking;  ///< of the upkeep's thread
        std::unique_ptr<netlink_monitor> follower;
    };
    struct attached {
        std::string name;
        tap device;
        uint64_t life = observe::new_life();
        netlink::link_socket::link_settings settings{};  ///< that the kernel has, as far as known
        netlink::link_socket::link_settings requested{};
        bool accept_ra = false;
        bool admin_down = false;  ///< set down by another program, after it was set up here
        bool carrier = false;     ///< that the kernel has
        std::string refused{};  ///< the kernel's last refusal of `requested`, which is logged once
        tap_limits limits{};
        struct {
            counters::counter given, taken, not_taken;
        } counted{};
        uint64_t due_ms = 0;  ///< when to set it up and add its addresses; 0: it was just created
    };
    using all = std::map<uint16_t, std::shared_ptr<attached>>;  ///< by interface index
    class prepared_stack;
    /// Requests for one TAP, and their outcome. A weak reference: a TAP that a change removes goes at once.
    struct job {
        std::weak_ptr<attached> of{};
        std::string name{};
        netlink::link_socket::link_settings requested{};
        bool accept_ra = false;
        std::vector<ip_prefix> addresses{};  ///< to add after the link is set
        bool makes = false, sets_link = false, keeps_status = false, keeps_mtu = false;
        std::optional<bool> carrier{};

        tap device{};  ///< made; after its adoption, the lost one
        bool made = false, link_set = false, carrier_set = false;
        std::string refused{};
    };
    struct batch {
        std::shared_ptr<netns_handle> in{};
        bool opens = false;  ///< the namespace again
        std::vector<job> jobs{};
        std::optional<netlink_monitor::socket_read> read{};  ///< after the jobs

        std::shared_ptr<netns_handle> opened{};
        std::string refused{};
    };

    [[nodiscard]] static result<std::shared_ptr<netns_handle>> open(
        const std::string& network_namespace);
    /// A TAP that is down, with the settings of a router's interface.
    [[nodiscard]] static result<tap> make_tap(const netns_handle& in, netlink::link_socket& asking,
                                              const std::string& name, bool accept_ra,
                                              const netlink::link_socket::link_settings& settings);
    /// Whether the name in /run/netns leads to another namespace now.
    [[nodiscard]] static bool is_replaced(const netns_handle& n) noexcept;
    [[nodiscard]] std::shared_ptr<attached> find(const std::string& name) const;
    void watch(int fd, uint64_t ifindex) noexcept;
    void unwatch(int fd) noexcept;
    void apply_settings(const std::map<uint16_t, netlink::link_socket::link_settings>& settings,
                        uint32_t rate_before,
                        std::shared_ptr<const state::configuration> after) noexcept;
    void settle(const std::shared_ptr<const state::configuration>& before, bool may_block);
    void change_link(attached& a);
    static void set_sysctls(const netns_handle& in, const std::string& name, bool accept_ra);
    [[nodiscard]] bool is_lost(const attached& a) const noexcept;
    [[nodiscard]] bool is_admin_down(const attached& a) const noexcept;
    void detect_changed_mac(attached& a, uint64_t now_ms);
    void poll_admin_status(uint64_t now_ms);
    [[nodiscard]] state::learned learned() const;
    void change_addresses(const attached& a, const std::vector<ip_prefix>& had,
                          const std::vector<ip_prefix>& requested);
    void maintain(uint64_t now_ms);
    void plan_jobs(batch& b, uint64_t now_ms);
    [[nodiscard]] std::optional<job> job_for(uint16_t ifindex, attached& a, bool repairs,
                                             bool opens, uint64_t now_ms);
    static void execute(batch& b) noexcept;
    static void execute(job& j, netns_handle& in);
    void conclude_upkeep(control_calls& calls);
    void adopt(batch& b, uint64_t now_ms);
    [[nodiscard]] bool adopt(job& j, uint64_t now_ms);
    static void deliver_to(attached& a, owned_mbuf p) noexcept;
    void receive_frames(uint16_t ifindex, attached& a);
    void learn(uint64_t now_ms);
    [[nodiscard]] sources::netlink_rib::followed ours() const;

    dependencies s_;
    std::shared_ptr<netns_handle> netns_{};
    all taps_{};
    std::shared_ptr<const state::configuration> operators_{};  ///< its addresses are the TAPs'
    owned_fd ready_{};  ///< epoll: readable TAPs, by interface index
    uint64_t next_follow_ms_ = 0, next_learn_ms_ = 0, next_carrier_ms_ = 0, next_restore_ms_ = 0;
    uint64_t next_status_ms_ = 0, links_seen_ = 0;  ///< of poll_admin_status()
    observe::log_rate_limit status_lines_{"changes of the administrative status"};
    observe::log_rate_limit mac_lines_{"changes of MAC addresses"};
    std::string not_restored_{};  ///< the last error of a repair, which is logged once
    upkeep<batch> upkeep_{[](batch& b) { execute(b); }};
    bool to_learn_ = false;
    std::string learn_failure_{};  ///< the last error of learn(), which is retried, and logged once
    std::vector<uint8_t> frame_;
};

}  // namespace turnpike::control
