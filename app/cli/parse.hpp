// SPDX-License-Identifier: BSD-3-Clause
// Command lines: the rules that all programs share, over CLI11.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace turnpike {

/// CLI11's parse() of the words after the program's name. Refuses empty words and `--option=`, variables of a script without a value: CLI11
/// 2.1 takes the word that follows as the option's value.
/// Throws CLI::ParseError, also for --help and --version
void parse_words(CLI::App& app, std::vector<std::string> words);

/// Prints the help, the version or the error. Returns the exit code  0, 1: standard output cannot be written, 2: refused
int exit_code_of(const CLI::App& app, const CLI::ParseError& e);

/// As CLI::Range, which permits NaN.
CLI::Validator number_between(double low, double high);

}  // namespace turnpike
