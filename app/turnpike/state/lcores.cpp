// SPDX-License-Identifier: BSD-3-Clause
#include "state/lcores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>

namespace turnpike::state {
namespace {

/// Parser of EAL's list of lcores: "2,4-6", and with CPUs "0@2,(1-3)@(4,6)" (rte_eal_init() --lcores).
class lcore_list {
  public:
    explicit lcore_list(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

    /// Empty if the text is in another syntax.
    std::vector<lcore> lcores() {
        do {
            const bool is_group = next_is('(');
            const std::vector<unsigned> ids = set();
            std::vector<unsigned> on = ids;
            if (accept('@')) on = set();
            if (ids.empty() || on.empty()) return {};
            // The lcores of a group share its CPUs.
            const bool shared = is_group || on.size() != ids.size();
            for (size_t i = 0; i < ids.size(); ++i)
                out_.push_back({ids[i], shared ? on.front() : on[i], shared && on.size() > 1});
        } while (accept(','));
        return at_ == end_ ? out_ : std::vector<lcore>{};
    }

  private:
    static constexpr unsigned max_cpu = CPU_SETSIZE - 1;

    [[nodiscard]] bool next_is(char c) const noexcept { return at_ != end_ && *at_ == c; }
    bool accept(char c) noexcept {
        if (!next_is(c)) return false;
        ++at_;
        return true;
    }
    bool number(unsigned& into) noexcept {
        const auto read = std::from_chars(at_, end_, into);
        at_ = read.ptr;
        return read.ec == std::errc{} && into <= max_cpu;
    }
    bool range(std::vector<unsigned>& into) {
        unsigned first = 0, last = 0;
        if (!number(first)) return false;
        last = first;
        if (accept('-') && (!number(last) || last < first)) return false;
        for (unsigned n = first; n <= last; ++n) into.push_back(n);
        return true;
    }
    /// "4", "4-6" or "(4,6-7)"; empty on any other syntax.
    std::vector<unsigned> set() {
        std::vector<unsigned> some;
        if (!accept('(')) return range(some) ? some : std::vector<unsigned>{};
        do
            if (!range(some)) return {};
        while (accept(','));
        return accept(')') ? some : std::vector<unsigned>{};
    }

    const char *at_, *end_;
    std::vector<lcore> out_{};
};

/// Parses a hexadecimal mask, with or without 0x; empty on any other syntax.
std::vector<lcore> lcore_mask(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::vector<lcore> out;
    for (unsigned digit = 0; digit < text.size(); ++digit) {
        unsigned bits = 0;
        const char* at = &text[text.size() - 1 - digit];
        if (std::from_chars(at, at + 1, bits, 16).ec != std::errc{}) return {};
        for (unsigned bit = 0; bit < 4; ++bit)
            if ((bits >> bit & 1) != 0) out.push_back({4 * digit + bit, 4 * digit + bit});
    }
    return out;
}

/// -c, -l and --lcores, the short ones also with their value attached.
bool names_lcores(std::string_view word) {
    if (word.starts_with("--")) return word.substr(0, word.find('=')) == "--lcores";
    return word.starts_with("-c") || word.starts_with("-l");
}

std::vector<unsigned> cpus_of(const std::vector<lcore>& all) {
    std::vector<unsigned> out;
    for (const lcore& one : all) out.push_back(one.cpu);
    return out;
}

}  // namespace

std::vector<unsigned> cpus_of_list(std::string_view text) {
    return cpus_of(lcore_list(text).lcores());
}

std::string lcores_option(const std::vector<std::string>& options) {
    for (size_t i = 0; i < options.size(); ++i)
        if (names_lcores(options[i]))
            return options[i] + (i + 1 < options.size() && options[i].find('=') == std::string::npos
                                     ? " " + options[i + 1]
                                     : "");
    return {};
}

std::vector<lcore> lcores_of(const std::vector<std::string>& options) {
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string& word = options[i];
        if (!names_lcores(word)) continue;
        const bool mask = word[1] == 'c';
        std::string_view value;
        if (const size_t equal = word.find('='); equal != std::string::npos)
            value = std::string_view(word).substr(equal + 1);
        else if (word.size() > 2 && word[1] != '-')
            value = std::string_view(word).substr(2);
        else if (i + 1 < options.size())
            value = options[i + 1];
        return mask ? lcore_mask(value) : lcore_list(value).lcores();
    }
    return {};
}

unsigned main_lcore_of(const std::vector<std::string>& options, const std::vector<lcore>& lcores) {
    constexpr std::string_view name = "--main-lcore";
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string_view word = options[i];
        if (word.substr(0, word.find('=')) != name) continue;
        const std::string_view value = word.size() > name.size() ? word.substr(name.size() + 1)
                                       : i + 1 < options.size()  ? options[i + 1]
                                                                 : std::string_view();
        unsigned id = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), id).ec == std::errc())
            return id;
    }
    const auto lowest = std::min_element(lcores.begin(), lcores.end(),
                                         [](const auto& a, const auto& b) { return a.id < b.id; });
    return lowest == lcores.end() ? 0 : lowest->id;
}

unsigned cpu_of_main(const std::vector<std::string>& options,
                     const std::vector<unsigned>& affinity) {
    std::vector<lcore> lcores = lcores_of(options);
    if (lcores.empty())
        for (const unsigned cpu : affinity) lcores.push_back({cpu, cpu});
    if (lcores.empty()) return 0;
    const unsigned main = main_lcore_of(options, lcores);
    const auto found = std::find_if(lcores.begin(), lcores.end(),
                                    [&](const lcore& one) { return one.id == main; });
    return found == lcores.end() ? lcores.front().cpu : found->cpu;
}

std::string worker_fault(const std::vector<unsigned>& workers,
                         const std::vector<std::string>& options, std::string_view online) {
    // EAL numbers the lcores anew (DPDK 25.11).
    if (std::any_of(options.begin(), options.end(), [](const std::string& word) {
            return word.starts_with("-R") || word.starts_with("--remap-lcore-ids");
        }))
        return {};
    const std::string named = lcores_option(options);
    // All CPUs of the process' affinity, which another one's service need not have.
    const std::vector<lcore> lcores =
        named.empty() ? lcore_list(online).lcores() : lcores_of(options);
    if (lcores.empty()) return {};  // in a syntax that only EAL parses
    const unsigned main = main_lcore_of(options, lcores);
    for (const unsigned id : workers) {
        const std::string text = "names lcore " + std::to_string(id);
        if (std::none_of(lcores.begin(), lcores.end(), [&](const lcore& l) { return l.id == id; }))
            return text + (named.empty() ? ", and this machine has no CPU " + std::to_string(id)
                                         : ", which EAL is not given (" + named + ")");
        if (id == main && workers.size() > 1)
            return text +
                   ", the main lcore, which runs control; it can only be a worker when it is the "
                   "only one";
    }
    return {};
}

std::vector<unsigned> cpus_of_lcores(const std::vector<std::string>& options) {
    return cpus_of(lcores_of(options));
}

}  // namespace turnpike::state
