// SPDX-License-Identifier: BSD-3-Clause
// What the command lines of all programs have in common, beside CLI11.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/arguments.hpp"

namespace turnpike {

/// CLI11's parse() of the words after the program's name. Refuses empty words and `--option=`, variables of a script without a value: CLI11
/// 2.1 takes the word that follows as the option's value.
/// Throws CLI::ParseError, also for --help and --version
inline void parse_words(CLI::App& app, std::vector<std::string> words) {
    for (const std::string& word : words) {
        if (word.empty()) throw CLI::ValidationError("an argument is empty");
        if (word.starts_with("--") && word.find('=') == word.size() - 1)
            throw CLI::ValidationError(word.substr(0, word.size() - 1), "its value is empty");
    }
    std::reverse(words.begin(), words.end());  // CLI11 consumes a vector from its end
    app.parse(std::move(words));
}

/// Prints the help, the version or the error. Returns the exit code  0, 1: standard output cannot be written, 2: refused
inline int exit_code_of(const CLI::App& app, const CLI::ParseError& e) {
    if (app.exit(e, std::cout, std::cerr) != 0) return 2;
    errno = 0;
    if (std::cout.flush()) return 0;
    std::cerr << app.get_name() << ": standard output: " << std::strerror(errno) << '\n';
    return 1;
}

/// As CLI::Range, which permits NaN.
inline CLI::Validator number_between(double low, double high) {
    return {[low, high](const std::string& text) {
                double n = 0;
                return read_number(text, low, high, n)
                           ? std::string()
                           : fmt::format("'{}' is no number from {} to {}", text, low, high);
            },
            ""};
}

}  // namespace turnpike
