// SPDX-License-Identifier: BSD-3-Clause
#include "test_bed.hpp"

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "kernel_clock.hpp"

namespace turnpike::throughput {
namespace {

constexpr unsigned buffers_per_pair = 16383, buffer_cache = 256;

uint32_t largest_size(const run& r) {
    uint32_t most = 0;
    for (const frame_size& s : r.sizes) most = std::max(most, s.largest());
    for (const auto& c : r.traffic.captured)
        if (c) most = std::max(most, size_of(*c).largest());
    return most + encapsulation_bytes(r);
}

}  // namespace

test_bed::test_bed(const run& settings, const std::atomic<bool>& stop)
    : run_(settings), stop_(stop), hz_(static_cast<double>(rte_get_tsc_hz())) {}

result<std::unique_ptr<test_bed>> test_bed::open(const run& settings,
                                                 const std::atomic<bool>& stop) {
    std::unique_ptr<test_bed> bed(new test_bed(settings, stop));
    for (const auto step :
         {&test_bed::open_ports, &test_bed::wait_for_links, &test_bed::resolve_gateways})
        if (auto done = ((*bed).*step)(); !done) return tl::unexpected<error>(done.error());
    return bed;
}

test_bed::~test_bed() {
    for (rxtx::port& p : ports_) p.close();
    rte_mempool_free(pool_);
}

result<void> test_bed::open_ports() {
    const uint32_t largest = largest_size(run_);
    const auto room =
        static_cast<uint16_t>(std::max(2048u, (largest + 63) / 64 * 64) + RTE_PKTMBUF_HEADROOM);
    const auto buffers = buffers_per_pair * static_cast<unsigned>(run_.ports.size() / 2);
    static unsigned pools = 0;
    const std::string pool = fmt::format("throughput{}", pools++);
    pool_ = rte_pktmbuf_pool_create(pool.c_str(), buffers, buffer_cache, 0, room, SOCKET_ID_ANY);
    if (pool_ == nullptr)
        return fail(rte_errno, "buffers",
                    fmt::format("EAL has no memory for {} buffers of {} bytes", buffers, room));
    for (const run_port& p : run_.ports) {
        auto opened =
            rxtx::port::open({.name = p.name,
                              .where = p.where,
                              .device = p.device,
                              .mtu = static_cast<uint16_t>(std::max(1500u, largest - 18)),
                              .promiscuous = true,
                              .timestamps = run_.latency.trial_s > 0 ? rxtx::offload::if_supported
                                                                     : rxtx::offload::off,
                              .pool = pool_});
        if (!opened) return tl::unexpected<error>(opened.error());
        ports_.push_back(std::move(*opened));
    }
    clocks_.resize(ports_.size());
    accounts_.resize(ports_.size());
    damaged_.resize(ports_.size());
    for (unsigned i = 0; i < ports_.size(); ++i) {
        if (auto started = ports_[i].start(); !started) return started;
        stations_.emplace_back(run_.traffic, run_.ports[i], i, ports_[i].mac());
        start_clock(i);
    }
    return {};
}

void test_bed::start_clock(unsigned port) noexcept {
    int at = 0;
    if (!ports_[port].stamps_frames() ||
        rte_mbuf_dyn_rx_timestamp_register(&at, &timestamp_flag_) != 0)
        return;
    timestamp_at_ = static_cast<unsigned>(at);
    rxtx::device_clock clock(ports_[port].id(), hz_);
    if (clock.start()) clocks_[port].emplace(clock);
}

result<void> test_bed::wait_for_links() {
    const uint64_t end = rte_rdtsc() + static_cast<uint64_t>(5 * hz_);
    for (const rxtx::port& p : ports_)
        while (!p.link_up()) {
            if (stop_) return fail(ECANCELED, p.name(), "stopped while it waited for its link");
            if (rte_rdtsc() > end)
                return fail(ENETDOWN, "port " + p.name(), "its link did not come up within 5 s");
            for (unsigned i = 0; i < ports_.size(); ++i) poll(i);
        }
    return {};
}

result<void> test_bed::check_links() const {
    for (const rxtx::port& p : ports_) {
        if (p.vanished()) return fail(ENODEV, "port " + p.name(), "its device was removed");
        if (!p.link_up()) return fail(ENETDOWN, "port " + p.name(), "its link is down");
    }
    return {};
}

void test_bed::select(const frame_size& size, double learning_fps) {
    streams_.clear();
    for (unsigned i = 0; i < ports_.size(); ++i) {
        const run_port& p = run_.ports[i];
        mac_address to = device_mac(i);
        bool routed = p.gateway_mac || stations_[i].gateway_mac();
        if (p.vxlan) {
            to = p.vxlan->inner_mac.value_or(ports_[peer_of(i)].mac());
            routed = p.vxlan->inner_mac.has_value();
        }
        streams_.push_back(
            source_of(run_.traffic, static_cast<uint8_t>(i), size, ports_[i].mac(), to, routed));
    }
    size_ = size;
    learning_fps_ = learning_fps;
    learning_end_.reset();
}

void test_bed::poll(unsigned port) noexcept {
    rte_mbuf* frames[burst];
    const uint16_t n = rte_eth_rx_burst(ports_[port].id(), 0, frames, burst);
    if (clocks_[port]) clocks_[port]->update(rte_rdtsc());
    if (n == 0) return;
    const uint64_t now = rte_rdtsc();
    for (uint16_t i = 0; i < n; ++i) receive_frame(port, frames[i], now);
}

mac_address test_bed::device_mac(unsigned port) const noexcept {
    if (stations_[port].gateway_mac()) return *stations_[port].gateway_mac();
    return run_.ports[port].gateway_mac.value_or(ports_[peer_of(port)].mac());
}

void test_bed::answer(unsigned port, std::span<const uint8_t> question, bool in_tunnel) noexcept {
    rte_mbuf* m = rte_pktmbuf_alloc(pool_);
    if (m == nullptr) return;
    const uint32_t outer = in_tunnel ? run_.ports[port].encapsulation_bytes() : 0,
                   most = outer + max_reply_bytes;
    auto* at = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, static_cast<uint16_t>(most)));
    const auto a = stations_[port].receive(question, {at + outer, max_reply_bytes});
    foreign_ += a.control ? 0 : 1;
    // Padding to the minimum frame, which some ports leave to software.
    const uint32_t bytes = std::max(a.reply_bytes, 60u);
    std::memset(at + outer + a.reply_bytes, 0, bytes - a.reply_bytes);
    if (in_tunnel)
        write_vxlan(at, *run_.ports[port].vxlan, bytes, 0, ports_[port].mac(), device_mac(port));
    rte_pktmbuf_trim(m, static_cast<uint16_t>(max_reply_bytes - bytes));
    if (a.reply_bytes == 0 || rte_eth_tx_burst(ports_[port].id(), 0, &m, 1) != 1)
        rte_pktmbuf_free(m);
}

