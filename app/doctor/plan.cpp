// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <charconv>

#include "sources/yaml.hpp"

namespace turnpike::doctor {
namespace {

/// "0xf0" as CPUs 4 to 7.
std::set<unsigned> of_mask(std::string_view text) {
    if (text.substr(0, 2) == "0x") text.remove_prefix(2);
    std::set<unsigned> out;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned digit = 0;
        const char* at = text.data() + text.size() - 1 - i;
        if (std::from_chars(at, at + 1, digit, 16).ec != std::errc()) return {};
        for (unsigned bit = 0; bit < 4; ++bit)
            if ((digit >> bit & 1) != 0) out.insert(static_cast<unsigned>(i) * 4 + bit);
    }
    return out;
}

/// --lcores: "0,2-3", "0@4,1@5", "(0-1)@(4-5)": the CPUs after the @, else the lcores' own numbers.
std::set<unsigned> of_map(std::string_view text) {
    std::set<unsigned> out;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')') --depth;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        std::string part(text.substr(begin, i - begin));
        begin = i + 1;
        if (const size_t mapped = part.find('@'); mapped != std::string::npos)
            part.erase(0, mapped + 1);
        std::erase_if(part, [](char c) { return c == '(' || c == ')'; });
        out.merge(parse_list(part));
    }
    return out;
}

}  // namespace

std::set<unsigned> cpus_of(const std::vector<std::string>& arguments) {
    struct form {
        std::string_view option;
        std::set<unsigned> (*read)(std::string_view);
    };
    constexpr auto of_list = [](std::string_view text) { return parse_list(text); };
    for (size_t i = 0; i < arguments.size(); ++i)
        for (const form& f : {form{"--lcores", of_map}, form{"-l", of_list}, form{"-c", of_mask}}) {
            const std::string_view word = arguments[i];
            if (word == f.option)
                return i + 1 < arguments.size() ? f.read(arguments[i + 1]) : std::set<unsigned>{};
            if (word.substr(0, f.option.size()) != f.option) continue;
            if (word[f.option.size()] == '=') return f.read(word.substr(f.option.size() + 1));
            if (f.option.size() == 2) return f.read(word.substr(2));
        }
    return {};
}

result<plan> plan_of(const std::filesystem::path& file) {
    const auto loaded = sources::load(file);
    if (!loaded) return tl::unexpected<error>(loaded.error());
    plan out{.configured = true};
    for (const auto& [name, port] : loaded->ports)
        out.ports.push_back({name, port.device, port.rx_queues});
    out.cpus = cpus_of(loaded->fixed.eal_options.args);
    out.hugepages_required = !loaded->fixed.eal_options.hugepages_optional;
    return out;
}

}  // namespace turnpike::doctor
