// SPDX-License-Identifier: BSD-3-Clause
// Rates of drops, cost or ports between two updates, as sorted lines of a table.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ctl {

/// The contents of a screen that is drawn anew with each answer.
class live_view {
  public:
    virtual ~live_view() = default;
    virtual void update(nlohmann::json shown) = 0;
    [[nodiscard]] virtual std::string title() const = 0;
    /// The lines below the title.
    /// rows  that fit the screen; a view may have more, which are cut off
    [[nodiscard]] virtual std::vector<std::string> lines(size_t rows) = 0;
    /// Numbers of the lines that are headings.
    [[nodiscard]] virtual std::vector<size_t> headings() const { return {0}; }
};

class rates final : public live_view {
  public:
    /// what  a subject of `show`: drops, cost or ports
    explicit rates(std::string_view what);
    ~rates() override;

    /// Takes the next result of `show`. The first rates are the mean since the start; a port's rates, since its last clear.
    void update(nlohmann::json shown) override;

    /// "drops  since the start", "drops  in 2.0 s"
    [[nodiscard]] std::string title() const override;
    /// The column names, and one line per row.
    [[nodiscard]] std::vector<std::string> lines(size_t rows) override;

  private:
    struct row {
        double weight = 0;  ///< sort key, descending
        std::vector<std::string> cells{};
    };
    /// The earlier numbers of counters, and the time since then: none, if the counters are younger.
    struct interval {
        const nlohmann::json& before;
        double seconds;
        [[nodiscard]] double over(double counts) const {
            return seconds > 0 ? counts / seconds : 0;
        }
    };
    /// since, was  the time that the counters cover, now and before; null: as the other counters
    [[nodiscard]] interval interval_of(const nlohmann::json& before, const nlohmann::json& since,
                                       const nlohmann::json& was) const;
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
