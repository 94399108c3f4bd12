// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cable.hpp"

#include <cstring>
#include <map>

namespace turnpike::simnic {
namespace {

struct plugged {
    std::string peer;
    std::shared_ptr<cable_core> core;
    unsigned end;
};

/// Cable ends by device name.
struct patch_panel {
    std::mutex lock;
    std::map<std::string, plugged> ends;
};

patch_panel& panel() {
    static patch_panel the;
    return the;
}

constexpr uint64_t record_bytes(uint32_t frame_bytes) noexcept {
    return (sizeof(uint32_t) + frame_bytes + 7) & ~uint64_t{7};
}

}  // namespace

frame_fifo::frame_fifo() : ring_(std::make_unique<uint8_t[]>(capacity)) {}

bool frame_fifo::put(const outgoing& frame) noexcept {
    uint64_t at = put_.load(std::memory_order_relaxed);
    const uint64_t got = got_.load(std::memory_order_acquire);
    const uint64_t record = record_bytes(frame.length);
    const uint64_t to_end = capacity - at % capacity;
    const uint64_t needed = record <= to_end ? record : to_end + record;
    if (at + needed - got > capacity) {
        lost.add(1);
        return false;
    }
    if (record > to_end) {
        std::memcpy(&ring_[at % capacity], &skip, sizeof skip);
        at += to_end;
    }
    std::memcpy(&ring_[at % capacity], &frame.length, sizeof frame.length);
    std::memcpy(&ring_[at % capacity + sizeof frame.length], frame.bytes, frame.length);
    put_.store(at + record, std::memory_order_release);
    return true;
}

/// The length of the frame stored at `at`. If the ring's end had no room for it, the frame is at
/// the start, and `at` moves there.
uint32_t frame_fifo::record_at(uint64_t& at) const noexcept {
    uint32_t bytes;
    std::memcpy(&bytes, &ring_[at % capacity], sizeof bytes);
    if (bytes == skip) {
        at += capacity - at % capacity;
        std::memcpy(&bytes, &ring_[0], sizeof bytes);
    }
    return bytes;
}

uint32_t frame_fifo::front(std::span<outgoing> into) noexcept {
    const uint64_t put = put_.load(std::memory_order_acquire);
    uint64_t at = got_.load(std::memory_order_relaxed);
    uint32_t n = 0;
    for (; n < into.size() && at != put; ++n) {
        const uint32_t bytes = record_at(at);
        into[n] = {&ring_[at % capacity + sizeof bytes], bytes};
        at += record_bytes(bytes);
    }
    return n;
}

void frame_fifo::drop(uint32_t n) noexcept {
    uint64_t at = got_.load(std::memory_order_relaxed);
    for (; n > 0; --n) {
        const uint32_t bytes = record_at(at);
        at += record_bytes(bytes);
    }
    got_.store(at, std::memory_order_release);
}

result<std::unique_ptr<wire>> cable::connect(const std::string& self, const std::string& peer) {
    const std::string object = "wire=peer:" + peer;
    if (self == peer) return fail(EINVAL, object, "a cable has two ends; name another simnic");
    patch_panel& p = panel();
    const std::lock_guard guard(p.lock);
    std::shared_ptr<cable_core> core;
    unsigned end = 0;
    if (const auto other = p.ends.find(peer); other != p.ends.end()) {
        if (other->second.peer != self)
            return fail(EBUSY, object, peer + " is connected to " + other->second.peer);
        core = other->second.core;
        end = 1 - other->second.end;
    } else {
        core = std::make_shared<cable_core>();
    }
    if (!p.ends.emplace(self, plugged{peer, core, end}).second)
        return fail(EBUSY, object, self + " is connected already");
    core->ends.fetch_or(1u << end, std::memory_order_release);
    return std::unique_ptr<wire>(new cable(core, end, self));
}

cable::~cable() {
    patch_panel& p = panel();
    const std::lock_guard guard(p.lock);
    p.ends.erase(self_);
    core_->ends.fetch_and(~(1u << end_), std::memory_order_release);
}

void cable::send(std::span<const outgoing> frames) noexcept {
    if (!up()) return;
    for (const outgoing& f : frames) core_->to[1 - end_].put(f);
}

size_t cable::counts(std::span<wire_count> into) const noexcept {
    into[0] = {"wire_fifo_lost", core_->to[end_].lost.read()};
    return 1;
}

}  // namespace turnpike::simnic
