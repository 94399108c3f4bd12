// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rx_ring.hpp"

#include <algorithm>
#include <cstring>

#include "counters/meter.hpp"
#include "packet/headers.hpp"

namespace turnpike::simnic {

using pcie::purpose;

namespace {

/// Copy 32 to 64 bytes inline, in four pieces that may overlap.
void copy_frame(uint8_t* to, const uint8_t* from, uint32_t bytes) noexcept {
    if (bytes < 32 || bytes > 64) {
        std::memcpy(to, from, bytes);
        return;
    }
    struct piece {
        uint64_t words[2];
    } first, second, third, fourth;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&second, from + 16, sizeof second);
    std::memcpy(&third, from + bytes - 32, sizeof third);
    std::memcpy(&fourth, from + bytes - 16, sizeof fourth);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + 16, &second, sizeof second);
    std::memcpy(to + bytes - 32, &third, sizeof third);
    std::memcpy(to + bytes - 16, &fourth, sizeof fourth);
}

/// Length of the frame in the host's buffers.
uint32_t length_of(const incoming& frame) noexcept {
    const bool strip = (frame.status & rx_stripped) != 0;
    return frame.length - (strip ? uint32_t{sizeof(packet::vlan_tag)} : 0);
}

/// Copy bytes `at` to `at + bytes` of the frame with its VLAN tag removed.
void copy_without_tag(uint8_t* to, const uint8_t* frame, uint32_t at, uint32_t bytes) noexcept {
    constexpr uint32_t addresses = 12;
    const uint32_t before = at < addresses ? std::min(addresses - at, bytes) : 0;
    std::memcpy(to, frame + at, before);
    std::memcpy(to + before, frame + at + before + sizeof(packet::vlan_tag), bytes - before);
}

}  // namespace

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
    // Fetch up to the tail or the ring's end; a wrapped rest is a separate fetch.
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

/// Copy a frame into a buffer; returns the write-back.
[[gnu::always_inline]] inline descriptor rx_ring::fill(uint64_t buffer,
                                                       const incoming& frame) noexcept {
    const bool strip = (frame.status & rx_stripped) != 0;
    const uint32_t length = length_of(frame);
    uint8_t* to = length <= settings_.buffer_bytes ? bus_.frame_at(buffer, length) : nullptr;
    if (to == nullptr) [[unlikely]]
        return {{0, rx_answer_1(rx_done | rx_end | rx_error, 0)}};
    if (strip) [[unlikely]]
        copy_without_tag(to, frame.bytes, 0, length);
    else
        copy_frame(to, frame.bytes, length);
    return {{rx_answer_0(frame.ptype, strip ? frame.tag : 0, frame.hash),
             rx_answer_1(rx_done | rx_end | frame.status, length)}};
}

