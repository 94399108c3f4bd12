// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tx_ring.hpp"

#include <algorithm>
#include <cstring>

#include "engine/classify.hpp"

namespace turnpike::simnic {

using pcie::purpose;

tx_ring::tx_ring(const tx_policy& p, bus& b)
    : policy_(p), bus_(b), staging_(std::make_unique<uint8_t[]>(max_frame_bytes)) {}

void tx_ring::attach(const tx_ring_settings& s) noexcept {
    settings_ = s;
    seen_tail_ = next_fetch_ = fetched_ = chip_at_ = done_at_ = answer_at_ = waiting_ = 0;
    gathered_ = 0;
    broken_ = in_hand_ = false;
}

bool tx_ring::busy() const noexcept {
    if (settings_.size == 0) return false;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_acquire);
    return fetched_ != 0 || (tail < settings_.size && tail != next_fetch_);
}

bool tx_ring::tail_moved() noexcept {
    if (settings_.size == 0) return false;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_relaxed);
    const bool moved = tail != seen_tail_;
    seen_tail_ = tail;
    return moved;
}

bool tx_ring::fetch(bool patient) noexcept {
    if (settings_.size == 0) return false;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_acquire);
    if (tail >= settings_.size) [[unlikely]] {
        bad_tail.add(1);
        return false;
    }
    const uint32_t posted =
        tail >= next_fetch_ ? tail - next_fetch_ : settings_.size - next_fetch_ + tail;
    if (policy_.fetch_waits && patient && posted < policy_.fetch_batch) return false;
    const uint32_t to_end = settings_.size - next_fetch_;
    const uint32_t n = std::min({posted, to_end, policy_.fetch_batch});
    if (n == 0) return false;
    const descriptor* from = bus_.read_descriptors(
        purpose::tx_descriptor_fetch, settings_.iova + next_fetch_ * sizeof(descriptor),
        n * static_cast<uint32_t>(sizeof(descriptor)));
    if (from == nullptr) return false;
    std::memcpy(chip_.data(), from, n * sizeof(descriptor));
    chip_at_ = 0;
    fetched_ = n;
    next_fetch_ += n;
    if (next_fetch_ == settings_.size) next_fetch_ = 0;
    return true;
}

outgoing tx_ring::next(bool patient) noexcept {
    while (fetched_ != 0 || fetch(patient)) {
        const descriptor& d = chip_[chip_at_];
        const outgoing frame = segment(d);
        if (frame.bytes != nullptr) {
            in_hand_ = true;
            return frame;
        }
        answer_one(d);
    }
    return {};
}

void tx_ring::done() noexcept {
    if (!in_hand_) return;
    in_hand_ = false;
    answer_one(chip_[chip_at_]);
}

/// Take in one descriptor; gives the frame that ends with it.
outgoing tx_ring::segment(const descriptor& d) noexcept {
    const uint64_t command = d.word[1];
    const uint32_t length = tx_bytes(command);
    const bool ends = (command & tx_end) != 0;
    const uint8_t* from = nullptr;
    if ((command & tx_type_mask) != tx_type_data || length == 0 ||
        gathered_ + length > max_frame_bytes) [[unlikely]]
        bad_descriptors.add(1);
    else
        from = bus_.read_frame(d.word[0], length);
    if (from == nullptr) [[unlikely]]
        broken_ = true;

    outgoing frame;
    if (!broken_ && ends && gathered_ == 0 && length >= min_frame_bytes &&
        (command & (tx_ipv4_checksum | tx_l4_mask)) == 0) [[likely]] {
        frame = {from, length};  // as it lies in the host's memory: nothing to add
    } else if (!broken_) {
        std::memcpy(&staging_[gathered_], from, length);
        gathered_ += length;
        if (ends) frame = finish(command, staging_.get(), gathered_);
    }
    if (ends) {
        if (broken_) errors.add(1);
        broken_ = false;
        gathered_ = 0;
    }
    if (frame.bytes != nullptr) {
        packets.add(1);
        bytes.add(frame.length);
    }
    return frame;
}

outgoing tx_ring::finish(uint64_t command, const uint8_t* whole, uint32_t length) noexcept {
    insert_checksums(command, staging_.get(), length);
    if (length < min_frame_bytes) {
        std::memset(&staging_[length], 0, min_frame_bytes - length);
        length = min_frame_bytes;
    }
    return {whole, length};
}

/// The descriptor in hand is done with: answer it, at once or with others.
void tx_ring::answer_one(const descriptor& d) noexcept {
    const uint32_t at = done_at_;
    if (++done_at_ == settings_.size) done_at_ = 0;
    ++chip_at_;
    --fetched_;
    if (policy_.write_back_packets != 0) {
        if (++waiting_ >= policy_.write_back_packets) write_back();
        return;
    }
    if ((d.word[1] & tx_report) == 0) return;
    if (descriptor* to = bus_.write_descriptors(
            purpose::tx_write_back, settings_.iova + at * sizeof(descriptor), sizeof(descriptor));
        to != nullptr)
        answer(*to, d.word[0], tx_type_done);
}

void tx_ring::write_back() noexcept {
    while (waiting_ > 0) {
        const uint32_t n = std::min(waiting_, settings_.size - answer_at_);
        descriptor* to = bus_.write_descriptors(purpose::tx_write_back,
                                                settings_.iova + answer_at_ * sizeof(descriptor),
                                                n * static_cast<uint32_t>(sizeof(descriptor)));
        for (uint32_t i = 0; to != nullptr && i < n; ++i) answer(to[i], 0, tx_type_done);
        waiting_ -= n;
        answer_at_ += n;
        if (answer_at_ == settings_.size) answer_at_ = 0;
    }
}

}  // namespace turnpike::simnic
