// SPDX-License-Identifier: BSD-3-Clause
// The line's counts of impairments equal the receiver's observations, frame by frame.
#include "wire/impaired.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "unit/simnic/wires.hpp"
#include "wire/generator.hpp"

namespace turnpike::simnic {
namespace {

using test::count, test::frame, test::inject, test::next_frame;

constexpr uint64_t hz = 1'000'000'000;
constexpr packet::mac_address senders_mac{{2, 0, 0, 0, 0, 9}};

std::unique_ptr<wire> bad_line(const impairments& i, const pace& p = {}) {
    traffic t;
    t.smallest = 64;
    t.largest = 128;
    return std::make_unique<impaired>(std::make_unique<generator>(t, p, 1, senders_mac), i, hz);
}

/// Sends back all frames that are due; none stays on the line.
void reflect(wire& w, uint64_t now) {
    for (frame f = next_frame(w, now); !f.empty(); f = next_frame(w, now)) inject(w, f);
}

struct shares {
    const char* name;
    impairments of;
};

class bad_lines : public ::testing::TestWithParam<shares> {};

TEST_P(bad_lines, show_in_the_receivers_counts_exactly) {
    constexpr uint32_t frames = 20'000;
    for (uint32_t seed = 1; seed <= 4; ++seed) {
        impairments i = GetParam().of;
        i.seed = seed;
        const auto w = bad_line(i, pace(0, 1));
        const auto missing = [&w] {
            return count(*w, "impair_lost") + count(*w, "impair_corrupted") - count(*w, "gen_lost");
        };
        // A gap behind the last frame that came shows with the next one.
        for (uint64_t now = 0; now < frames || (missing() != 0 && now < frames + 1000); ++now)
            reflect(*w, now);
        const auto near = [](uint64_t n, double share) {
            EXPECT_NEAR(static_cast<double>(n), share * frames, share * frames / 4);
        };
        near(count(*w, "impair_lost"), i.loss);
        near(count(*w, "impair_corrupted"), i.corrupt);
        near(count(*w, "impair_duplicated"), i.duplicate);
        EXPECT_EQ(missing(), 0u);
        EXPECT_EQ(count(*w, "gen_damaged"), count(*w, "impair_corrupted"));
        EXPECT_EQ(count(*w, "gen_duplicated"), count(*w, "impair_duplicated"));
        EXPECT_EQ(count(*w, "gen_reordered"), count(*w, "impair_reordered"));
        if (i.reorder > 0) {
            EXPECT_GT(count(*w, "impair_reordered"), i.reorder * frames / 2);
        }
        EXPECT_EQ(count(*w, "gen_foreign"), 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(
    all, bad_lines,
    ::testing::Values(shares{"loses", {.loss = 0.02}}, shares{"duplicates", {.duplicate = 0.02}},
                      shares{"reorders", {.reorder = 0.02}}, shares{"corrupts", {.corrupt = 0.02}},
                      shares{"does_it_all",
                             {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05}}),
    [](const auto& p) { return p.param.name; });

TEST(bad_line, loses_every_nth_frame_exactly) {
    for (const uint32_t every : {2u, 7u, 1000u}) {
        const auto w = bad_line({.loss_every = every}, pace(0, 1));
        for (uint64_t now = 0; now < 20'000; ++now) reflect(*w, now);
        EXPECT_EQ(count(*w, "impair_lost"), count(*w, "gen_sent") / every);
    }
}

/// A frame every 1000 cycles for a queue that passes one every 2000: half of them, after the buffer is full.
TEST(bad_line, a_queue_passes_its_rate_and_holds_its_buffer) {
    constexpr uint32_t buffer = 100;
    constexpr uint64_t frames = 10'000;
    const auto w = bad_line({.cap_pps = 500e3, .buffer = buffer}, pace(0, 1000));
    uint64_t arrived = 0, last = 0, longest = 0;
    for (uint64_t now = 0; now < frames * 1000; now += 100) {
        for (frame f = next_frame(*w, now); !f.empty(); f = next_frame(*w, now)) {
            if (arrived++ != 0) longest = std::max(longest, now - last);
            last = now;
        }
    }
    const uint64_t lost = count(*w, "impair_queue_lost");
    EXPECT_EQ(count(*w, "gen_sent"), frames);
    EXPECT_EQ(arrived, frames / 2 - 1);  // the first leaves after 2000 cycles
    EXPECT_EQ(lost + arrived + buffer, frames);
    EXPECT_EQ(longest, 2000u);
}

TEST(bad_line, a_burst_of_the_buffer_s_size_is_not_lost) {
    for (const uint32_t buffer : {1u, 64u, 2000u, impaired::max_buffer}) {
        const auto w = bad_line({.cap_pps = 1000, .buffer = buffer}, pace(0, 1));
        (void)next_frame(*w, buffer - 1);  // this many frames and one are due
        EXPECT_EQ(count(*w, "gen_sent"), buffer);
        EXPECT_EQ(count(*w, "impair_queue_lost"), 0u);
        (void)next_frame(*w, buffer);
        EXPECT_EQ(count(*w, "impair_queue_lost"), 1u);
    }
}

TEST(bad_line, an_unpaced_wire_whose_frames_are_all_lost_does_not_hang) {
    const auto w = bad_line({.loss = 1});
    EXPECT_TRUE(next_frame(*w, 1).empty());
}

TEST(bad_line, is_the_same_for_the_same_seed) {
    impairments i{.loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .corrupt = 0.1};
    const auto frames_of = [&i](uint32_t seed) {
        i.seed = seed;
        const auto w = bad_line(i);
        std::vector<frame> all;
        for (int n = 0; n < 1000; ++n) all.push_back(next_frame(*w));
        return all;
    };
    EXPECT_EQ(frames_of(7), frames_of(7));
    EXPECT_NE(frames_of(7), frames_of(8));
}

TEST(bad_line, may_lose_everything) {
    const auto w = bad_line({.loss = 1}, pace(0, 100));
    EXPECT_TRUE(next_frame(*w, 1'000'000).empty());
    EXPECT_EQ(count(*w, "impair_lost"), 10'001u);
}

TEST(bad_line, delays_each_frame_alike) {
    const auto w = bad_line({.delay_us = 50}, pace(0, 1000));  // a frame a microsecond
    for (uint64_t now = 0; now < 50'000; now += 1000)
        EXPECT_TRUE(next_frame(*w, now).empty()) << "at " << now;
    for (uint64_t now = 50'000; now < 100'000; now += 1000) {
        EXPECT_FALSE(next_frame(*w, now).empty()) << "at " << now;
        EXPECT_TRUE(next_frame(*w, now).empty()) << "one at a time, " << now;
    }
    EXPECT_EQ(count(*w, "impair_delayed"), 100u);
    EXPECT_EQ(w->skip_due(149'000), 50u) << "those of the microseconds from 50 on";
}

TEST(bad_line, delays_as_many_frames_as_it_holds) {
    const auto w = bad_line({.delay_us = impaired::max_delayed}, pace(0, 1000));
    constexpr uint64_t delay = impaired::max_delayed * 1000;
    for (uint64_t now = 0; now < delay; now += 1000)
        ASSERT_TRUE(next_frame(*w, now).empty()) << "at " << now;
    for (uint64_t now = delay; now < 3 * delay; now += 1000)
        ASSERT_FALSE(next_frame(*w, now).empty()) << "at " << now;
}

/// The given number of numbered frames.
class numbered final : public wire {
  public:
    uint32_t ready = 0;

    uint32_t peek(uint64_t, std::span<outgoing> into) noexcept override {
        const auto n = std::min(static_cast<uint32_t>(into.size()), ready);
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t number = next_ + i;
            std::memcpy(frames_[i].data(), &number, sizeof number);
            into[i] = {frames_[i].data(), static_cast<uint32_t>(frames_[i].size())};
        }
        return n;
    }
    void pop(uint32_t n) noexcept override {
        next_ += n;
        ready -= n;
    }
    bool waits() const noexcept override { return true; }
    void send(std::span<const outgoing>) noexcept override {}
    size_t counts(std::span<wire_count>) const noexcept override { return 0; }

  private:
    uint32_t next_ = 0;
    std::array<std::array<uint8_t, 60>, frame_batch> frames_{};
};

/// The maximum on the line: with one frame held, 32 frames that are all duplicated make 65.
TEST(bad_line, has_room_for_whatever_it_lets_on) {
    constexpr uint32_t almost_full = 4096 - 2 * frame_batch;
    auto* source = new numbered;
    impaired line(std::unique_ptr<wire>(source),
                  {.duplicate = 0.97, .reorder = 0.03, .delay_us = 1}, hz);
    uint64_t on_line = 0, came = 0;
    uint32_t last = 0;
    const auto pass_on = [&](uint32_t n) {
        const uint64_t before = count(line, "impair_delayed");
        source->ready += n;
        outgoing none;
        (void)line.peek(0, {&none, 1});
        const uint64_t grew = count(line, "impair_delayed") - before;
        on_line += grew;
        return grew;
    };
    const auto detach_from = [&](uint64_t n) {
        for (; n > 0; --n, --on_line, ++came) {
            const frame f = next_frame(line, 1'000'000);
            uint32_t number = 0;
            ASSERT_EQ(f.size(), 60u);
            std::memcpy(&number, f.data(), sizeof number);
            // A frame may wait for the next that comes whole, and the one behind it may come first.
            ASSERT_LE(number, last + 3) << "after " << came;
            ASSERT_GE(number + 3, last) << "after " << came;
            last = number;
        }
    };
    for (uint32_t round = 0; round < 3000; ++round) {
        bool holds = false;
        while (on_line < almost_full || (on_line == almost_full && !holds)) {
            holds = pass_on(1) == 0;
            if (source->ready != 0) break;
        }
        if (on_line == almost_full && holds) pass_on(frame_batch);
        ASSERT_LE(on_line, 4096u) << "round " << round;
        source->ready = 0;
        ASSERT_NO_FATAL_FAILURE(detach_from(on_line < 100 ? on_line : 100));
    }
}

TEST(bad_line, an_outage_loses_its_frames_once) {
    const auto w = bad_line({.outage_after = 100, .outage = 40}, pace(0, 1));
    for (uint64_t now = 0; now < 1000; ++now)
        EXPECT_EQ(next_frame(*w, now).empty(), now >= 100 && now < 140) << now;
    EXPECT_EQ(count(*w, "impair_lost"), 40u);
}

TEST(bad_line, that_recovers_loses_nothing_later) {
    const auto w = bad_line({.loss_every = 20, .loss_until = 205}, pace(0, 1));
    for (uint64_t now = 0; now < 1000; ++now)
        EXPECT_EQ(next_frame(*w, now).empty(), now < 205 && now % 20 == 19) << now;
    EXPECT_EQ(count(*w, "impair_lost"), 10u);
}

TEST(bad_line, flaps_and_counts_what_that_cost) {
    const auto w = bad_line({.up_ms = 3, .down_ms = 1}, pace(0, 10'000));  // 100 frames a ms
    uint64_t came = 0, came_back = 0;
    for (uint64_t now = 0; now < 40'000'000; now += 10'000) {
        const frame f = next_frame(*w, now);
        EXPECT_EQ(w->up(), now % 4'000'000 < 3'000'000) << now;
        EXPECT_EQ(w->up(), !f.empty()) << now;
        if (f.empty()) {
            inject(*w, frame(60, 0));
            continue;
        }
        ++came;
        inject(*w, f);
        ++came_back;
    }
    EXPECT_EQ(count(*w, "link_flaps"), 10u);
    EXPECT_EQ(count(*w, "link_rx_lost"), 1000u);
    EXPECT_EQ(count(*w, "link_tx_lost"), 1000u);
    EXPECT_EQ(came, 3000u);
    EXPECT_EQ(count(*w, "gen_received"), came_back);
    EXPECT_EQ(count(*w, "gen_lost"), 900u) << "the tenth gap is still open";
}

}  // namespace
}  // namespace turnpike::simnic
