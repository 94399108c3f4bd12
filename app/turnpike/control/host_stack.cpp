// SPDX-License-Identifier: BSD-3-Clause
#include "control/host_stack.hpp"

#include <rte_mbuf.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "control/router_sysctls.hpp"
#include "netlink/namespace.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

using datapath::drop_reason;

constexpr unsigned max_frames = 64;  ///< per TAP and iteration
constexpr size_t longest_frame = 65536;
constexpr uint64_t follow_ms = 5;          ///< notifications within this time are one change
constexpr uint64_t learn_again_ms = 1000;  ///< retry interval
constexpr uint64_t carrier_ms = 10;
constexpr uint64_t introduce_ms = 200;         ///< from an interface's creation until it is set up
constexpr unsigned receive_bytes = 32U << 20;  ///< about 140,000 messages

void say(const std::string& what, const error& why) {
    observe::log(observe::log_level::error, what + ": " + why.message());
}

}  // namespace

host_stack::host_stack(dependencies s)
    : s_(std::move(s)), ready_(::epoll_create1(EPOLL_CLOEXEC)), frame_(longest_frame) {}

host_stack::~host_stack() = default;

result<std::shared_ptr<host_stack::fdb_entry>> host_stack::open(
    const std::string& network_namespace) {
    auto out = std::make_shared<fdb_entry>();
    out->network_namespace = network_namespace;
    auto done = netlink::in_namespace(network_namespace, [&]() -> result<void> {
        auto asking = netlink::link_socket::open({}, 0);
        if (!asking) return tl::unexpected<error>(asking.error());
        out->asking = std::move(*asking);
        auto listening = netlink::link_socket::open(netlink_monitor::groups(), receive_bytes);
        if (!listening) return tl::unexpected<error>(listening.error());
        out->follower = std::make_unique<netlink_monitor>(std::move(*listening),
                                                          sources::netlink_rib::followed{});
        return {};
    });
    if (!done) return tl::unexpected<error>(done.error());
    return out;
}

class host_stack::staged_stack : public staged {
  public:
    staged_stack(host_stack& of, const change& c) : of_(of), before_(c.before), after_(c.after) {}

    result<void> get_ready(change& c) {
        const state::control_plane& wanted = after_.control_plane;
        if (!wanted.netlink) return {};
        const bool stays = of_.fdb_entry_ != nullptr &&
                           of_.fdb_entry_->network_namespace == wanted.network_namespace;
        if (stays) {
            fdb_entry_ = of_.fdb_entry_;
        } else {
            auto opened = open(wanted.network_namespace);
            if (!opened) return refuse(opened.error());
            fdb_entry_ = std::move(*opened);
        }
        for (const auto& [name, says] : after_.interfaces) {
            if (!says.kernel) continue;
            const uint16_t ifindex = c.ifindex_of.at(name);
            datapath::interface& to = c.snapshot->interfaces[ifindex];
            to.to_host = true;
            auto there = stays ? of_.find(name) : nullptr;
            if (there == nullptr) {
                auto made = make(name, to);
                if (!made) return refuse(made.error());
                there = std::move(*made);
            }
            settings_[ifindex] = {to.mac, to.mtu, true};
            taps_.emplace(ifindex, std::move(there));
        }
        return {};
    }

    void commit() noexcept override {
        // Remove every fd from epoll: the index of an interface may have changed.
        for (const auto& [ifindex, a] : of_.taps_) of_.unwatch(a->device.fd());
        of_.taps_.swap(taps_);
        of_.fdb_entry_.swap(fdb_entry_);
        for (const auto& [ifindex, a] : of_.taps_) of_.watch(a->device.fd(), ifindex);
        try {
            of_.settle(settings_, before_, after_);
        } catch (const std::bad_alloc&) {
            observe::log(observe::log_level::error,
                         "out of memory: the kernel's interfaces were not updated; reload");
        }
    }

  private:
    [[nodiscard]] result<void> refuse(const error& why) const {
        return fail(why.code, after_.control_plane.where.text,
                    "control_plane: " + why.object + ": " + why.text);
    }

