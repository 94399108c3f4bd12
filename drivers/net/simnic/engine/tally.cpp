// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tally.hpp"

namespace turnpike::simnic {

using pcie::purpose;

void tally::odd_total::add(const pcie::transactions& t) noexcept {
    mrd.add(t.tlps.mrd);
    mwr.add(t.tlps.mwr);
    cpld.add(t.tlps.cpld);
    up.add(t.bytes.up);
    down.add(t.bytes.down);
    rd_cur.add(t.lines.rd_cur);
    itom.add(t.lines.itom);
    rfo.add(t.lines.rfo);
    read.add(t.dma.read);
    written.add(t.dma.written);
}

void tally::odd_total::add_to(pcie::transactions& t) const noexcept {
    t.tlps.mrd += mrd.read();
    t.tlps.mwr += mwr.read();
    t.tlps.cpld += cpld.read();
    t.bytes.up += up.read();
    t.bytes.down += down.read();
    t.lines.rd_cur += rd_cur.read();
    t.lines.itom += itom.read();
    t.lines.rfo += rfo.read();
    t.dma.read += read.read();
    t.dma.written += written.read();
}

template <tally::direction D>
void tally::odd_frame(uint64_t iova, uint32_t bytes) noexcept {
    if constexpr (D == device_reads)
        odd_[static_cast<size_t>(purpose::tx_data)].add(pcie::read(link_, iova, bytes));
    else
        odd_[static_cast<size_t>(purpose::rx_data)].add(pcie::write(link_, iova, bytes));
}

template <tally::direction D>
void tally::odd_descriptors(purpose p, uint64_t iova, uint32_t bytes) noexcept {
    odd_[static_cast<size_t>(p)].add(D == device_reads ? pcie::read(link_, iova, bytes)
                                                       : pcie::write(link_, iova, bytes));
}

template void tally::odd_frame<tally::device_reads>(uint64_t, uint32_t) noexcept;
template void tally::odd_frame<tally::device_writes>(uint64_t, uint32_t) noexcept;
template void tally::odd_descriptors<tally::device_reads>(purpose, uint64_t, uint32_t) noexcept;
template void tally::odd_descriptors<tally::device_writes>(purpose, uint64_t, uint32_t) noexcept;

pcie_bill tally::read(uint64_t register_writes) const noexcept {
    pcie_bill bill{};
    const auto of = [&bill](purpose p) -> pcie::transactions& {
        return bill[static_cast<size_t>(p)];
    };
    for (uint32_t bytes = 1; bytes <= pcie::page_bytes; ++bytes) {
        if (const uint64_t n = frames_[device_reads][bytes].read(); n != 0)
            of(purpose::tx_data).add(pcie::read(link_, 0, bytes), n);
        if (const uint64_t n = frames_[device_writes][bytes].read(); n != 0)
            of(purpose::rx_data).add(pcie::write(link_, 0, bytes), n);
    }
    for (const purpose p : {purpose::rx_descriptor_fetch, purpose::rx_write_back,
                            purpose::tx_descriptor_fetch, purpose::tx_write_back}) {
        const bool reads = p == purpose::rx_descriptor_fetch || p == purpose::tx_descriptor_fetch;
        for (uint32_t offset = 0; offset < line_units; ++offset)
            for (uint32_t units = 1; units < descriptors_[slot(p)][offset].size(); ++units)
                if (const uint64_t n = descriptors_[slot(p)][offset][units].read(); n != 0)
                    of(p).add(reads ? pcie::read(link_, offset * unit, units * unit)
                                    : pcie::write(link_, offset * unit, units * unit),
                              n);
    }
    for (uint32_t size = 0; size < answers_singly_.size(); ++size)
        for (uint32_t offset = 0; offset < line_units; ++offset)
            for (uint32_t count = 1; count < answers_singly_[size][offset].size(); ++count) {
                const uint64_t n = answers_singly_[size][offset][count].read();
                const uint32_t each = (size + 1) * unit;
                // Write-backs are aligned to their size, so each is a partial write of one line.
                if (n != 0)
                    of(purpose::rx_write_back)
                        .add(pcie::write(link_, offset * unit, each), n * count);
            }
    for (size_t i = 0; i < bill.size(); ++i) odd_[i].add_to(bill[i]);
    of(purpose::doorbells).add(pcie::register_write(link_, 4), register_writes);
    return bill;
}

}  // namespace turnpike::simnic
