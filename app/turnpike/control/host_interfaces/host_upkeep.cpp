// SPDX-License-Identifier: BSD-3-Clause
// The host stack's requests to the kernel that may wait for its RTNL lock: planned and adopted by control, executed by another
// thread (upkeep.hpp).
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

#include "control/host_interfaces/host_stack.hpp"
#include "control/management/control_calls.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

constexpr uint64_t carrier_ms = 10;
constexpr uint64_t restore_ms = 500;    ///< interval of looks for lost interfaces and namespaces
constexpr uint64_t introduce_ms = 200;  ///< from an interface's creation until it is set up

}  // namespace

/// By index: for a name that no interface has, the kernel runs modprobe, and control would wait for it (lib/base/ifindex.hpp).
bool host_stack::is_lost(const attached& a) const noexcept {
    ifreq r{};
    r.ifr_ifindex = static_cast<int>(a.device.index());
    return ::ioctl(netns_->any.get(), SIOCGIFNAME, &r) != 0 || a.name != r.ifr_name;
}

/// Reads the kernel's flags, not a notification: after the TAP was set up here, no earlier state can be seen.
bool host_stack::is_admin_down(const attached& a) const noexcept {
    if (!a.settings.up) return false;
    if (is_lost(a)) return a.admin_down;
    ifreq r{};
    a.name.copy(r.ifr_name, IFNAMSIZ - 1);
    if (::ioctl(netns_->any.get(), SIOCGIFFLAGS, &r) != 0) return a.admin_down;
    const bool is_down = (r.ifr_flags & IFF_UP) == 0;
    // A TAP that is being deleted or moved is down, too.
    return is_down && (a.admin_down || !is_lost(a));
}

/// With another MAC address, the replies to the kernel's packets are not the port's: the next job restores it. The MTU, which
/// is for the kernel's own packets, may be another. Only while no job is in progress.
void host_stack::detect_changed_mac(attached& a, uint64_t now_ms) {
    if (!a.settings.up || is_lost(a)) return;
    ifreq r{};
    a.name.copy(r.ifr_name, IFNAMSIZ - 1);
    if (::ioctl(netns_->any.get(), SIOCGIFHWADDR, &r) != 0) return;  // without RTNL
    mac_address now{};
    std::memcpy(now.bytes, r.ifr_hwaddr.sa_data, sizeof now.bytes);
    if (now == a.settings.mac) return;
    a.settings.mac = now;
    if (!mac_lines_.allow(now_ms)) return;
    observe::log(observe::log_level::warning,
                 a.name +
                     ": another program changed the MAC address of the kernel's interface; it "
                     "is restored",
                 {{"interface", a.name}});
}

/// After a notification of a TAP's link, and now and then, as notifications can be lost.
void host_stack::poll_admin_status(uint64_t now_ms) {
    status_lines_.flush(now_ms);
    const uint64_t links = netns_->follower->link_messages();
    if (std::exchange(links_seen_, links) == links && now_ms < next_status_ms_) return;
    next_status_ms_ = now_ms + restore_ms;
    const bool follows = operators_->control_plane.follow_admin_status;
    for (const auto& [ifindex, a] : taps_) {
        const bool is_down = is_admin_down(*a);
        if (std::exchange(a->admin_down, is_down) == is_down) continue;
        to_learn_ = true;
        next_carrier_ms_ = 0;  // of VLAN interfaces
        if (!status_lines_.allow(now_ms)) continue;
        observe::log(
            observe::log_level::warning,
            a->name + (!is_down ? ": the kernel's interface is set up again"
                       : follows
                           ? ": the kernel's interface is set down: the interface forwards nothing"
                           : ": the kernel's interface is set down; the interface forwards on"),
            {{"interface", a->name}});
    }
}

state::learned host_stack::learned() const {
    state::learned out = netns_->follower->learned();
    for (const auto& [ifindex, a] : taps_)
        if (a->admin_down) out.admin_down.insert(a->name);
    return out;
}

