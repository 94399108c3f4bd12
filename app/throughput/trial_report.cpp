// SPDX-License-Identifier: BSD-3-Clause
// The counts of a trial, and whether it counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "burst_search.hpp"
#include "test_bed.hpp"

namespace turnpike::throughput {

stream_counts trial_report::total() const noexcept {
    stream_counts sum;
    for (const stream_counts& s : streams) {
        sum.sent += s.sent;
        sum.received += s.received;
        sum.lost += s.lost;
        sum.duplicated += s.duplicated;
        sum.reordered += s.reordered;
        sum.damaged += s.damaged;
    }
    return sum;
}

double trial_report::loss_ratio() const noexcept {
    const stream_counts t = total();
    return t.sent == 0 ? 0 : static_cast<double>(t.sent - t.received) / static_cast<double>(t.sent);
}

loss_places test_bed::losses_of(const std::vector<sender>& senders) const noexcept {
    loss_places p;
    for (const sender& s : senders) {
        const sequence_account& a = accounts_[s.port];
        const double interval_s = s.times.interval / hz_;
        if (const auto last = a.last_missing(s.next))
            p.last_s = std::max(p.last_s, s.times.time_of(*last) / hz_);
        p.lost_s = std::max(p.lost_s, interval_s * static_cast<double>(s.next - a.received));
        p.longest_gap_s =
            std::max(p.longest_gap_s, interval_s * static_cast<double>(a.longest_gap(s.next)));
    }
    return p;
}

double test_bed::line_rate_fps(unsigned port) const noexcept {
    return size_.line_rate_fps(ports_[port].link_mbps() * 1e6,
                               run_.ports[port].encapsulation_bytes());
}

trial_report test_bed::report_of(const trial_plan& plan, const std::vector<sender>& senders) {
    trial_report r;
    r.plan = plan;
    r.misdirected = misdirected_;
    r.late = late_;
    r.foreign = foreign_;
    r.max_lag_s = max_lag_ / hz_;
    r.latency = latency_;
    bool whole = true;
    double slowest = 0;
    for (const sender& s : senders) {
        const sequence_account& a = accounts_[s.port];
        const uint64_t arrived = std::min(s.next, a.received + damaged_[s.port]);
        r.streams.push_back(
            {s.next, a.received, s.next - arrived, a.duplicated, a.reordered, damaged_[s.port]});
        whole &= s.next == s.times.total;
        double took = static_cast<double>(s.last - s.first) / hz_;
        if (plan.burst_frames != 0) took = burst_sending_s(s.next, took, line_rate_fps(s.port));
        r.sending_s = std::max(r.sending_s, took);
        double rate = plan.rate_fps;
        if (s.next > 1 && took > 0)
            rate = plan.burst_frames != 0
                       ? static_cast<double>(s.next - 1) / took
                       : plan.rate_fps * s.times.time_of(s.next - 1) / hz_ / took;
        slowest = slowest == 0 ? rate : std::min(slowest, rate);
    }
    r.offered_fps = slowest;
    if (plan.burst_frames != 0) {
        if (!whole) r.unheld = "the port did not take the whole burst";
        return r;
    }
    if (!whole)
        r.unheld = "the sender did not reach the rate";
    else if (std::abs(r.offered_fps / plan.rate_fps - 1) > run_.tolerance)
        r.unheld = fmt::format("the sender offered {:.0f} frames per second", r.offered_fps);
    else if (r.max_lag_s > run_.max_lag_s)
        r.unheld = fmt::format("a frame was {:.0f} us late", r.max_lag_s * 1e6);
    return r;
}

}  // namespace turnpike::throughput
