// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rx_ring.hpp"

#include <algorithm>
#include <cstring>

namespace turnpike::simnic {

using pcie::purpose;

void rx_ring::attach(const rx_ring_settings& s) noexcept {
    settings_ = s;
    next_fetch_ = fetched_ = chip_at_ = answer_at_ = waiting_ = 0;
    line_share_ = 0;
    wanted_ = answers_wanted();
}

bool rx_ring::fetch() noexcept {
    if (settings_.size == 0) return false;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_acquire);
    if (tail >= settings_.size) [[unlikely]] {
        bad_tail.add(1);
        return false;
    }
    // To the tail or to the ring's end: the rest is a fetch of its own.
    const uint32_t posted = (tail >= next_fetch_ ? tail : settings_.size) - next_fetch_;
    const uint32_t n = std::min(posted, policy_.fetch_batch);
    if (n == 0) return false;
    const uint32_t words = policy_.descriptor_bytes / sizeof(descriptor);
    const descriptor* from = bus_.read_descriptors(
        purpose::rx_descriptor_fetch, settings_.iova + next_fetch_ * policy_.descriptor_bytes,
        n * policy_.descriptor_bytes);
    if (from == nullptr) return false;
    for (uint32_t i = 0; i < n; ++i) chip_[i] = from[i * words].word[0];
    chip_at_ = 0;
    fetched_ = n;
    next_fetch_ += n;
    if (next_fetch_ == settings_.size) next_fetch_ = 0;
    return true;
}

void rx_ring::receive(const uint8_t* frame, uint32_t length, uint16_t ptype,
                      uint32_t status) noexcept {
    const uint64_t buffer = chip_[chip_at_++];
    --fetched_;
    descriptor& d = answers_[waiting_++];
    uint8_t* to = length <= settings_.buffer_bytes ? bus_.write_frame(buffer, length) : nullptr;
    if (to != nullptr) [[likely]] {
        std::memcpy(to, frame, length);
        packets.add(1);
        bytes.add(length);
        d = {{rx_answer_0(ptype), rx_answer_1(rx_done | rx_end | status, length)}};
    } else {
        errors.add(1);
        d = {{0, rx_answer_1(rx_done | rx_end | rx_error, 0)}};
    }
    if (waiting_ >= wanted_) write_back();
}

/// How many answers leave together, from here on.
uint32_t rx_ring::answers_wanted() noexcept {
    switch (policy_.write_back) {
        case pcie::write_back_policy::batch:
            return policy_.write_back_packets;
        case pcie::write_back_policy::by_line: {
            // Whole lines carry their share of the entries: each decision is for entries at a
            // line's start, so spend the share line by line.
            if (answer_at_ % policy_.write_back_packets != 0) return 1;
            line_share_ += policy_.full_line_share;
            if (line_share_ < 1) return 1;
            line_share_ -= 1;
            return policy_.write_back_packets;
        }
        default:
            return 1;
    }
}

void rx_ring::write_back() noexcept {
    const uint32_t words = policy_.descriptor_bytes / sizeof(descriptor);
    uint32_t done = 0;
    while (done < waiting_) {
        const uint32_t n = std::min(waiting_ - done, settings_.size - answer_at_);
        descriptor* to = bus_.write_descriptors(
            purpose::rx_write_back, settings_.iova + answer_at_ * policy_.descriptor_bytes,
            n * policy_.descriptor_bytes);
        for (uint32_t i = 0; to != nullptr && i < n; ++i) {
            if (words == 2) to[i * words + 1] = {};
            answer(to[i * words], answers_[done + i].word[0], answers_[done + i].word[1]);
        }
        done += n;
        answer_at_ += n;
        if (answer_at_ == settings_.size) answer_at_ = 0;
    }
    waiting_ = 0;
    wanted_ = answers_wanted();
}

}  // namespace turnpike::simnic
