// SPDX-License-Identifier: BSD-3-Clause
#include "isa/cpu_name.hpp"

#include <fstream>

namespace turnpike::isa {

std::string cpu_name(const char* file) {
    std::ifstream in(file);
    std::string implementer, part;
    for (std::string line; std::getline(in, line);) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const size_t at = line.find_first_not_of(" \t", colon + 1);
        const std::string value = at == std::string::npos ? "" : line.substr(at);
        if (line.starts_with("model name")) return value;
        if (line.starts_with("CPU implementer") && implementer.empty()) implementer = value;
        if (line.starts_with("CPU part") && part.empty()) part = value;
    }
    return implementer.empty() ? "" : "implementer " + implementer + ", part " + part;
}

}  // namespace turnpike::isa