std::span<const uint8_t> test_bed::bytes_of(const rte_mbuf* frame) noexcept {
    const auto n = std::min(rte_pktmbuf_pkt_len(frame), static_cast<uint32_t>(gathered_.size()));
    return {static_cast<const uint8_t*>(rte_pktmbuf_read(frame, 0, n, gathered_.data())), n};
}

void test_bed::receive_frame(unsigned port, rte_mbuf* frame, uint64_t now) noexcept {
    std::span<const uint8_t> bytes = bytes_of(frame);
    const auto& tunnel = run_.ports[port].vxlan;
    bool in_tunnel = false;
    if (tunnel)
        if (const auto inner = inner_frame(*tunnel, bytes); !inner.empty()) {
            bytes = inner;
            in_tunnel = true;
        }
    stamp s;
    switch (read_frame(run_.traffic, bytes, s)) {
        case arrival::foreign:
            answer(port, bytes, in_tunnel);
            break;
        case arrival::damaged:
            ++damaged_[peer_of(port)];
            break;
        case arrival::ours:
            if (s.trial != trial_) {
                ++late_;
            } else if (s.stream != peer_of(port)) {
                ++misdirected_;
            } else if (trial_ == 0) {
                ++learned_;
                // Some devices stamp frames of PTP only.
                if (clocks_[port] && (frame->ol_flags & timestamp_flag_) == 0)
                    clocks_[port].reset();
            } else if ((tunnel && !in_tunnel) ||
                       !streams_[s.stream]->is_intact(bytes, s.sequence)) {
                ++damaged_[s.stream];
            } else if (accounts_[s.stream].receive(s.sequence) == sequence_account::kind::first) {
                add_latency(s.tsc, arrival_of(port, frame, now));
            }
            break;
    }
    rte_pktmbuf_free(frame);
}

