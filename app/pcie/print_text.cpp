// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "print.hpp"

namespace turnpike::pcie_tool {
namespace {

template <class... Values>
void append(std::string& text, fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text), form, std::forward<Values>(values)...);
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string_view name_of(pcie::resource r) { return pcie::resource_names[static_cast<size_t>(r)]; }

std::string describe(const request& r) {
    const auto& l = r.link;
    return fmt::format(
        "{}{}: {:.2f} Gb/s per direction, {:.2f} for TLPs{}; MPS {} MRRS {}{} RCB {}, {}-bit "
        "addresses{}",
        r.detected.empty() ? "" : r.detected + " is ", to_string(l), raw_gbps(l), tlp_gbps(l),
        is_approximate(l) ? " (approximate: FLIT mode)" : "", l.mps, l.mrrs,
        l.sizes_assumed ? " (assumed: only root reads the device's)" : "", l.rcb,
        l.addr64 ? 64 : 32, l.ecrc ? ", ECRC" : "");
}

void append_by_purpose(std::string& text, const cell& c) {
    static constexpr char row[] = "{:<20}{:>8}{:>8}{:>8} |{:>9}{:>9} |{:>8}{:>8}{:>8}{:>8}{:>8}\n";
    append(text, "\nby purpose\n");
    append(text, row, "", "MRd", "MWr", "CplD", "bytes up", "down", "RdCur", "ItoM", "RFO", "WiL",
           "PRd");
    const auto append_row = [&text](std::string_view name, const pcie::transactions_per_packet& t) {
        append(text, row, name, fixed(t.tlps.mrd, 3), fixed(t.tlps.mwr, 3), fixed(t.tlps.cpld, 3),
               fixed(t.bytes.up, 2), fixed(t.bytes.down, 2), fixed(t.lines.rd_cur, 3),
               fixed(t.lines.itom, 3), fixed(t.lines.rfo, 3), fixed(t.lines.wil, 4),
               fixed(t.lines.prd, 4));
    };
    const auto bill = c.bill.combined();
    for (size_t i = 0; i < pcie::purpose_names.size(); ++i)
        append_row(pcie::purpose_names[i], bill.by_purpose[i]);
    append_row("total", bill.total());
}

void append_sentences(std::string& text, const char* title,
                      const std::vector<std::string>& sentences) {
    for (const auto& sentence : sentences) append(text, "    {:<8} {}\n", title, sentence);
}

}  // namespace

std::string link_text(const request& r) { return describe(r) + "\n"; }

std::string table_text(const request& r, const std::vector<cell>& cells) {
    std::string text;
    static constexpr char row[] =
        "{:<16}{:>6} |{:>7}{:>7}{:>7} |{:>9} {:<9}{:>5}{:>6} |{:>6}{:>6}{:>6}{:>7}{:>7} |{:>6}{:>"
        "8}{:>8}\n";
    append(
        text,
        "{}\n"
        "Modelled. Gb/s: frame rate of the link alone, sending, receiving, both at once. Mpps: "
        "both at once,\nat most the port's speed; % of the link at that rate. Lines, TLPs and wire "
        "bytes: per packet received\nand sent, in bursts of {:g}.\n\n",
        describe(r), r.burst);
    append(text, row, "profile", "frame", "tx", "rx", "both", "Mpps", "binds", "up%", "down%",
           "RdCur", "ItoM", "RFO", "WiL", "PRd", "TLPs", "up", "down");
    for (const auto& c : cells) {
        const auto t = c.bill.combined().total();
        const auto& most = c.with_ethernet;
        append(text, row, c.bill.profile.name, c.frame_bytes, fixed(c.tx.gbps, 2),
               fixed(c.rx.gbps, 2), fixed(c.both.gbps, 2), fixed(most.mpps, 3), name_of(most.binds),
               fixed(100 * most.up_utilisation, 0), fixed(100 * most.down_utilisation, 0),
               fixed(t.lines.rd_cur, 2), fixed(t.lines.itom, 2), fixed(t.lines.rfo, 2),
               fixed(t.lines.wil, 4), fixed(t.lines.prd, 4),
               fixed(t.tlps.mrd + t.tlps.mwr + t.tlps.cpld, 2), fixed(t.bytes.up, 1),
               fixed(t.bytes.down, 1));
    }
    if (cells.size() != 1) return text;
    append_by_purpose(text, cells.front());
    append(text, "\n");
    append_sentences(text, "known", cells.front().bill.profile.known);
    append_sentences(text, "assumed", cells.front().bill.profile.assumptions);
    return text;
}

std::string csv_text(const std::vector<cell>& cells) {
    std::string text;
    append(text,
           "profile,frame_bytes,tx_gbps,rx_gbps,both_gbps,ethernet_gbps,mpps,binds,up_utilisation,"
           "down_utilisation,rd_cur,itom,rfo,wil,prd,mrd,mwr,cpld,up_bytes,down_bytes\n");
    for (const auto& c : cells) {
        const auto t = c.bill.combined().total();
        const auto& most = c.with_ethernet;
        append(text, "{},{}", c.bill.profile.name, c.frame_bytes);
        for (const double value : {c.tx.gbps, c.rx.gbps, c.both.gbps, c.ethernet_gbps, most.mpps})
            append(text, ",{}", fixed(value, 6));
        append(text, ",{}", name_of(most.binds));
        for (const double value : {most.up_utilisation, most.down_utilisation, t.lines.rd_cur,
                                   t.lines.itom, t.lines.rfo, t.lines.wil, t.lines.prd, t.tlps.mrd,
                                   t.tlps.mwr, t.tlps.cpld, t.bytes.up, t.bytes.down})
            append(text, ",{}", fixed(value, 6));
        append(text, "\n");
    }
    return text;
}

std::string profiles_text(const request& r) {
    std::string text;
    for (const auto& profile : r.known) {
        append(text, "{}\n    {}\n", profile.name, profile.summary);
        append_sentences(text, "driver", profile.drivers);
        append_sentences(text, "known", profile.known);
        append_sentences(text, "assumed", profile.assumptions);
    }
    return text;
}

}  // namespace turnpike::pcie_tool
