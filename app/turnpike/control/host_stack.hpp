// SPDX-License-Identifier: BSD-3-Clause
// The kernel's network stack in a namespace, as the box's own: each interface that says so has a TAP of its
// name, MAC address and MTU there, what is for the box and is not ended here goes up by it, and what the kernel
// sends goes out by the port. What daemons tell that kernel is followed (kernel_follower.hpp). doc/control-plane.md.
//
//   worker --punted--> slow_path handlers --give()--> TAP --> kernel --> daemon
//   worker <-- outlet <-------------- tick() <------- TAP <-- kernel <-- daemon
//   controller::learn <-- kernel_follower <--netlink-- kernel
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/change.hpp"
#include "control/kernel_follower.hpp"
#include "control/outlet.hpp"
#include "control/tap.hpp"
#include "control/token_bucket.hpp"

namespace turnpike::control {

/// Threads  control.
class host_stack : public owner {
  public:
    struct surroundings {
        const std::atomic<const datapath::view*>& published;
        outlet& out;
        /// Whether packets can leave by an interface.
        std::function<bool(const datapath::interface&)> link_of;
        /// Become running with what is learned.
        std::function<result<void>(const state::learned&)> learn;
    };
    explicit host_stack(surroundings s);
    ~host_stack() override;

    /// Needs interface_place and the interfaces of the view; says which of them the kernel has.
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// Whether the kernel has the interface at a place.
    [[nodiscard]] bool has(uint16_t place) const noexcept { return taps_.contains(place); }
    /// Ends a packet as it came in by such an interface: it is the kernel's now.
    void give(packet_in_hand p, uint64_t now_ms) noexcept;
    /// The same of one that is to somebody else and asks routers to look at it. As many a second, beside the others:
    /// they are no way to keep a daemon's own packets from it (RFC 6398 section 5).
    void give_alert(packet_in_hand p, uint64_t now_ms) noexcept;
    /// What the kernel sent, and said. Call every round.
    void tick(uint64_t now_ms);
    /// Links have changed.
    void show_carriers() noexcept;
    [[nodiscard]] bool runs() const noexcept { return station_ != nullptr; }

    /// For operators.
    struct interface_numbers {
        uint64_t given = 0, taken = 0, not_taken = 0;
    };
    struct shown_tap {
        uint16_t place = 0;
        uint32_t index = 0;
        bool carrier = false;
        interface_numbers counted{};
    };
    [[nodiscard]] std::vector<shown_tap> shown() const;
    [[nodiscard]] const kernel_follower* follower() const noexcept;

  private:
    /// The way into a namespace.
    struct station {
        std::string network_namespace;
        netlink::link_socket asking;
        std::unique_ptr<kernel_follower> follower;
    };
    struct attached {
        std::string name;
        tap device;
        netlink::link_socket::link_settings settings{};
        token_bucket rate{0}, alert_rate{0};
        interface_numbers counted{};
        uint64_t due_ms = 0;  ///< when it is to be up, with its addresses; 0: it was just made
    };
    using all = std::map<uint16_t, std::shared_ptr<attached>>;  ///< by place
    class staged_stack;

    [[nodiscard]] static result<std::shared_ptr<station>> open(
        const std::string& network_namespace);
    [[nodiscard]] std::shared_ptr<attached> find(const std::string& name) const;
    void watch(int fd, uint64_t place) noexcept;
    void unwatch(int fd) noexcept;
    void settle(const std::map<uint16_t, netlink::link_socket::link_settings>& settings,
                const state::desired& before, const state::desired& after);
    void change_link(attached& a, const netlink::link_socket::link_settings& wanted);
    void change_addresses(const attached& a, const std::vector<ip_prefix>& had,
                          const std::vector<ip_prefix>& wanted);
    void introduce(uint64_t now_ms);
    static void give_to(attached& a, packet_in_hand p) noexcept;
    void take_frames(uint16_t place, attached& a);
    void learn(uint64_t now_ms);
    [[nodiscard]] sources::kernel_mirror::followed ours() const;

    surroundings s_;
    std::shared_ptr<station> station_{};
    all taps_{};
    const state::desired* running_ = nullptr;
    owned_fd ready_{};  ///< epoll: TAPs with frames, by place
    uint64_t next_follow_ms_ = 0, next_learn_ms_ = 0, next_carrier_ms_ = 0;
    bool to_learn_ = false;
    std::vector<uint8_t> frame_;
};

}  // namespace turnpike::control