/// The requests that a TAP needs; none: none.
/// repairs  whether lost TAPs and refused settings are tried again; opens: the namespace, and thus the TAP, is made again
std::optional<host_stack::job> host_stack::job_for(uint16_t ifindex, attached& a, bool repairs,
                                                   bool opens, uint64_t now_ms) {
    job out{.name = a.name, .requested = a.requested, .accept_ra = a.accept_ra};
    out.makes = opens || (repairs && is_lost(a));
    if (out.makes) return out;
    if (a.settings.up) {
        out.sets_link = repairs && a.settings != a.requested;
        out.keeps_mtu = a.settings.mtu == a.requested.mtu;
        out.keeps_status = true;
    } else {
        // Addresses some time after the interface: a daemon that gets both notifications at once may not attach the
        // addresses to the interface (zebra 8.4 under load, permanently).
        if (a.due_ms == 0) a.due_ms = now_ms + introduce_ms;
        out.sets_link = now_ms >= a.due_ms;
        if (const state::interface* i = operators_->interfaces.find(a.name);
            out.sets_link && i != nullptr)
            out.addresses = i->addresses;
    }
    const datapath::snapshot& v = *s_.published.load(std::memory_order_relaxed);
    // A VLAN interface loses its carrier when the interface of its port is set down.
    const datapath::interface& is = v.interfaces[ifindex];
    if (const bool up = s_.link_of(is) && (!is.admin_down || a.admin_down); up != a.carrier)
        out.carrier = up;
    if (!out.sets_link && !out.carrier) return std::nullopt;
    return out;
}

void host_stack::plan_jobs(batch& b, uint64_t now_ms) {
    next_carrier_ms_ = now_ms + carrier_ms;
    const bool repairs = now_ms >= next_restore_ms_;
    if (repairs) next_restore_ms_ = now_ms + restore_ms;
    b.opens = repairs && is_replaced(*netns_);
    mac_lines_.flush(now_ms);
    if (repairs && !b.opens)
        for (const auto& [ifindex, a] : taps_) detect_changed_mac(*a, now_ms);
    for (const auto& [ifindex, a] : taps_)
        if (auto j = job_for(ifindex, *a, repairs, b.opens, now_ms)) {
            j->of = a;
            b.jobs.push_back(std::move(*j));
        }
    if (b.jobs.empty() && !b.opens && repairs) not_restored_.clear();
}

/// Finds TAPs that differ from the configuration and the links, and leaves the requests to the other thread.
void host_stack::maintain(uint64_t now_ms) {
    if (batch* const done = upkeep_.done(); done != nullptr) {
        adopt(*done, now_ms);
        upkeep_.adopted();
    }
    if (!upkeep_.idle()) return;
    const bool is_due = now_ms >= next_carrier_ms_;
    if (!is_due && !netns_->follower->wants_read(now_ms)) return;
    auto b = std::make_unique<batch>();
    b->in = netns_;
    if (is_due) plan_jobs(*b, now_ms);
    b->read = netns_->follower->plan_read(now_ms);  // last: from here on nothing throws
    if (b->jobs.empty() && !b->opens && !b->read) return;
    upkeep_.plan(std::move(b));
    if (upkeep_.connected()) return;
    adopt(*upkeep_.done(), now_ms);
    upkeep_.adopted();
}

void host_stack::execute(batch& b) noexcept {
    try {
        if (b.opens) {
            auto opened = open(b.in->network_namespace);
            if (!opened) {
                b.refused = opened.error().message();
                return;
            }
            b.opened = std::move(*opened);
        }
        for (job& j : b.jobs) execute(j, b.opened != nullptr ? *b.opened : *b.in);
        if (b.read) b.in->follower->read(*b.read);
    } catch (const std::exception&) {  // out of memory: planned again
    }
}