/// Number of write-backs to coalesce from here on.
uint32_t rx_ring::answers_wanted() noexcept {
    switch (policy_.write_back) {
        case pcie::write_back_policy::batch:
            return policy_.write_back_packets;
        case pcie::write_back_policy::by_line: {
            // full_line_share is a share of the entries, but each decision is made for the entries
            // at a line's start: so spend the share line by line.
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

uint32_t rx_ring::receive(std::span<const incoming> frames) noexcept {
    if (settings_.timestamps) std::fill(stamps_.begin() + waiting_, stamps_.end(), counters::tsc());
    if (!settings_.scatter) return receive_whole(frames);
    uint32_t n = 0;
    while (n < frames.size()) {
        uint32_t end = n;
        while (end < frames.size() && length_of(frames[end]) <= settings_.buffer_bytes) ++end;
        if (end == n) {
            if (!receive_scattered(frames[n])) break;
            ++n;
            continue;
        }
        n += receive_whole(frames.subspan(n, end - n));
        if (n != end) break;
    }
    return n;
}

/// Posted descriptors whose buffers the device has not used yet.
uint32_t rx_ring::posted() const noexcept {
    const uint32_t on_chip = fetched_ - chip_at_;
    if (settings_.size == 0) return 0;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_acquire);
    if (tail >= settings_.size) return on_chip;
    return on_chip +
           (tail >= next_fetch_ ? tail - next_fetch_ : settings_.size - next_fetch_ + tail);
}

/// Copy a frame into as many buffers as it needs, or, if too few are posted, into none. Each
/// write-back has the frame's type and status; the last one has rx_end.
bool rx_ring::receive_scattered(const incoming& frame) noexcept {
    const bool strip = (frame.status & rx_stripped) != 0;
    const uint32_t length = length_of(frame), most = settings_.buffer_bytes;
    if (posted() < (length + most - 1) / most) return false;
    bool good = true;
    for (uint32_t at = 0, part = 0; at < length && good; at += part) {
        if (chip_at_ == fetched_ && !fetch()) return false;
        if (waiting_ == answers_.size()) write_back(true);
        part = std::min(most, length - at);
        const uint64_t buffer = chip_[chip_at_++];
        uint8_t* to = bus_.frame_at(buffer, part);
        good = to != nullptr;
        if (!good) {
            answers_[waiting_++] = {{0, rx_answer_1(rx_done | rx_end | rx_error, 0)}};
            break;
        }
        if (strip)
            copy_without_tag(to, frame.bytes, at, part);
        else
            std::memcpy(to, frame.bytes + at, part);
        bus_.count_frame<tally::device_writes>(buffer, part);
        bus_.written(to, part);
        const uint32_t ends = at + part == length ? rx_end : 0;
        answers_[waiting_++] = {{rx_answer_0(frame.ptype, strip ? frame.tag : 0, frame.hash),
                                 rx_answer_1(rx_done | ends | frame.status, part)}};
    }
    write_back(false);
    (good ? packets : errors).add(1);
    if (good) bytes.add(length);
    return true;
}

uint32_t rx_ring::receive_whole(std::span<const incoming> frames) noexcept {
    uint32_t n = 0, good = 0;
    uint64_t sum = 0;
    while (n < frames.size() && (chip_at_ != fetched_ || fetch())) {
        const auto left = static_cast<uint32_t>(frames.size()) - n;
        const uint32_t some = std::min(left, fetched_ - chip_at_);
        tally::run run(frames[n].length);
        for (uint32_t i = 0; i < some; ++i) {
            const uint64_t buffer = chip_[chip_at_ + i];
            const descriptor answer = fill(buffer, frames[n + i]);
            answers_[waiting_ + i] = answer;
            const uint32_t written = rx_bytes(answer);
            run.see(buffer, written);
            good += written != 0 ? 1 : 0;
            sum += written;
        }
        bus_.count_frames<tally::device_writes>(run, some, [&](uint32_t i) {
            return tally::access{chip_[chip_at_ + i], rx_bytes(answers_[waiting_ + i])};
        });
        for (uint32_t i = 0; bus_.cold() && i < some; ++i)
            bus_.written_frame(chip_[chip_at_ + i], rx_bytes(answers_[waiting_ + i]));
        n += some;
        chip_at_ += some;
        waiting_ += some;
    }
    write_back(false);
    packets.add(good);
    bytes.add(sum);
    errors.add(n - good);
    return n;
}

/// Write back pending descriptors, coalesced as the policy says.
///
/// all  do not wait for a batch to fill
void rx_ring::write_back(bool all) noexcept {
    uint32_t done = 0;
    if (policy_.write_back == pcie::write_back_policy::per_packet) {
        write_answers(answers_.data(), waiting_, true);
        done = waiting_;
    }
    while (done < waiting_ && (all || waiting_ - done >= wanted_)) {
        const uint32_t n = std::min(waiting_ - done, wanted_);
        write_answers(&answers_[done], n, false);
        done += n;
        wanted_ = answers_wanted();
    }
    waiting_ -= done;
    if (waiting_ == 0 || done == 0) return;
    std::memmove(answers_.data(), &answers_[done], waiting_ * sizeof(descriptor));
    if (settings_.timestamps)
        std::memmove(stamps_.data(), &stamps_[done], waiting_ * sizeof(uint64_t));
}

/// singly  a write per descriptor; otherwise one write, or two around the ring's end
void rx_ring::write_answers(const descriptor* answers, uint32_t count, bool singly) noexcept {
    const uint32_t each = policy_.descriptor_bytes, words = each / sizeof(descriptor);
    while (count > 0) {
        const uint32_t n = std::min(count, settings_.size - answer_at_);
        const uint64_t iova = settings_.iova + answer_at_ * each;
        descriptor* to = singly ? bus_.write_answers_singly(iova, n, each)
                                : bus_.write_descriptors(purpose::rx_write_back, iova, n * each);
        for (uint32_t i = 0; to != nullptr && i < n; ++i) {
            if (words == 2)
                to[i * words + 1] = {{stamps_[size_t(answers - answers_.data()) + i], 0}};
            answer(to[i * words], answers[i].word[0], answers[i].word[1]);
        }
        if (to != nullptr) bus_.written(to, n * each);
        answers += n;
        count -= n;
        answer_at_ += n;
        if (answer_at_ == settings_.size) answer_at_ = 0;
    }
}

}  // namespace turnpike::simnic
