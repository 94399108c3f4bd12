// SPDX-License-Identifier: BSD-3-Clause
// Pairs of ports around a device under test, and one trial: frames equally spaced in time, each accounted for by its sequence
// number. One thread sends and receives by turns.
// Source: RFC 2544 section 23 (trial: resolution, learning frames, frames, two seconds for late ones).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accounting.hpp"
#include "port_drops.hpp"
#include "realtime.hpp"
#include "run_file.hpp"
#include "rxtx/device_clock.hpp"
#include "rxtx/port.hpp"
#include "schedule.hpp"
#include "station.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace turnpike::throughput {

struct trial_plan {
    double rate_fps = 0;  ///< of each stream
    double duration_s = 0;
    uint64_t burst_frames = 0;        ///< instead: this many frames as fast as the port takes them
    double then_fps = 0, then_s = 0;  ///< at another rate afterwards
    bool measures_latency = false;    ///< does not count if a clock of timestamps steps
    bool reset =
        false;  ///< the device restarts: links may be down, frames that a port refuses are lost

    [[nodiscard]] double total_s() const noexcept { return duration_s + then_s; }
    /// The places of lost frames are reported.
    [[nodiscard]] bool locates_losses() const noexcept { return then_s > 0 || reset; }
};

/// Places of the lost frames in a trial, of the stream that lost for the longest time. Times of frames are those planned.
struct loss_places {
    double last_s = -1;        ///< of the last lost frame; -1: none was lost
    double lost_s = 0;         ///< lost frames by the interval between frames, of the first rate
    double longest_gap_s = 0;  ///< of consecutive frames
};

/// Frames of one direction.
struct stream_counts {
    uint64_t sent = 0;
    uint64_t received = 0;  ///< different, intact frames
    uint64_t lost = 0;      ///< sent, and neither received nor damaged
    uint64_t duplicated = 0, reordered = 0, damaged = 0;
};

struct trial_report {
    trial_plan plan{};
    std::vector<stream_counts> streams{};
    double offered_fps = 0;       ///< measured, of each stream
    double sending_s = 0;         ///< from the first frame to the last; of a burst on the wire
    double max_lag_s = 0;         ///< the latest frame's delay against its time
    uint64_t misdirected = 0;     ///< frames of ours at another port than their stream's
    uint64_t late = 0;            ///< frames of an earlier trial
    uint64_t foreign = 0;         ///< frames without our ports and addresses, except ARP and ND
    uint64_t tester_drops = 0;    ///< frames that our own ports dropped, as far as it is known
    std::string unheld{};         ///< the reason that the trial does not count; empty: it counts
    latency_histogram latency{};  ///< TSC cycles
    loss_places losses{};         ///< if the plan wants them

    [[nodiscard]] stream_counts total() const noexcept;
    /// Share of the sent frames that did not arrive intact.
    [[nodiscard]] double loss_ratio() const noexcept;
};

class test_bed {
  public:
    /// stop  set: every function returns ECANCELED as soon as it can
    /// Errors  rxtx::port's; ETIMEDOUT: a link that does not come up, a gateway that does not answer
    [[nodiscard]] static result<std::unique_ptr<test_bed>> open(const run& settings,
                                                                const std::atomic<bool>& stop);
    test_bed(const test_bed&) = delete;
    test_bed& operator=(const test_bed&) = delete;
    ~test_bed();

    /// Send frames of this size from now on.
    ///
    /// learning_fps  of the learning frames before trials; 0: there is no device
    void select(const frame_size& size, double learning_fps);
    /// Send the learning frames (RFC 2544 section 23, phase b): each flow once in both directions, so that the device learns
    /// or resolves its addresses. Does nothing if the last are newer than the run's relearn_s. perform() calls it before each
    /// trial except a reset's, whose time until the reset would pass meanwhile: its caller does before.
    ///
    /// Errors  as perform()
    [[nodiscard]] result<void> learn_if_due();
    /// Errors  ECANCELED; ENETDOWN: a link is down; ETIME: the TSC and the kernel's clock disagree
    [[nodiscard]] result<trial_report> perform(const trial_plan& plan);

