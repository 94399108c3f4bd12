// SPDX-License-Identifier: BSD-3-Clause
// Formulas over counts: + - * / ( ), numbers, names, min(a, b), max(a, b), and if_over(a, b, x, y),
// which is x if a > b, else y.
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
    /// Errors  EINVAL: the mistake and its position
    [[nodiscard]] static result<formula> parse(std::string_view text);

    /// The names in it, without duplicates.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

    /// value_of  returns a name's value, or an error, which becomes the formula's error
    /// Errors    also ERANGE: division by 0
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
        double number = 0;  // for number
        uint32_t name = 0;  // for name
    };
    std::vector<step> steps_;  // in postfix order
    std::vector<std::string> names_;
};

}  // namespace turnpike::pmu
