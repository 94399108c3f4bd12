// SPDX-License-Identifier: BSD-3-Clause
#include "control/acls.hpp"

#include <map>
#include <new>

namespace turnpike::control {
namespace {

constexpr size_t nowhere = SIZE_MAX;

/// What is not named starts anew with each list; the default behind the rules goes on.
std::map<std::string, size_t> places_by_name(const config::acl_list& l) {
    std::map<std::string, size_t> out;
    for (size_t i = 0; i < l.rules.size(); ++i)
        if (!l.rules[i].name.empty()) out[l.rules[i].name] = i;
    out["default"] = l.rules.size();
    return out;
}

bool denies(const config::acl_list& l, size_t place) {
    return place < l.rules.size() ? l.rules[place].action == config::acl_action::deny
                                  : !l.default_permits;
}

}  // namespace

acls::~acls() {
    for (const socket& s : sockets_) at(s).store(nullptr, std::memory_order_release);
    if (tables_.rcu) tables_.rcu->synchronize();  // what was replaced last is let go
}

std::atomic<const datapath::bound_acl*>& acls::at(const socket& s) const noexcept {
    datapath::port_entry& port = tables_.port[s.port];
    return s.out ? port.acl_out : port.acl_in;
}

/// Throws std::bad_alloc.
std::unique_ptr<acls::binding> acls::make(const text& says, const compiled& list,
                                          const binding* before) const {
    auto b = std::make_unique<binding>();
    b->says = says;
    b->live.list = list;
    constexpr size_t line_apart = 64 / sizeof(datapath::acl_counter);
    for (uint32_t w = 0; w < workers_; ++w)
        b->live.counters.push_back(
            std::make_unique<datapath::acl_counter[]>(b->places() + line_apart));
    b->earlier.assign(workers_, std::vector<count>(b->places()));
    b->place_before.assign(b->places(), nowhere);
    if (before == nullptr) return b;
    const auto there = places_by_name(*before->says);
    for (const auto& [name, place] : places_by_name(*says))
        if (const auto same = there.find(name); same != there.end())
            b->place_before[place] = same->second;
    return b;
}

result<void> acls::set_up(const config::model& model) {
    std::map<uint16_t, std::pair<text, compiled>> lists;
    for (uint16_t port = 0; port < tables_.ports; ++port)
        for (const bool out : {false, true}) {
            const auto& named = out ? model.ports[port].acl_out : model.ports[port].acl_in;
            if (!named) continue;
            auto& [says, list] = lists[*named];
            if (list == nullptr) {
                says = std::make_shared<config::acl_list>(model.acls[*named]);
                auto made = datapath::acl_list::compile(*says);
                if (!made) return tl::unexpected<error>(made.error());
                list = *made;
            }
            sockets_.push_back({port, model.ports[port].name, out, make(says, list, nullptr)});
            at(sockets_.back()).store(&sockets_.back().now->live, std::memory_order_release);
            tables_.out_lists |= out;
        }
    return {};
}

result<void> acls::replace(const config::acl_list& with) {
    std::vector<std::unique_ptr<binding>> next;
    try {
        const text says = std::make_shared<config::acl_list>(with);
        compiled list;
        for (const socket& s : sockets_) {
            next.emplace_back();
            if (s.now->says->name != with.name) continue;
            if (list == nullptr) {
                auto made = datapath::acl_list::compile(*says);
                if (!made) return tl::unexpected<error>(made.error());
                list = *made;
            }
            next.back() = make(says, list, s.now.get());
        }
        if (list == nullptr)
            return fail(ENOENT, "access list '" + with.name + "'", "no port has it");
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, "access list '" + with.name + "'", "no memory; nothing was changed");
    }
    for (size_t i = 0; i < sockets_.size(); ++i) {
        if (next[i] == nullptr) continue;
        std::swap(sockets_[i].now, next[i]);
        binding* now = sockets_[i].now.get();
        now->before = std::move(next[i]);
        at(sockets_[i]).store(&now->live, std::memory_order_release);
        tables_.rcu->hook()(
            {[](void* b, uint64_t) { static_cast<binding*>(b)->end_before(); }, now, 0});
    }
    return {};
}

acls::count acls::binding::counted(size_t worker, size_t place) const noexcept {
    const datapath::acl_counter& c = live.counters[worker][place];
    count sum = earlier[worker][place];
    sum.packets += c.packets.read();
    sum.bytes += c.bytes.read();
    if (before == nullptr || place_before[place] == nowhere) return sum;
    const count more = before->counted(worker, place_before[place]);
    return {sum.packets + more.packets, sum.bytes + more.bytes};
}

acls::totals acls::binding::judged() const noexcept {
    totals sum = before != nullptr ? before->judged() : totals{};
    sum.permitted += earlier_totals.permitted;
    sum.denied += earlier_totals.denied;
    for (size_t place = 0; place < places(); ++place) {
        if (place < says->rules.size() && says->rules[place].action == config::acl_action::count)
            continue;
        for (const auto& counters : live.counters)
            (denies(*says, place) ? sum.denied : sum.permitted) += counters[place].packets.read();
    }
    return sum;
}

/// No worker holds it any more: its counters stand still.
void acls::binding::end_before() noexcept {
    for (size_t w = 0; w < earlier.size(); ++w)
        for (size_t place = 0; place < places(); ++place)
            if (const size_t there = place_before[place]; there != nowhere) {
                const count c = before->counted(w, there);
                earlier[w][place].packets += c.packets;
                earlier[w][place].bytes += c.bytes;
            }
    earlier_totals = before->judged();
    before.reset();
}

cost::acl_report acls::report_of(const socket& s, uint32_t workers) {
    const binding& b = *s.now;
    const totals sum = b.judged();
    cost::acl_report out{.port = s.port_name,
                         .direction = s.out ? "out" : "in",
                         .list = b.says->name,
                         .permitted = sum.permitted,
                         .denied = sum.denied,
                         .bytes = b.live.list->bytes};
    for (size_t place = 0; place < b.places(); ++place) {
        cost::acl_rule_report r{.name = "default",
                                .action = denies(*b.says, place) ? "deny" : "permit"};
        if (place < b.says->rules.size()) {
            const config::acl_rule& rule = b.says->rules[place];
            r.name = rule.name;
            r.action = config::acl_action_names[static_cast<size_t>(rule.action)];
            r.where = rule.where;
        }
        for (uint32_t w = 0; w < workers; ++w) {
            const count c = b.counted(w, place);
            r.packets += c.packets;
            r.bytes += c.bytes;
            r.by_worker.push_back(c.packets);
        }
        out.rules.push_back(std::move(r));
    }
    return out;
}

std::vector<cost::acl_report> acls::report() const {
    std::vector<cost::acl_report> out;
    for (const socket& s : sockets_) out.push_back(report_of(s, workers_));
    return out;
}

std::string_view acls::kernel() const noexcept {
    return sockets_.front().now->live.list->v4->kernel();
}

}  // namespace turnpike::control