uint64_t test_bed::arrival_of(unsigned port, const rte_mbuf* frame, uint64_t now) const noexcept {
    if (!clocks_[port] || (frame->ol_flags & timestamp_flag_) == 0) return now;
    return clocks_[port]->line().tsc_of(
        *RTE_MBUF_DYNFIELD(frame, timestamp_at_, const rte_mbuf_timestamp_t*));
}

void test_bed::add_latency(uint64_t sent, uint64_t arrived) noexcept {
    const uint64_t latency = (arrived - sent) & stamp_time_mask;
    // An arrival before the stamp is an error of the line between the clocks.
    latency_.add(latency > stamp_time_mask / 2 ? 0 : latency);
}

void test_bed::build(unsigned port, rte_mbuf* frame, uint64_t sequence) const noexcept {
    const frame_source& of = *streams_[port];
    const run_port& p = run_.ports[port];
    const uint32_t inner = of.bytes_of(sequence), outer = p.encapsulation_bytes();
    frame->data_len = static_cast<uint16_t>(outer + inner);
    frame->pkt_len = outer + inner;
    auto* at = rte_pktmbuf_mtod(frame, uint8_t*);
    if (p.vxlan)
        write_vxlan(at, *p.vxlan, inner, of.flow_of(sequence), ports_[port].mac(),
                    device_mac(port));
    of.build(at + outer, sequence, trial_, rte_rdtsc());
}

/// Send the frames whose time has come.
void test_bed::transmit(sender& s, uint64_t start, uint64_t now) noexcept {
    const auto elapsed = static_cast<double>(now - start);
    const uint64_t due = s.times.due(elapsed);
    if (due <= s.next) return;
    if (s.times.interval > 0) max_lag_ = std::max(max_lag_, elapsed - s.times.time_of(s.next));
    const auto n = static_cast<uint16_t>(std::min<uint64_t>(due - s.next, burst));
    rte_mbuf* frames[burst];
    if (rte_pktmbuf_alloc_bulk(pool_, frames, n) != 0) return;
    for (uint16_t i = 0; i < n; ++i) build(s.port, frames[i], s.next + i);
    uint16_t sent = rte_eth_tx_burst(ports_[s.port].id(), 0, frames, n);
    // The rest was not sent: the same sequence numbers are sent later.
    if (sent < n) rte_pktmbuf_free_bulk(frames + sent, static_cast<unsigned>(n - sent));
    if (refused_are_lost_) sent = n;
    if (sent == 0) return;
    if (s.next == 0) s.first = now;
    s.next += sent;
    s.last = rte_rdtsc();
}

bool test_bed::send_all(std::vector<sender>& senders, uint64_t deadline) noexcept {
    const uint64_t start = rte_rdtsc();
    for (bool more = true; more;) {
        if (stop_.load(std::memory_order_relaxed)) return false;
        for (unsigned p = 0; p < ports_.size(); ++p) poll(p);
        const uint64_t now = rte_rdtsc();
        if (now > deadline) return true;
        more = false;
        for (sender& s : senders) {
            transmit(s, start, now);
            more |= s.next < s.times.total;
        }
    }
    return true;
}

/// RFC 2544 section 23: wait for frames in buffers. If all have arrived, only long enough for duplicates.
bool test_bed::wait_for_frames() noexcept {
    constexpr double duplicates_s = 0.005, realtime_s = 0.05;
    const uint64_t start = rte_rdtsc(), end = start + static_cast<uint64_t>(run_.settle_s * hz_);
    uint64_t complete = 0;
    for (uint64_t now = rte_rdtsc(); now < end; now = rte_rdtsc()) {
        if (stop_.load(std::memory_order_relaxed)) return false;
        for (unsigned p = 0; p < ports_.size(); ++p) poll(p);
        if (static_cast<double>(now - start) > realtime_s * hz_) realtime_.leave();
        if (arrived() < expected_) continue;
        if (complete == 0) complete = now;
        if (static_cast<double>(now - complete) > duplicates_s * hz_) break;
    }
    return true;
}

uint64_t test_bed::arrived() const noexcept {
    if (trial_ == 0) return learned_;
    uint64_t sum = 0;
    for (unsigned i = 0; i < ports_.size(); ++i) sum += accounts_[i].received + damaged_[i];
    return sum;
}

