// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/link.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace turnpike::pcie {
namespace {

struct generation {
    double lane_gbps;               // after line coding
    double internal_delay_symbols;  // Base Specification, table of Ack latency limits
};

// The specification gives internal delays for 2.5, 5 and 8 GT/s; faster links use the last.
constexpr std::array<generation, 6> generations{{
    {2.5 * 8 / 10, 19},
    {5.0 * 8 / 10, 70},
    {8.0 * 128 / 130, 115},
    {16.0 * 128 / 130, 115},
    {32.0 * 128 / 130, 115},
    {64.0 * 242 / 256, 115},  // a FLIT of 256 bytes holds 236 of TLPs and 6 of DLLPs
}};

constexpr std::array<uint8_t, 7> widths{1, 2, 4, 8, 12, 16, 32};

// AckFactor: number of maximum-size TLPs per acknowledgement.
double ack_factor(const link& l) noexcept {
    if (l.mps <= 256) return l.lanes <= 4 ? 1.4 : l.lanes == 8 ? 2.5 : 3.0;
    return l.lanes <= 8 ? 1.0 : 2.0;
}

// Symbol times between two ACKs, and between two flow control updates.
double update_interval_symbols(const link& l) noexcept {
    constexpr double tlp_overhead_symbols = 28;
    return std::floor((l.mps + tlp_overhead_symbols) * ack_factor(l) / l.lanes +
                      generations[l.gen - 1u].internal_delay_symbols);
}

bool is_power_of_two_between(uint16_t value, uint16_t low, uint16_t high) noexcept {
    return std::has_single_bit(value) && value >= low && value <= high;
}

bool read_number(std::string_view& text, uint8_t& number) noexcept {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
}

}  // namespace

double raw_gbps(const link& l) noexcept { return generations[l.gen - 1u].lane_gbps * l.lanes; }

double tlp_gbps(const link& l) noexcept {
    constexpr double dllp_symbols = 8;  // an ACK or a flow control update
    constexpr double skp_symbols = 4;   // clock compensation, every 1538 symbols at the latest
    constexpr double skp_interval_symbols = 1538;
    const double interval = update_interval_symbols(l);
    return raw_gbps(l) * (1 - dllp_symbols / interval - dllp_symbols / interval -
                          skp_symbols / skp_interval_symbols);
}

result<link> parse_link(std::string_view text) {
    link parsed;
    std::string_view rest = text;
    bool good = rest.starts_with("gen");
    if (good) rest.remove_prefix(3);
    good = good && read_number(rest, parsed.gen) && rest.starts_with('x');
    if (good) rest.remove_prefix(1);
    good = good && read_number(rest, parsed.lanes) && rest.empty();
    if (!good)
        return fail(EINVAL, "link '" + std::string(text) + "'",
                    "should be generation and lanes, as gen3x8");
    if (const auto valid = validate(parsed); !valid)
        return fail(EINVAL, "link '" + std::string(text) + "'", valid.error().text);
    return parsed;
}

std::string to_string(const link& l) {
    return "gen" + std::to_string(l.gen) + "x" + std::to_string(l.lanes);
}

result<void> validate(const link& l) {
    if (l.gen < 1 || l.gen > generations.size())
        return fail(EINVAL, "link.gen",
                    "PCIe generations are 1 to 6, not " + std::to_string(l.gen));
    if (std::ranges::find(widths, l.lanes) == widths.end())
        return fail(EINVAL, "link.lanes",
                    "a link has 1, 2, 4, 8, 12, 16 or 32 lanes, not " + std::to_string(l.lanes));
    if (!is_power_of_two_between(l.mps, 128, 4096))
        return fail(EINVAL, "link.mps",
                    "MPS is 128, 256, 512, 1024, 2048 or 4096 bytes, not " + std::to_string(l.mps));
    if (!is_power_of_two_between(l.mrrs, 128, 4096))
        return fail(
            EINVAL, "link.mrrs",
            "MRRS is 128, 256, 512, 1024, 2048 or 4096 bytes, not " + std::to_string(l.mrrs));
    if (!is_power_of_two_between(l.rcb, 64, 128))
        return fail(EINVAL, "link.rcb", "RCB is 64 or 128 bytes, not " + std::to_string(l.rcb));
    return {};
}

}  // namespace turnpike::pcie
