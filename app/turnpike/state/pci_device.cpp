// SPDX-License-Identifier: BSD-3-Clause
#include "state/pci_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/next_piece.hpp"

namespace turnpike::state {
namespace {

/// Reads a hexadecimal number of at most max_digits, and `end` behind it.
bool read_part(std::string_view& text, size_t max_digits, char end, uint32_t& value) {
    const size_t digits = text.find(end);
    if (digits == 0 || digits > max_digits || digits == std::string_view::npos) return false;
    const auto parsed = std::from_chars(text.data(), text.data() + digits, value, 16);
    text.remove_prefix(digits + 1);
    return parsed.ec == std::errc() && parsed.ptr + 1 == text.data();
}

/// Domains have 4 to 8 digits in sysfs: those of Intel's VMD begin at 10000.
/// Empty: no PCI address.
std::string pci_address(std::string_view text) {
    uint32_t domain = 0, bus = 0, device = 0;
    if (std::count(text.begin(), text.end(), ':') == 2 && !read_part(text, 8, ':', domain))
        return {};
    if (!read_part(text, 2, ':', bus) || !read_part(text, 2, '.', device)) return {};
    if (text.size() != 1 || text[0] < '0' || text[0] > '7') return {};
    return fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, bus, device, text);
}

}  // namespace

std::vector<std::string> pci_addresses_of(std::string_view device) {
    std::vector<std::string> out;
    while (!device.empty()) {
        const std::string_view part = next_piece(device, ',');
        const size_t equal = part.find('=');
        if (std::string one =
                pci_address(equal == std::string_view::npos ? part : part.substr(equal + 1));
            !one.empty())
            out.push_back(std::move(one));
    }
    return out;
}

bool is_bifurcated(std::string_view driver) noexcept {
    return driver == "mlx4_core" || driver == "mlx5_core" || driver == "mana";
}

}  // namespace turnpike::state