/// Frames without a descriptor (imissed) or without a buffer (rx_nombuf), by port.
std::vector<drop_counter> test_bed::read_drops() const {
    std::vector<drop_counter> drops(ports_.size());
    for (size_t i = 0; i < ports_.size(); ++i) {
        rte_eth_stats stats;
        const int why = rte_eth_stats_get(ports_[i].id(), &stats);
        if (why == 0) drops[i] = stats.imissed + stats.rx_nombuf;
        if (why == -ENOTSUP) drops[i] = 0;  // the driver counts none
    }
    return drops;
}

schedule test_bed::schedule_of(const trial_plan& plan) const noexcept {
    if (plan.burst_frames != 0) return {.first = plan.burst_frames, .total = plan.burst_frames};
    const auto frames = [](double fps, double s) {
        return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(fps * s)));
    };
    schedule t{.first = frames(plan.rate_fps, plan.duration_s), .interval = hz_ / plan.rate_fps};
    t.total = t.first;
    if (plan.then_s > 0) {
        t.total += frames(plan.then_fps, plan.then_s);
        t.then = hz_ / plan.then_fps;
    }
    return t;
}

result<trial_report> test_bed::perform(const trial_plan& plan) {
    if (auto learned = plan.reset ? result<void>() : learn_if_due(); !learned)
        return tl::unexpected<error>(learned.error());
    if (auto up = plan.reset ? wait_for_links() : check_links(); !up)
        return tl::unexpected<error>(up.error());
    if (plan.reset) learning_end_.reset();
    trial_ = last_trial_ =
        last_trial_ == UINT16_MAX ? uint16_t{1} : static_cast<uint16_t>(last_trial_ + 1);
    std::vector<sender> senders;
    const schedule times = schedule_of(plan);
    const uint64_t frames = times.total;
    for (unsigned i = 0; i < ports_.size(); i += run_.both_ways ? 1 : 2)
        senders.push_back({.port = i, .times = times});
    try {
        for (sequence_account& a : accounts_) a.reset(0);
        for (const sender& s : senders) accounts_[s.port].reset(frames);
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, "trial",
                    fmt::format("{} frames need {} MB, a bit each: shorten trial_ms", frames,
                                (frames * senders.size()) >> 23));
    }
    refused_are_lost_ = plan.reset;
    std::fill(damaged_.begin(), damaged_.end(), 0);
    misdirected_ = late_ = foreign_ = 0;
    max_lag_ = 0;
    latency_.reset();
    for (auto& clock : clocks_)
        if (clock) (void)clock->consume_step();
    const std::vector<drop_counter> drops_before = read_drops();
    const clock_pair before = read_clocks();
    const double patience_s = plan.burst_frames != 0 ? 1 + static_cast<double>(frames) / 1e4
                                                     : plan.total_s() * 1.1 + 0.01;
    if (run_.realtime)
        if (auto entered = realtime_.enter(); !entered)
            return tl::unexpected<error>(entered.error());
    const bool sent = send_all(senders, before.tsc + static_cast<uint64_t>(hz_ * patience_s));
    expected_ = 0;
    for (const sender& s : senders) expected_ += s.next;
    const bool waited = sent && wait_for_frames();
    realtime_.leave();
    if (!waited) return fail(ECANCELED, "trial", "stopped");
    const clock_pair after = read_clocks();
    const double by_tsc = static_cast<double>(after.tsc - before.tsc) / hz_;
    const double by_kernel = std::chrono::duration<double>(after.kernel - before.kernel).count();
    if (std::string why = clock_difference(by_tsc, by_kernel); !why.empty())
        return fail(ETIME, "clock", std::move(why));
    if (auto up = check_links(); !up && !plan.reset) return tl::unexpected<error>(up.error());
    trial_report r = report_of(plan, senders);
    for (unsigned i = 0; i < ports_.size(); ++i)
        if (clocks_[i] && clocks_[i]->consume_step() && plan.measures_latency)
            r.unheld = "the clock of port '" + ports_[i].name() + "' stepped";
    if (plan.locates_losses()) r.losses = losses_of(senders);
    const port_drops drops = drops_between(drops_before, read_drops());
    r.tester_drops = drops.frames;
    if (!r.unheld.empty()) return r;
    if (drops.frames != 0)
        r.unheld = fmt::format("the tester's own ports dropped {} frames", drops.frames);
    else if (drops.unknown)
        r.unheld = fmt::format("the statistics of port '{}' failed: the tester's drops are unknown",
                               ports_[*drops.unknown].name());
    return r;
}

}  // namespace turnpike::throughput
