// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/punt_counts.hpp"

namespace turnpike::control {

using datapath::punt_class;

punt_counts::counts punt_counts::sum(uint16_t ifindex, punt_class c) const noexcept {
    counts n;
    for (const auto& s : workers_.all()) {
        const auto& row = std::as_const(s->policer).of(ifindex, c);
        n.punted += row.punted.read();
        n.dropped += row.dropped.read();
    }
    return n;
}

void punt_counts::make_room(const transaction::ifindexes& ifindexes) {
    for (const auto& [name, ifindex] : ifindexes) interfaces_.try_emplace(name);
}

void punt_counts::follow(const transaction::ifindexes& ifindexes) noexcept {
    std::erase_if(interfaces_, [&](const auto& i) { return !ifindexes.contains(i.first); });
    for (auto& [name, f] : interfaces_) {
        const uint16_t ifindex = ifindexes.find(name)->second;
        if (f.ifindex == ifindex) continue;
        f.ifindex = ifindex;
        f.life = observe::new_life();
        for (size_t c = 0; c < datapath::punt_classes; ++c)
            f.before[c] = sum(ifindex, static_cast<punt_class>(c));
    }
}

std::vector<observe::punt_report> punt_counts::report() const {
    std::vector<observe::punt_report> out;
    for (const auto& [name, f] : interfaces_)
        for (size_t c = 0; f.ifindex != 0 && c < datapath::punt_classes; ++c) {
            const counts n = sum(f.ifindex, static_cast<punt_class>(c));
            if (n.punted == f.before[c].punted && n.dropped == f.before[c].dropped) continue;
            out.push_back({.interface = name,
                           .of = static_cast<punt_class>(c),
                           .life = f.life,
                           .punted = n.punted - f.before[c].punted,
                           .dropped = n.dropped - f.before[c].dropped});
        }
    return out;
}

}  // namespace turnpike::control
