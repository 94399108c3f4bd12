// SPDX-License-Identifier: BSD-3-Clause
#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/arguments.hpp"

namespace turnpike {

void parse_words(CLI::App& app, std::vector<std::string> words) {
    std::string option;
    for (const std::string& word : words) {
        const bool assigns_nothing = word.starts_with("--") && word.find('=') == word.size() - 1;
        if (assigns_nothing) option = word.substr(0, word.size() - 1);
        if (assigns_nothing || word.empty())
            throw CLI::ValidationError(option.empty() ? "an argument" : option, "is empty");
        option = word.starts_with("--") ? word : std::string();
    }
    std::reverse(words.begin(), words.end());  // CLI11 consumes a vector from its end
    app.parse(std::move(words));
}

int exit_code_of(const CLI::App& app, const CLI::ParseError& e) {
    errno = 0;
    if (app.exit(e, std::cout, std::cerr) != 0) return 2;  // flushes the version, not the help
    if (std::cout.flush()) return 0;
    std::cerr << app.get_name() << ": standard output: " << std::strerror(errno) << '\n';
    return 1;
}

CLI::Validator number_between(double low, double high) {
    return {[low, high](const std::string& text) {
                double n = 0;
                return read_number(text, low, high, n)
                           ? std::string()
                           : fmt::format("'{}' is no number from {} to {}", text, low, high);
            },
            ""};
}

}  // namespace turnpike