    result<std::shared_ptr<attached>> make(const std::string& name, const datapath::interface& i) {
        auto out = std::make_shared<attached>();
        out->name = name;
        auto done = netlink::in_namespace(fdb_entry_->network_namespace, [&]() -> result<void> {
            auto device = tap::create(name);
            if (!device) return tl::unexpected<error>(device.error());
            out->device = std::move(*device);
            return set_router_sysctls(
                name);  // before the interface is up and receives router advertisements
        });
        if (!done) return tl::unexpected<error>(done.error());
        out->settings = {i.mac, i.mtu, false};
        if (auto set = fdb_entry_->asking.set_link(out->device.index(), out->settings); !set)
            return tl::unexpected<error>(set.error());
        return out;
    }

    host_stack& of_;
    const state::configuration &before_, &after_;
    std::shared_ptr<fdb_entry> fdb_entry_{};
    all taps_{};
    std::map<uint16_t, netlink::link_socket::link_settings> settings_{};
};

std::shared_ptr<host_stack::attached> host_stack::find(const std::string& name) const {
    for (const auto& [ifindex, a] : taps_)
        if (a->name == name) return a;
    return nullptr;
}

void host_stack::watch(int fd, uint64_t ifindex) noexcept {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = ifindex;
    static_cast<void>(::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &e));
}

void host_stack::unwatch(int fd) noexcept {
    static_cast<void>(::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, fd, nullptr));
}

/// For existing TAPs: restore settings that the operator or a device has changed.
void host_stack::settle(const std::map<uint16_t, netlink::link_socket::link_settings>& settings,
                        const state::configuration& before, const state::configuration& after) {
    running_ = &after;
    for (const auto& [ifindex, a] : taps_) {
        if (before.control_plane.rate != after.control_plane.rate || a->due_ms == 0)
            a->rate = a->alert_rate = rate_limit(after.control_plane.rate);
        if (!a->settings.up) {
            a->settings = settings.at(ifindex);
            a->settings.up = false;
            continue;  // send_gratuitous_arp_and_na() does this for a new TAP
        }
        change_link(*a, settings.at(ifindex));
        const state::interface* was = before.interfaces.find(a->name);
        static const std::vector<ip_prefix> none;
        change_addresses(*a, was == nullptr ? none : was->addresses,
                         after.interfaces.at(a->name).addresses);
    }
    if (fdb_entry_ != nullptr) fdb_entry_->follower->set_ours(ours());
    next_carrier_ms_ = 0;
}

void host_stack::change_link(attached& a, const netlink::link_socket::link_settings& wanted) {
    if (a.settings.mac == wanted.mac && a.settings.mtu == wanted.mtu && a.settings.up == wanted.up)
        return;
    a.settings = wanted;
    if (auto done = fdb_entry_->asking.set_link(a.device.index(), wanted); !done)
        say(a.name, done.error());
    // An MTU below 1280 disables IPv6 and its sysctls; a larger one enables it with defaults.
    if (auto done = netlink::in_namespace(fdb_entry_->network_namespace,
                                          [&] { return set_router_sysctls(a.name); });
        !done)
        say(a.name, done.error());
}

void host_stack::change_addresses(const attached& a, const std::vector<ip_prefix>& had,
                                  const std::vector<ip_prefix>& wanted) {
    const auto lacks = [](const std::vector<ip_prefix>& some, const ip_prefix& p) {
        return std::find(some.begin(), some.end(), p) == some.end();
    };
    const uint32_t index = a.device.index();
    for (const ip_prefix& p : had)
        if (lacks(wanted, p)) {
            if (auto done = fdb_entry_->asking.remove_address(index, p); !done)
                say(a.name, done.error());
            fdb_entry_->follower->forget_address(index, p);
        }
    for (const ip_prefix& p : wanted)
        if (lacks(had, p))
            if (auto done = fdb_entry_->asking.add_address(index, p); !done)
                say(a.name, done.error());
}

/// Adds addresses some time after the interface: a daemon that gets both notifications at once may
/// not attach the addresses to the interface (zebra 8.4 under load, permanently).
void host_stack::send_gratuitous_arp_and_na(uint64_t now_ms) {
    for (const auto& [ifindex, a] : taps_) {
        if (a->settings.up) continue;
        if (a->due_ms == 0) a->due_ms = now_ms + introduce_ms;
        if (now_ms < a->due_ms) continue;
        auto wanted = a->settings;
        wanted.up = true;
        change_link(*a, wanted);
        change_addresses(*a, {}, running_->interfaces.at(a->name).addresses);
    }
}

sources::netlink_rib::followed host_stack::ours() const {
    sources::netlink_rib::followed out;
    for (const auto& [ifindex, a] : taps_) out.interfaces.emplace(a->device.index(), a->name);
    for (const auto& [name, v] : running_->vrfs) out.vrfs.emplace(v.table, name);
    return out;
}

