// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "state/configuration.hpp"
#include "state/mirror.hpp"

namespace turnpike::state {

result<void> check_mirrors(const configuration& in) {
    for (const auto& [name, m] : in.mirrors) {
        const auto wrong = [&, &called = name, &at = m](const std::string& what) {
            return fail(EINVAL, at.where.text, fmt::format("mirror '{}' {}", called, what));
        };
        if (in.ports.find(m.to) == nullptr)
            return wrong(fmt::format("copies to '{}', which is no port", m.to));
        for (auto port = m.ports.begin(); port != m.ports.end(); ++port) {
            if (in.ports.find(*port) == nullptr)
                return wrong(fmt::format("copies from '{}', which is no port", *port));
            if (*port == m.to) return wrong(fmt::format("copies from '{}' to itself", *port));
            if (std::find(m.ports.begin(), port, *port) != port)
                return wrong(fmt::format("names port '{}' twice", *port));
        }
    }
    if (in.mirrors.size() > max_mirrors)
        return fail(
            EINVAL, in.file,
            fmt::format("{} mirrors; at most {} are possible", in.mirrors.size(), max_mirrors));
    return {};
}

}  // namespace turnpike::state
