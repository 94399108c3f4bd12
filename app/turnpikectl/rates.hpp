// SPDX-License-Identifier: BSD-3-Clause
// Rates of drops, cost or ports between two updates, as sorted lines of a table.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ctl {

class rates {
  public:
    /// what  a subject of `show`: drops, cost or ports
    explicit rates(std::string_view what);
    ~rates();

    /// Takes the next result of `show`. The first rates are the mean since the start.
    void look(nlohmann::json shown);

    /// "drops  since the start", "drops  in 2.0 s"
    [[nodiscard]] std::string title() const;
    /// The column names, and one line per row.
    [[nodiscard]] std::vector<std::string> lines() const;

  private:
    struct row {
        double weight = 0;  ///< sort key, descending
        std::vector<std::string> cells{};
    };
    [[nodiscard]] double over(double counts) const { return seconds_ > 0 ? counts / seconds_ : 0; }
    [[nodiscard]] std::vector<row> drops() const;
    [[nodiscard]] std::vector<row> cost() const;
    [[nodiscard]] std::vector<row> ports() const;

    std::string_view what_;
    std::unique_ptr<nlohmann::json> now_, before_;
    double seconds_ = 0;
    bool first_ = true;
};

}  // namespace turnpike::ctl
