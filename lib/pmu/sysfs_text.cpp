// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/sysfs_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/next_piece.hpp"

namespace turnpike::pmu {
namespace {

std::string_view trimmed(std::string_view text) {
    const size_t last = text.find_last_not_of(" \t\r\n");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Parse the whole text as a number.
std::optional<uint64_t> number(std::string_view text, int base) {
    uint64_t n = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (code != std::errc() || end != text.data() + text.size()) return {};
    return n;
}

tl::unexpected<error> refuse(std::string_view text, std::string_view wanted) {
    return fail(EINVAL, "", fmt::format("'{}' is not {}", printable(text.substr(0, 80)), wanted));
}

/// Parse "7" or "0-7"; nullopt if it is neither, or a reversed range.
std::optional<std::pair<uint64_t, uint64_t>> range(std::string_view text, uint64_t most) {
    const size_t dash = text.find('-');
    const auto low = number(text.substr(0, dash), 10);
    const auto high = dash == std::string_view::npos ? low : number(text.substr(dash + 1), 10);
    if (!low || !high || *low > *high || *high > most) return {};
    return std::pair{*low, *high};
}

}  // namespace

unsigned format_term::width() const noexcept {
    unsigned n = 0;
    for (const bit_range& r : bits) n += r.high - r.low + 1u;
    return n;
}

result<format_term> parse_format(std::string name, std::string_view text) {
    constexpr std::string_view wanted = "bits of config, config1 or config2 (config:0-7,32-35)";
    constexpr std::string_view words[attribute_words] = {"config:", "config1:", "config2:"};
    const std::string_view whole = text = trimmed(text);
    format_term term{.name = std::move(name), .bits = {}};
    while (term.word < attribute_words && !text.starts_with(words[term.word])) ++term.word;
    if (term.word == attribute_words || whole.ends_with(',')) return refuse(whole, wanted);
    text.remove_prefix(words[term.word].size());
    do {
        const auto bits = range(next_piece(text, ','), 63);
        if (!bits) return refuse(whole, wanted);
        term.bits.push_back(
            {static_cast<uint8_t>(bits->first), static_cast<uint8_t>(bits->second)});
    } while (!text.empty());
    if (term.width() > 64) return refuse(whole, wanted);
    return term;
}

result<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
    const std::string_view whole = text = trimmed(text);
    std::vector<unsigned> cpus;
    std::vector<bool> there(max_cpus);
    while (!text.empty()) {
        const auto these = range(next_piece(text, ','), max_cpus - 1);
        if (!these || whole.ends_with(',') ||
            cpus.size() + (these->second - these->first) >= max_cpus)
            return refuse(whole, "a list of CPUs (0-3,18)");
        for (uint64_t cpu = these->first; cpu <= these->second; ++cpu) {
            if (!there[cpu]) cpus.push_back(static_cast<unsigned>(cpu));
            there[cpu] = true;
        }
    }
    return cpus;
}

result<uint64_t> parse_number(std::string_view text) {
    text = trimmed(text);
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (const auto n = number(hex ? text.substr(2) : text, hex ? 16 : 10)) return *n;
    return refuse(text, "a whole number");
}

result<std::string> parse_root_bus(std::string_view text) {
    text = trimmed(text);
    const size_t colon = text.find(':');
    const auto hexadecimal = [](std::string_view digits, size_t least, size_t most) {
        return digits.size() >= least && digits.size() <= most && number(digits, 16).has_value();
    };
    if (colon == std::string_view::npos || !hexadecimal(text.substr(0, colon), 4, 8) ||
        !hexadecimal(text.substr(colon + 1), 2, 2))
        return refuse(text, "a PCI root bus (0000:3a)");
    std::string bus(text);
    for (char& c : bus)
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    return bus;
}

result<cpu_model> parse_modalias(std::string_view text) {
    constexpr std::string_view wanted = "the identity of an x86 CPU";
    const std::string_view whole = trimmed(text);
    constexpr std::string_view front = "cpu:type:x86,ven";
    std::string_view rest = whole;
    if (!rest.starts_with(front)) return refuse(whole, wanted);
    rest.remove_prefix(front.size());
    // "0000fam0006mod006A:": each number has at least four digits.
    uint64_t fields[3]{};
    constexpr std::string_view ends[3] = {"fam", "mod", ":"};
    for (size_t i = 0; i < 3; ++i) {
        // Hexadecimal digits are upper case, so the f of "fam" is none.
        const size_t end = rest.find(ends[i]);
        const auto n =
            end == std::string_view::npos ? std::nullopt : number(rest.substr(0, end), 16);
        if (!n || *n > 0xffff) return refuse(whole, wanted);
        fields[i] = *n;
        rest.remove_prefix(end + ends[i].size());
    }
    // X86_VENDOR_INTEL, X86_VENDOR_AMD of arch/x86/include/asm/processor.h
    return cpu_model{fields[0] == 0   ? "GenuineIntel"
                     : fields[0] == 2 ? "AuthenticAMD"
                                      : fmt::format("vendor{}", fields[0]),
                     static_cast<uint32_t>(fields[1]), static_cast<uint32_t>(fields[2])};
}

std::string to_string(const cpu_model& m) {
    return fmt::format("{}-{}-{:X}", m.vendor, m.family, m.model);
}

result<std::vector<term>> parse_terms(std::string_view text) {
    const std::string_view whole = text = trimmed(text);
    std::vector<term> terms;
    while (!text.empty()) {
        const std::string_view piece = next_piece(text, ',');
        const size_t equal = piece.find('=');
        const std::string_view name = piece.substr(0, equal);
        const auto value = equal == std::string_view::npos ? result<uint64_t>(1)
                                                           : parse_number(piece.substr(equal + 1));
        if (name.empty() || !value || whole.ends_with(','))
            return refuse(whole, "an event of a PMU (event=0x83,umask=0x4)");
        terms.push_back({std::string(name), *value});
    }
    if (terms.empty()) return refuse(whole, "an event of a PMU (event=0x83,umask=0x4)");
    return terms;
}

result<encoding> encode(const std::vector<format_term>& formats, const std::vector<term>& terms) {
    encoding out;
    for (const term& t : terms) {
        constexpr std::string_view whole_words[attribute_words] = {"config", "config1", "config2"};
        const auto whole = std::find(std::begin(whole_words), std::end(whole_words), t.name);
        if (whole != std::end(whole_words)) {
            out.words[whole - std::begin(whole_words)] |= t.value;
            continue;
        }
        const auto format =
            std::find_if(formats.begin(), formats.end(),
                         [&](const format_term& candidate) { return candidate.name == t.name; });
        if (format == formats.end())
            return fail(EINVAL, "", fmt::format("this kernel's PMU has no term '{}'", t.name));
        const unsigned width = format->width();
        if (width < 64 && t.value >> width != 0)
            return fail(EINVAL, "",
                        fmt::format("{}={:#x} has more than the {} bits of that term", t.name,
                                    t.value, width));
        uint64_t value = t.value;
        for (const bit_range& r : format->bits) {
            const unsigned bits = r.high - r.low + 1u;
            const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
            out.words[format->word] |= (value & mask) << r.low;
            value = bits == 64 ? 0 : value >> bits;
        }
    }
    return out;
}

}  // namespace turnpike::pmu
