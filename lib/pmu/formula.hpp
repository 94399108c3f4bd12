// SPDX-License-Identifier: BSD-3-Clause
// A formula over counts: + - * / ( ), numbers, names, min(a, b), max(a, b), and
// if_over(a, b, x, y), which is x where a > b, else y.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::pmu {

/// Threads  any
class formula {
  public:
    /// Errors  EINVAL: what is wrong, and where in the text
    [[nodiscard]] static result<formula> parse(std::string_view text);

    /// The names in it, each once.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

    /// value_of  of a name, or why there is none: that is the formula's error, too
    /// Errors    also ERANGE: a division by 0 (nothing happened that it could be the share of)
    [[nodiscard]] result<double> value(
        const std::function<result<double>(const std::string&)>& value_of) const;

  private:
    friend class formula_parser;
    enum class operation : uint8_t {
        number,
        name,
        add,
        subtract,
        multiply,
        divide,
        min,
        max,
        if_over
    };
    struct step {
        operation what;
        double number = 0;  // of number
        uint32_t name = 0;  // of name
    };
    std::vector<step> steps_;  // as a stack machine takes them
    std::vector<std::string> names_;
};

}  // namespace turnpike::pmu
