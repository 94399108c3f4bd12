// SPDX-License-Identifier: BSD-3-Clause
#include "observe/rate_history.hpp"

namespace turnpike::observe {
namespace {

/// A sample may be this much early and still close its window.
constexpr uint64_t tolerance_ms = 50;

bool fell(const rated_counts& now, const rated_counts& then) noexcept {
    for (size_t i = 0; i < max_rated; ++i)
        if (now[i] < then[i]) return true;
    return false;
}

}  // namespace

void rate_history::add(uint64_t now_ms, const std::vector<rated_object>& all) {
    if (number_ != 0 && now_ms <= last_ms_) return;
    ++number_;
    for (const rated_object& o : all) {
        const key name{o.kind, o.life, o.name};
        auto at = entries_.find(name);
        if (at == entries_.end()) {
            // Ports are visited before their drops: this sample's port is not an old one.
            const auto port = o.kind == rated_kind::drop
                                  ? entries_.find({rated_kind::port, o.life, o.owner})
                                  : entries_.end();
            const bool counted_nothing =
                port != entries_.end() && port->second.samples.size() > 1 && number_ > 1;
            at = entries_.emplace(name, entry{}).first;
            if (counted_nothing) at->second.samples.push_back({last_ms_, {}});
        }
        entry& e = at->second;
        e.object = o;
        e.seen = number_;
        if (!e.samples.empty() && fell(o.counts, e.samples.back().counts)) e.samples.clear();
        if (e.samples.size() == max_samples(o.kind)) e.samples.erase(e.samples.begin());
        e.samples.push_back({now_ms, o.counts});
    }
    std::erase_if(entries_, [&](const auto& e) { return e.second.seen != number_; });
    last_ms_ = now_ms;
}

std::optional<rate_history::rate> rate_history::over(const entry& e, uint64_t window_ms) noexcept {
    if (e.samples.size() < 2) return {};
    const sample& now = e.samples.back();
    // The latest sample that is as old as the window; else the first.
    auto then = e.samples.end() - 2;
    while (then != e.samples.begin() && now.at_ms - then->at_ms + tolerance_ms < window_ms) --then;
    rate out{.ms = now.at_ms - then->at_ms};
    for (size_t i = 0; i < max_rated; ++i)
        out.per_s[i] = 1000 * static_cast<double>(now.counts[i] - then->counts[i]) /
                       static_cast<double>(out.ms);
    return out;
}

}  // namespace turnpike::observe