void host_stack::execute(job& j, netns_handle& in) {
    if (j.makes) {
        auto down = j.requested;
        down.up = false;
        auto made = make_tap(in, in.upkeep_asking, j.name, j.accept_ra, down);
        j.made = made.has_value();
        if (made)
            j.device = std::move(*made);
        else
            j.refused = made.error().message();
        return;
    }
    const std::shared_ptr<attached> a = j.of.lock();
    if (a == nullptr) return;
    const uint32_t index = a->device.index();
    if (j.sets_link) {
        auto to = j.requested;
        if (j.keeps_mtu) to.mtu = 0;
        const auto set = in.upkeep_asking.set_link(index, to, j.keeps_status);
        j.link_set = set.has_value();
        if (set) {
            // An MTU below 1280 disables IPv6 and its sysctls; a larger one enables it with defaults.
            set_sysctls(in, j.name, j.accept_ra);
            for (const ip_prefix& p : j.addresses)
                if (auto added = in.upkeep_asking.add_address(index, p); !added)
                    observe::log(observe::log_level::error,
                                 j.name + ": " + added.error().message());
        } else {
            j.refused = set.error().message();
        }
    }
    if (!j.carrier) return;
    j.carrier_set = a->device.set_carrier(*j.carrier);
    // If this fails, the kernel's notification triggers it later.
    static_cast<void>(in.upkeep_asking.set_carrier(index, *j.carrier));
}

/// Returns  whether the TAP is another one now
bool host_stack::adopt(job& j, uint64_t now_ms) {
    const std::shared_ptr<attached> a = j.of.lock();
    const auto at =
        std::find_if(taps_.begin(), taps_.end(), [&](const auto& one) { return one.second == a; });
    if (a == nullptr || at == taps_.end()) return false;
    if (j.made) {
        unwatch(a->device.fd());
        std::swap(a->device, j.device);  // the other thread closes the old one, wherever it is
        a->settings = j.requested;
        a->settings.up = false;
        a->carrier = false;
        a->due_ms = 0;  // the next jobs do the rest
        watch(a->device.fd(), at->first);
        observe::log(
            observe::log_level::warning,
            a->name + ": the kernel's interface was deleted, renamed or moved, and is made again",
            {{"interface", a->name}});
        return true;
    }
    if (j.link_set) {
        a->refused.clear();
        a->settings = j.requested;
    } else if (j.sets_link) {
        if (a->refused != j.refused)
            observe::log(observe::log_level::error, j.name + ": " + j.refused);
        a->refused = j.refused;
        if (!a->settings.up) a->due_ms = now_ms + restore_ms;
    }
    if (j.carrier_set) a->carrier = *j.carrier;
    return false;
}

/// Logs an error when it begins, not every time.
void host_stack::adopt(batch& b, uint64_t now_ms) {
    if (b.in != netns_) return;  // a change has another namespace
    if (b.read) netns_->follower->adopt(std::move(*b.read), now_ms);
    bool any = b.opened != nullptr;
    if (any) {
        netns_.swap(b.opened);
        observe::log(observe::log_level::warning,
                     "the network namespace was made again: " + netns_->network_namespace,
                     {{"namespace", netns_->network_namespace}});
    }
    bool repairs = b.opens;
    std::string refused = b.refused;
    for (job& j : b.jobs) {
        any |= adopt(j, now_ms);
        repairs |= j.makes;
        if (j.makes && refused.empty()) refused = j.refused;
    }
    if (any) {
        netns_->follower->set_ours(ours());
        next_carrier_ms_ = 0;
    }
    if (!refused.empty() && refused != not_restored_)
        observe::log(observe::log_level::error, "the kernel's interfaces: " + refused);
    if (repairs) not_restored_ = refused;
}

/// For a change: a batch that is executed counts, and a planned one is discarded, and planned again afterwards. Control, which
/// exchanges frames with the TAPs during the loan, exchanges them for new ones, too.
void host_stack::conclude_upkeep(control_calls& calls) {
    upkeep_.conclude();
    calls.run([this] {
        if (batch* const done = upkeep_.done(); done != nullptr) {
            adopt(*done, 0);
            upkeep_.adopted();
        } else if (netns_ != nullptr) {
            netns_->follower->forget_read();
        }
    });
}

void host_stack::connect_upkeep(bool on) noexcept {
    upkeep_.connect(on);
    if (netns_ != nullptr && upkeep_.done() == nullptr) netns_->follower->forget_read();
}

}  // namespace turnpike::control
