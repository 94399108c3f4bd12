// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/interface_counts.hpp"

#include <map>

#include "control/forwarding/workers.hpp"

namespace turnpike::control {
namespace {

using datapath::interface_kind;
using datapath::max_interfaces;
using datapath::stage;

/// Interfaces that the stages count, by index.
std::map<std::string, uint16_t, std::less<>> counted_by_stages(const transaction& c) {
    std::map<std::string, uint16_t, std::less<>> out;
    if (!c.after.interface_counters) return out;
    const auto of_one = ports_of_one_interface(c.after);
    for (const auto& [name, i] : c.after.interfaces) {
        const uint16_t ifindex = c.ifindex_of.at(name);
        const datapath::interface& is = c.snapshot->interfaces[ifindex];
        const bool counts =
            (is.kind == interface_kind::routed || is.kind == interface_kind::patched) &&
            is.port != datapath::tunnel_port;
        if (counts && !of_one.contains(i.port)) out.emplace(name, ifindex);
    }
    return out;
}

}  // namespace

std::set<std::string_view> ports_of_one_interface(const state::configuration& in) {
    std::set<std::string_view> out, shared;
    for (const auto& [name, i] : in.interfaces) {
        if (i.port.empty() || in.is_tunnel(i)) continue;
        const bool first = !shared.contains(i.port) && out.insert(i.port).second;
        if (first && i.vlan == 0) continue;
        out.erase(i.port);
        shared.insert(i.port);
    }
    return out;
}

class interface_counts::prepared_counts : public prepared_change {
  public:
    prepared_counts(interface_counts& of, const transaction& c) : of_(of) {
        const auto of_one = ports_of_one_interface(c.after);
        for (const auto& [name, i] : c.after.interfaces)
            if (of_one.contains(i.port))
                alone_.add(name, c.port_index_of.at(i.port), of.alone_, of.of_port_);
        for (const auto& [name, ifindex] : counted_by_stages(c)) {
            interfaces_.add(name, ifindex, of.interfaces_,
                            [&](uint16_t index) { return of.sum_of(index); });
            c.snapshot->paths[ifindex].input |= bit(stage::count_in);
            c.snapshot->paths[ifindex].output |= bit(stage::count_out);
        }
        if (interfaces_.empty()) return;
        if (of.workers_ == nullptr)
            of.workers_.reset(
                new datapath::interface_counters[size_t{max_workers()} * max_interfaces]);
        c.snapshot->interface_counts = of.workers_.get();
    }
    void commit() noexcept override {
        of_.alone_.swap(alone_);
        of_.interfaces_.swap(interfaces_);
    }

  private:
    interface_counts& of_;
    traffic_by_name alone_{}, interfaces_{};
};

result<std::unique_ptr<prepared_change>> interface_counts::prepare(transaction& c) {
    return std::make_unique<prepared_counts>(*this, c);
}

observe::traffic interface_counts::sum_of(uint16_t ifindex) const noexcept {
    observe::traffic out;
    if (workers_ == nullptr) return out;
    for (size_t w = 0; w < max_workers(); ++w)
        out.add(observe::traffic::read(workers_[w * max_interfaces + ifindex]));
    return out;
}

std::optional<observe::counted_traffic> interface_counts::counted(const std::string& name) const {
    if (auto alone = alone_.counted(name, of_port_)) return alone;
    return interfaces_.counted(name, [&](uint16_t ifindex) { return sum_of(ifindex); });
}

}  // namespace turnpike::control
