// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a driver as its RTE_PMD_REGISTER_PARAM_STRING has them, and as its parser does.
#pragma once

#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::test {

/// The names in "name=<value> name=<value>"; values may have spaces.
inline std::set<std::string> names_in(const std::string& parameters) {
    std::set<std::string> names;
    std::istringstream words(parameters);
    for (std::string word; words >> word;)
        if (const size_t at = word.find("=<"); at != std::string::npos)
            names.insert(word.substr(0, at));
    return names;
}

/// The names that read_arguments() lists in its error for an unknown argument.
inline std::set<std::string> names_in(const error& unknown) {
    std::set<std::string> names;
    const size_t at = unknown.text.find("known are ");
    if (at == std::string::npos) return names;
    std::istringstream words(unknown.text.substr(at + std::string_view("known are ").size()));
    for (std::string word; std::getline(words >> std::ws, word, ',');) names.insert(word);
    return names;
}

}  // namespace turnpike::test
