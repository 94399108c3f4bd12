// SPDX-License-Identifier: BSD-3-Clause
// PCIe transaction counts, in the model's two units: TLPs with their wire bytes, and 64-byte lines
// under pcm-pcie's names (Intel, "Benchmarking and Analysis of Software Data Planes", 2017, table
// 17).
#pragma once

#include <concepts>
#include <cstdint>

namespace turnpike::pcie {

/// Number: uint64_t for counts, double for means per packet.
template <class Number>
requires std::same_as<Number, uint64_t> || std::same_as<Number, double>
struct basic_transactions {
    struct {
        Number mrd{};   ///< memory read requests, either direction
        Number mwr{};   ///< memory writes, either direction
        Number cpld{};  ///< completions with data, either direction
    } tlps;
    struct {
        Number up{};    ///< wire bytes from device to host, headers included
        Number down{};  ///< wire bytes from host to device, headers included
    } bytes;
    struct {
        Number rd_cur{};  ///< lines of host memory read by the device
        Number itom{};    ///< full-line writes to host memory by the device
        Number rfo{};     ///< partial-line writes to host memory by the device
        Number wil{};     ///< register writes by a core
        Number prd{};     ///< register reads by a core
    } lines;
    struct {
        Number read{};     ///< bytes of host memory read by the device, without headers
        Number written{};  ///< bytes of host memory written by the device, without headers
    } dma;

    template <class Other>
    constexpr basic_transactions& add(const basic_transactions<Other>& b, Number weight) noexcept {
        const auto scaled = [weight](Other n) { return static_cast<Number>(n) * weight; };
        tlps.mrd += scaled(b.tlps.mrd);
        tlps.mwr += scaled(b.tlps.mwr);
        tlps.cpld += scaled(b.tlps.cpld);
        bytes.up += scaled(b.bytes.up);
        bytes.down += scaled(b.bytes.down);
        lines.rd_cur += scaled(b.lines.rd_cur);
        lines.itom += scaled(b.lines.itom);
        lines.rfo += scaled(b.lines.rfo);
        lines.wil += scaled(b.lines.wil);
        lines.prd += scaled(b.lines.prd);
        dma.read += scaled(b.dma.read);
        dma.written += scaled(b.dma.written);
        return *this;
    }

    template <class Other>
    constexpr basic_transactions& operator+=(const basic_transactions<Other>& b) noexcept {
        return add(b, Number{1});
    }
};

using transactions = basic_transactions<uint64_t>;
using transactions_per_packet = basic_transactions<double>;

}  // namespace turnpike::pcie