    [[nodiscard]] const rxtx::port& port(unsigned i) const noexcept { return ports_[i]; }
    /// Frames that this port receives have timestamps of its device.
    [[nodiscard]] bool stamps_frames(unsigned i) const noexcept { return clocks_[i].has_value(); }
    [[nodiscard]] double cycles_per_second() const noexcept { return hz_; }

  private:
    static constexpr uint16_t burst = 32;
    /// A direction while its frames are sent.
    struct sender {
        unsigned port = 0;
        schedule times{};
        uint64_t next = 0;
        uint64_t first = 0, last = 0;  ///< TSC of the first and last frame
    };

    test_bed(const run& settings, const std::atomic<bool>& stop);
    result<void> open_ports();
    /// Use the device's RX timestamps, if it has them and its clock can be read.
    void start_clock(unsigned port) noexcept;
    result<void> wait_for_links();
    result<void> resolve_gateways();
    result<void> check_links() const;
    /// For a run that resets the device: wait for them.
    result<void> check_or_wait_for_links() {
        return run_.reset.repeats != 0 ? wait_for_links() : check_links();
    }
    result<void> learn();
    void poll(unsigned port) noexcept;
    /// A frame's bytes, until the next call: large frames may come in several buffers.
    [[nodiscard]] std::span<const uint8_t> bytes_of(const rte_mbuf* frame) noexcept;
    void receive_frame(unsigned port, rte_mbuf* frame, uint64_t now) noexcept;
    /// TSC of a frame's arrival: by the device's timestamp, else `now`.
    [[nodiscard]] uint64_t arrival_of(unsigned port, const rte_mbuf* frame,
                                      uint64_t now) const noexcept;
    void add_latency(uint64_t sent, uint64_t arrived) noexcept;
    /// Answer ARP and ND, in the port's tunnel if the question came out of it.
    void answer(unsigned port, std::span<const uint8_t> question, bool in_tunnel) noexcept;
    /// Frames that arrived, intact or damaged.
    [[nodiscard]] uint64_t arrived() const noexcept;
    /// Destination of a port's frames: the device, or the other port.
    [[nodiscard]] mac_address device_mac(unsigned port) const noexcept;
    /// Write a frame with its outer headers.
    void build(unsigned port, rte_mbuf* frame, uint64_t sequence) const noexcept;
    void transmit(sender& s, uint64_t start, uint64_t now) noexcept;
    /// Send until all frames are out or `deadline` (TSC) has passed.
    [[nodiscard]] bool send_all(std::vector<sender>& senders, uint64_t deadline) noexcept;
    [[nodiscard]] bool wait_for_frames() noexcept;
    [[nodiscard]] std::vector<drop_counter> read_drops() const;
    [[nodiscard]] schedule schedule_of(const trial_plan& plan) const noexcept;
    /// The line rate of the selected size; 0: the port does not report its link's speed.
    [[nodiscard]] double line_rate_fps(unsigned port) const noexcept;
    [[nodiscard]] loss_places losses_of(const std::vector<sender>& senders) const noexcept;
    [[nodiscard]] trial_report report_of(const trial_plan& plan,
                                         const std::vector<sender>& senders);

    const run& run_;
    const std::atomic<bool>& stop_;
    const double hz_;
    rte_mempool* pool_ = nullptr;
    std::vector<uint8_t> gathered_ = std::vector<uint8_t>(UINT16_MAX);
    std::vector<rxtx::port> ports_{};
    std::vector<station> stations_{};
    std::vector<std::unique_ptr<frame_source>> streams_{};
    std::vector<std::optional<rxtx::device_clock>> clocks_{};  ///< by port, if it has RX timestamps
    uint64_t timestamp_flag_ = 0;
    unsigned timestamp_at_ = 0;
    frame_size size_{};
    double learning_fps_ = 0;
    std::optional<uint64_t> learning_end_{};  ///< TSC; nullopt: the device has yet to learn
    uint16_t trial_ = 0;
    uint16_t last_trial_ = 0;
    std::vector<sequence_account> accounts_{};  ///< by stream
    std::vector<uint64_t> damaged_{};           ///< by stream
    uint64_t misdirected_ = 0, late_ = 0, foreign_ = 0, expected_ = 0, learned_ = 0;
    double max_lag_ = 0;
    bool refused_are_lost_ = false;
    latency_histogram latency_{};
    realtime_scope realtime_{};
};

}  // namespace turnpike::throughput
