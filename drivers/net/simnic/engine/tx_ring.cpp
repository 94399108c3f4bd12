// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tx_ring.hpp"

#include <algorithm>
#include <cstring>

#include "base/byte_order.hpp"
#include "engine/classify.hpp"
#include "packet/headers.hpp"

namespace turnpike::simnic {

using pcie::purpose;

tx_ring::tx_ring(const tx_policy& p, bus& b)
    : policy_(p),
      bus_(b),
      staging_(std::make_unique<uint8_t[]>(max_frame_bytes + sizeof(packet::vlan_tag))) {}

void tx_ring::attach(const tx_ring_settings& s) noexcept {
    settings_ = s;
    seen_tail_ = next_fetch_ = chip_at_ = taken_ = fetched_ = done_at_ = answer_at_ = waiting_ = 0;
    gathered_ = 0;
    broken_ = false;
}

bool tx_ring::busy() const noexcept {
    if (settings_.size == 0) return false;
    const uint32_t tail = settings_.tail->value.load(std::memory_order_acquire);
    return chip_at_ != fetched_ || (tail < settings_.size && tail != next_fetch_);
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
    chip_at_ = taken_ = 0;
    fetched_ = n;
    next_fetch_ += n;
    if (next_fetch_ == settings_.size) next_fetch_ = 0;
    return true;
}

uint32_t tx_ring::next(bool patient, std::span<outgoing> into) noexcept {
    uint32_t n = 0;
    while (n < into.size()) {
        if (taken_ == fetched_) {
            if (n != 0) break;
            done();  // only faulty descriptors
            if (!fetch(patient)) break;
        }
        if (const uint32_t some = fetch_simple(into.subspan(n)); some != 0) {
            n += some;
            continue;
        }
        if (const outgoing whole = gather(chip_[taken_++]); whole.bytes != nullptr) {
            into[n++] = whole;
            break;  // there is one gather buffer
        }
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += into[i].length;
    packets.add(n);
    bytes.add(sum);
    return n;
}

/// Take frames of one segment that need no insertion, in place, up to the first frame that does.
uint32_t tx_ring::fetch_simple(std::span<outgoing> into) noexcept {
    constexpr uint64_t shape =
        tx_type_mask | tx_end | tx_ipv4_checksum | tx_l4_mask | tx_insert_tag;
    if (gathered_ != 0 || broken_) return 0;
    const descriptor* from = &chip_[taken_];
    const uint32_t most = std::min(static_cast<uint32_t>(into.size()), fetched_ - taken_);
    tally::run run(tx_bytes(from->word[1]));
    uint32_t n = 0;
    for (; n < most; ++n) {
        const uint64_t command = from[n].word[1];
        const uint32_t length = tx_bytes(command);
        if ((command & shape) != (tx_type_data | tx_end) || length < min_frame_bytes ||
            length > max_frame_bytes)
            break;
        const uint8_t* at = bus_.peek_frame(from[n].word[0], length);
        if (at == nullptr) [[unlikely]]
            break;
        run.see(from[n].word[0], length);
        into[n] = {at, length};
    }
    bus_.count_frames<tally::device_reads>(run, n, [from](uint32_t i) {
        return tally::access{from[i].word[0], tx_bytes(from[i].word[1])};
    });
    taken_ += n;
    return n;
}

void tx_ring::done() noexcept {
    for (; chip_at_ < taken_; ++chip_at_) answer_one(chip_[chip_at_]);
}

/// Process any descriptor; returns the frame that ends with it.
outgoing tx_ring::gather(const descriptor& d) noexcept {
    const uint64_t command = d.word[1];
    const uint32_t length = tx_bytes(command);
    const uint8_t* from = nullptr;
    if ((command & tx_type_mask) != tx_type_data || length == 0 ||
        gathered_ + length > max_frame_bytes) [[unlikely]]
        bad_descriptors.add(1);
    else
        from = bus_.frame_at(d.word[0], length);
    if (from == nullptr) [[unlikely]]
        broken_ = true;
    else
        bus_.count_frame<tally::device_reads>(d.word[0], length);
    if (!broken_) {
        std::memcpy(&staging_[gathered_], from, length);
        gathered_ += length;
    }
    outgoing frame{};
    if ((command & tx_end) == 0) return frame;
    if (broken_)
        errors.add(1);
    else
        frame = finish(command);
    broken_ = false;
    gathered_ = 0;
    return frame;
}

outgoing tx_ring::finish(uint64_t command) noexcept {
    insert_checksums(command, staging_.get(), gathered_);
    if ((command & tx_insert_tag) != 0) insert_tag(static_cast<uint16_t>(command >> tx_tag_shift));
    if (gathered_ < min_frame_bytes) {
        std::memset(&staging_[gathered_], 0, min_frame_bytes - gathered_);
        gathered_ = min_frame_bytes;
    }
    return {staging_.get(), gathered_};
}

/// Insert after the addresses, if the frame is long enough to have them.
void tx_ring::insert_tag(uint16_t tag) noexcept {
    constexpr uint32_t addresses = 12;
    if (gathered_ < addresses) return;
    uint8_t* at = &staging_[addresses];
    std::memmove(at + sizeof(packet::vlan_tag), at, gathered_ - addresses);
    store_be<uint16_t>(at, packet::ether_type_vlan);
    store_be(at + 2, tag);
    gathered_ += static_cast<uint32_t>(sizeof(packet::vlan_tag));
}

/// Complete a descriptor: write it back now or with others.
void tx_ring::answer_one(const descriptor& d) noexcept {
    const uint32_t at = done_at_;
    if (++done_at_ == settings_.size) done_at_ = 0;
    if (policy_.write_back_packets != 0) {
        if (++waiting_ >= policy_.write_back_packets) write_back();
        return;
    }
    if ((d.word[1] & tx_report) == 0) return;
    if (descriptor* to = bus_.write_descriptors(
            purpose::tx_write_back, settings_.iova + at * sizeof(descriptor), sizeof(descriptor));
        to != nullptr) {
        answer(*to, d.word[0], tx_type_done);
        bus_.written(to, sizeof *to);
    }
}

void tx_ring::write_back() noexcept {
    while (waiting_ > 0) {
        const uint32_t n = std::min(waiting_, settings_.size - answer_at_);
        descriptor* to = bus_.write_descriptors(purpose::tx_write_back,
                                                settings_.iova + answer_at_ * sizeof(descriptor),
                                                n * static_cast<uint32_t>(sizeof(descriptor)));
        for (uint32_t i = 0; to != nullptr && i < n; ++i) answer(to[i], 0, tx_type_done);
        if (to != nullptr) bus_.written(to, n * static_cast<uint32_t>(sizeof(descriptor)));
        waiting_ -= n;
        answer_at_ += n;
        if (answer_at_ == settings_.size) answer_at_ = 0;
    }
}

}  // namespace turnpike::simnic