result<std::unique_ptr<staged>> host_stack::prepare(change& c) {
    auto ready = std::make_unique<staged_stack>(*this, c);
    if (auto done = ready->get_ready(c); !done) return tl::unexpected<error>(done.error());
    return ready;
}

void host_stack::give(owned_mbuf p, uint64_t now_ms) noexcept {
    const auto at = taps_.find(p.about().in_interface);
    if (at == taps_.end()) return p.drop(drop_reason::host_if_refused);
    if (!at->second->rate.take(now_ms)) return p.drop(drop_reason::host_if_rate);
    give_to(*at->second, std::move(p));
}

void host_stack::give_alert(owned_mbuf p, uint64_t now_ms) noexcept {
    const auto at = taps_.find(p.about().in_interface);
    if (at == taps_.end()) return p.drop(drop_reason::host_if_refused);
    if (!at->second->alert_rate.take(now_ms)) return p.drop(drop_reason::host_if_rate);
    give_to(*at->second, std::move(p));
}

void host_stack::give_to(attached& a, owned_mbuf p) noexcept {
    std::array<iovec, 64> parts;
    size_t n = 0;
    for (rte_mbuf* m = p.get(); m != nullptr && n < parts.size(); m = m->next)
        parts[n++] = {rte_pktmbuf_mtod(m, void*), m->data_len};
    if (p.get()->nb_segs > parts.size() || !a.device.give(std::span(parts).first(n)))
        return p.drop(drop_reason::host_if_refused);
    ++a.counted.given;
    p.consume();
}

void host_stack::take_frames(uint16_t ifindex, attached& a) {
    const datapath::interface& by =
        s_.published.load(std::memory_order_relaxed)->interfaces[ifindex];
    for (unsigned n = 0; n < max_frames; ++n) {
        const size_t bytes = a.device.take(frame_);
        if (bytes == 0) return;
        rte_mbuf* m = bytes < sizeof(packet::ethernet_header)
                          ? nullptr
                          : s_.out.originate(by.port, std::span(frame_).first(bytes));
        if (m == nullptr) {
            ++a.counted.not_taken;
            continue;
        }
        ++a.counted.taken;
        s_.out.send(m, by.out());
    }
}

void host_stack::show_carriers() noexcept {
    const datapath::snapshot& v = *s_.published.load(std::memory_order_relaxed);
    for (const auto& [ifindex, a] : taps_)
        if (const bool up = s_.link_of(v.interfaces[ifindex]); up != a->device.carrier()) {
            a->device.set_carrier(up);
            // If this fails, the kernel's notification triggers it later.
            static_cast<void>(fdb_entry_->asking.tell_carrier(a->device.index(), up));
        }
}

void host_stack::learn(uint64_t now_ms) {
    to_learn_ = true;
    if (now_ms < next_learn_ms_) return;
    const auto learnt = s_.learn(fdb_entry_->follower->learned());
    to_learn_ = !learnt;
    if (learnt) return;
    next_learn_ms_ = now_ms + learn_again_ms;
    say("the kernel's changes cannot be applied", learnt.error());
}

void host_stack::tick(uint64_t now_ms) {
    if (fdb_entry_ == nullptr) return;
    if (now_ms >= next_carrier_ms_) {
        next_carrier_ms_ = now_ms + carrier_ms;
        send_gratuitous_arp_and_na(now_ms);
        show_carriers();
    }
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(ready_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n; ++i) {
        const auto ifindex = static_cast<uint16_t>(events[static_cast<size_t>(i)].data.u64);
        if (const auto at = taps_.find(ifindex); at != taps_.end())
            take_frames(ifindex, *at->second);
    }
    if (now_ms < next_follow_ms_) return;
    next_follow_ms_ = now_ms + follow_ms;
    if (fdb_entry_->follower->follow(now_ms) || to_learn_) learn(now_ms);
}

std::vector<host_stack::shown_tap> host_stack::shown() const {
    std::vector<shown_tap> out;
    for (const auto& [ifindex, a] : taps_)
        out.push_back({ifindex, a->device.index(), a->device.carrier(), a->counted});
    return out;
}

const netlink_monitor* host_stack::follower() const noexcept {
    return fdb_entry_ == nullptr ? nullptr : fdb_entry_->follower.get();
}

}  // namespace turnpike::control
