// SPDX-License-Identifier: BSD-3-Clause
// A manual page: roff with the macros of man(7), for man and mandoc.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::manual {

class page {
  public:
    /// name  of the program, in section 1
    page(std::string_view name, std::string_view version, std::string_view summary);

    void section(std::string_view title);
    void paragraph(std::string_view text);
    /// A usage: capital letters are values.
    void usage(std::string_view text);
    /// A usage line and its description.
    void item(std::string_view usage, std::string_view text);
    /// Lines as they are.
    void example(std::string_view lines);

    [[nodiscard]] const std::string& text() const noexcept { return out_; }

  private:
    void line(std::string_view text);
    void filled(std::string_view text);

    std::string out_{};
    bool begins_ = false;  ///< a section: no paragraph stands before
};

}  // namespace turnpike::manual
