// SPDX-License-Identifier: BSD-3-Clause
// Parsers for the sysfs files of a PMU.
//
// Source: Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices-format (format/),
// sysfs-devices-mapping (dieX), sysfs-devices-system-cpu (modalias, lists of CPUs).
// Errors  EINVAL, `text` quotes the input Threads any
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::pmu {

struct bit_range {
    uint8_t low = 0, high = 0;  ///< bits of the word, both included, low <= high <= 63
};

inline constexpr uint8_t attribute_words = 3;  ///< config, config1, config2

/// One file of format/: the bits of perf_event_attr that hold a term's value. The value's lowest
/// bits go into the first range.
struct format_term {
    std::string name;
    uint8_t word = 0;  ///< 0 config, 1 config1, 2 config2
    std::vector<bit_range> bits;

    [[nodiscard]] unsigned width() const noexcept;
};

/// "config:0-7,32-35" or "config1:36". Trailing white space is ignored, here and below.
[[nodiscard]] result<format_term> parse_format(std::string name, std::string_view text);

/// "0-3,18": ascending, without duplicates. Empty text: none. At most max_cpus.
inline constexpr unsigned max_cpus = 8192;
[[nodiscard]] result<std::vector<unsigned>> parse_cpu_list(std::string_view text);

/// A whole number, decimal or 0x hexadecimal.
[[nodiscard]] result<uint64_t> parse_number(std::string_view text);

/// A PCI root bus, "0000:3a" in the format of dieX.
[[nodiscard]] result<std::string> parse_root_bus(std::string_view text);

struct cpu_model {
    std::string vendor{};  ///< "GenuineIntel", "AuthenticAMD"; otherwise the kernel's number
    uint32_t family = 0, model = 0;
    bool operator==(const cpu_model&) const = default;
};
/// "cpu:type:x86,ven0000fam0006mod006A:feature:..."
[[nodiscard]] result<cpu_model> parse_modalias(std::string_view text);
/// "GenuineIntel-6-6A", perf's format.
[[nodiscard]] std::string to_string(const cpu_model& m);

/// "event=0x83,umask=0x4,ch_mask=0xff" as terms; a term without a value is 1.
struct term {
    std::string name;
    uint64_t value = 0;
};
[[nodiscard]] result<std::vector<term>> parse_terms(std::string_view text);

/// Values for perf_event_attr.
struct encoding {
    uint64_t words[attribute_words]{};
    bool operator==(const encoding&) const = default;
};
/// Encode terms by `formats`; config, config1 and config2 denote whole words.
///
/// Errors  EINVAL: a term that the PMU does not have, a value wider than its bits
[[nodiscard]] result<encoding> encode(const std::vector<format_term>& formats,
                                      const std::vector<term>& terms);

}  // namespace turnpike::pmu
