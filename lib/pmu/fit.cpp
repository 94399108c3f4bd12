// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/fit.hpp"

#include <algorithm>

namespace turnpike::pmu {
namespace {

/// Bipartite matching by augmenting paths: events to counters.
class matching {
  public:
    matching(std::span<const fit_event> events, unsigned counters)
        : events_(events), taken_(counters, -1) {}

    /// Assign a counter to the event, reassigning others if necessary.
    bool place(size_t event) {
        uint32_t seen = 0;
        return place(event, seen);
    }

  private:
    bool place(size_t event, uint32_t& seen) {
        for (unsigned c = 0; c < taken_.size(); ++c) {
            if ((events_[event].counters >> c & 1) == 0 || (seen >> c & 1) != 0) continue;
            seen |= 1u << c;
            if (taken_[c] < 0 || place(static_cast<size_t>(taken_[c]), seen)) {
                taken_[c] = static_cast<int>(event);
                return true;
            }
        }
        return false;
    }

    std::span<const fit_event> events_;
    std::vector<int> taken_;
};

bool fits(std::span<const fit_event> events, const std::vector<size_t>& group, unsigned counters) {
    matching m(events, counters);
    return std::all_of(group.begin(), group.end(), [&](size_t e) { return m.place(e); });
}

}  // namespace

std::vector<std::vector<size_t>> fit(std::span<const fit_event> events, unsigned counters,
                                     bool one_filter) {
    std::vector<std::vector<size_t>> groups;
    std::vector<size_t> fixed;
    std::vector<bool> leads(events.size());
    for (const fit_event& e : events)
        if (e.leader >= 0) leads[static_cast<size_t>(e.leader)] = true;
    for (size_t i = 0; i < events.size(); ++i)
        if (events[i].fixed && events[i].leader < 0 && !leads[i]) fixed.push_back(i);
    if (!fixed.empty()) groups.push_back(std::move(fixed));
    for (size_t i = 0; i < events.size(); ++i) {
        if (!leads[i]) continue;
        auto& group = groups.emplace_back(1, i);
        for (size_t follower = 0; follower < events.size(); ++follower)
            if (events[follower].leader == static_cast<int>(i)) group.push_back(follower);
    }
    const size_t first = groups.size();
    for (size_t i = 0; i < events.size(); ++i) {
        if (events[i].fixed || events[i].leader >= 0 || leads[i]) continue;
        size_t g = first;
        for (; g < groups.size(); ++g) {
            if (one_filter && events[groups[g][0]].filter != events[i].filter) continue;
            groups[g].push_back(i);
            if (fits(events, groups[g], counters)) break;
            groups[g].pop_back();
        }
        if (g == groups.size()) groups.emplace_back(1, i);
    }
    return groups;
}

}  // namespace turnpike::pmu
