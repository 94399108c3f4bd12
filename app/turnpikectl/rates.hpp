// SPDX-License-Identifier: BSD-3-Clause
// What happened between two looks at drops, cost or ports, as lines of a table: what matters most first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ctl {

class rates {
  public:
    /// what  a subject of `show`: drops, cost or ports
    explicit rates(std::string_view what) : what_(what) {}

    /// Another look: what `show` shows now. The first is the mean of all the time that was counted.
    void look(nlohmann::json shown);

    /// "drops  since the start", "drops  in 2.0 s"
    [[nodiscard]] std::string title() const;
    /// The columns' names, and a line for each thing.
    [[nodiscard]] std::vector<std::string> lines() const;

  private:
    struct row {
        double weight = 0;  ///< the heaviest stands first
        std::vector<std::string> cells{};
    };
    [[nodiscard]] double over(double counts) const { return seconds_ > 0 ? counts / seconds_ : 0; }
    [[nodiscard]] std::vector<row> drops() const;
    [[nodiscard]] std::vector<row> cost() const;
    [[nodiscard]] std::vector<row> ports() const;

    std::string_view what_;
    nlohmann::json now_{}, before_{};
    double seconds_ = 0;
    bool first_ = true;
};

}  // namespace turnpike::ctl
