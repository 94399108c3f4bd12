// SPDX-License-Identifier: BSD-3-Clause
// Splits a PCIe access into TLPs and 64-byte lines.
//
// Source: equations 1 to 3 of "Understanding PCIe performance for end host networking" (equation 2
// has a stray "+ sz": a read sends only requests upstream), and the specification's rules on where
// a TLP must end, which the paper omits: - no request crosses a 4 KB boundary (Base Specification
// 3.0, 2.2.7); - a completion that is not the last of its request ends on a Read Completion
// Boundary (2.3.1.1). The host is taken to send the largest completions this allows; many send
// smaller ones. Payloads count as in the paper, in bytes: without the padding to 4-byte words of a
// TLP whose address or length is no multiple of 4.
//
// A line that two TLPs share counts for each of them, as in the root complex's counters.
//
// Every function here is O(1) per 4 KB page (write) or per read request (read), allocates nothing,
// and requires a link that passed validate(). An access of 0 bytes has no TLP. Threads: any.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "pcie/link.hpp"
#include "pcie/transactions.hpp"

namespace turnpike::pcie {

inline constexpr uint32_t line_bytes = 64;
inline constexpr uint32_t page_bytes = 4096;

namespace detail {

struct line_count {
    uint64_t full = 0;
    uint64_t partial = 0;
};

/// Lines of [offset, offset + bytes), offset below 64, bytes over 0.
constexpr line_count lines_of(uint32_t offset, uint32_t bytes) noexcept {
    const uint32_t end = offset + bytes;
    const uint32_t touched = (end + line_bytes - 1) / line_bytes;
    const uint32_t first_whole = offset == 0 ? 0 : 1;
    const uint32_t after_last_whole = end / line_bytes;
    const uint32_t full = after_last_whole > first_whole ? after_last_whole - first_whole : 0;
    return {full, touched - full};
}

/// A range within one page, split every `limit` bytes from its start (a power of two, 128 or more).
struct cut {
    uint64_t tlps = 0;
    line_count lines;
};

constexpr cut cut_within_page(uint32_t offset, uint32_t bytes, uint32_t limit) noexcept {
    const uint32_t whole = (bytes - 1) >> std::countr_zero(limit);  // all but the last TLP
    const line_count last = lines_of(offset % line_bytes, bytes - whole * limit);
    if (whole == 0) return {1, last};
    // limit is a multiple of a line, so every TLP starts at the same offset in its line.
    const line_count each = lines_of(offset % line_bytes, limit);
    return {whole + 1, {whole * each.full + last.full, whole * each.partial + last.partial}};
}

/// Number of completions of one read request: one if it fits, else the first ends on the last
/// boundary within MPS of its start, and the others follow from there.
constexpr uint64_t completions_of(const link& l, uint64_t address, uint32_t bytes) noexcept {
    if (bytes <= l.mps) return 1;
    const uint32_t first = l.mps - static_cast<uint32_t>(address % l.rcb);
    return 1 + ((bytes - first + l.mps - 1) >> std::countr_zero(l.mps));
}

/// Call on_part(address, bytes) for the part of [address, address + bytes) in each page.
template <class OnPart>
constexpr void for_each_page(uint64_t address, uint64_t bytes, OnPart on_part) noexcept {
    while (bytes > 0) {
        const uint64_t to_boundary = page_bytes - address % page_bytes;
        const auto part = static_cast<uint32_t>(std::min(bytes, to_boundary));
        on_part(address, part);
        address += part;
        bytes -= part;
    }
}

}  // namespace detail

/// The device writes host memory (a received frame, a descriptor write-back).
///
/// address  on the bus; only its offset within a page matters
constexpr transactions write(const link& l, uint64_t address, uint64_t bytes) noexcept {
    transactions t;
    detail::for_each_page(address, bytes, [&](uint64_t at, uint32_t part) {
        const auto cut =
            detail::cut_within_page(static_cast<uint32_t>(at % page_bytes), part, l.mps);
        t.tlps.mwr += cut.tlps;
        t.lines.itom += cut.lines.full;
        t.lines.rfo += cut.lines.partial;
    });
    t.bytes.up = t.tlps.mwr * request_overhead_bytes(l) + bytes;
    t.dma.written = bytes;
    return t;
}

/// The device reads host memory (a frame to send, a descriptor).
constexpr transactions read(const link& l, uint64_t address, uint64_t bytes) noexcept {
    transactions t;
    detail::for_each_page(address, bytes, [&](uint64_t at, uint32_t part) {
        const auto cut =
            detail::cut_within_page(static_cast<uint32_t>(at % page_bytes), part, l.mrrs);
        t.tlps.mrd += cut.tlps;
        t.lines.rd_cur += cut.lines.full + cut.lines.partial;
        for (uint32_t done = 0; done < part; done += l.mrrs)
            t.tlps.cpld +=
                detail::completions_of(l, at + done, std::min<uint32_t>(part - done, l.mrrs));
    });
    t.bytes.up = t.tlps.mrd * request_overhead_bytes(l);
    t.bytes.down = t.tlps.cpld * completion_overhead_bytes(l) + bytes;
    t.dma.read = bytes;
    return t;
}

/// A core writes a register of the device (a doorbell), up to 64 bytes.
constexpr transactions register_write(const link& l, uint32_t bytes) noexcept {
    transactions t;
    t.tlps.mwr = 1;
    t.bytes.down = request_overhead_bytes(l) + bytes;
    t.lines.wil = 1;
    return t;
}

/// A core reads a register of the device, up to 64 bytes.
constexpr transactions register_read(const link& l, uint32_t bytes) noexcept {
    transactions t;
    t.tlps.mrd = 1;
    t.tlps.cpld = 1;
    t.bytes.down = request_overhead_bytes(l);
    t.bytes.up = completion_overhead_bytes(l) + bytes;
    t.lines.prd = 1;
    return t;
}

/// The device sends an interrupt message (MSI, MSI-X): a write of 4 bytes that does not go to
/// memory.
constexpr transactions interrupt(const link& l) noexcept {
    constexpr uint32_t message_bytes = 4;
    transactions t;
    t.tlps.mwr = 1;
    t.bytes.up = request_overhead_bytes(l) + message_bytes;
    return t;
}

}  // namespace turnpike::pcie
