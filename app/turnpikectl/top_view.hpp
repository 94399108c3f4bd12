// SPDX-License-Identifier: BSD-3-Clause
// The result of `show rates`: as a table of all windows, and as the screen of `top`.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rates.hpp"

namespace turnpike::ctl {

/// Workers, ports, tunnels, bridges and drops by their rates of the last second, the highest first.
class top_view final : public live_view {
  public:
    top_view();
    ~top_view() override;
    void update(nlohmann::json shown) override;
    /// The limiting resource, and the additional packets per second.
    [[nodiscard]] std::string title() const override;
    [[nodiscard]] std::vector<std::string> lines(size_t rows) override;
    [[nodiscard]] std::vector<size_t> headings() const override { return headings_; }

  private:
    std::unique_ptr<nlohmann::json> now_;
    std::vector<size_t> headings_{};
};

/// A table of each kind of object, with a row per window.
[[nodiscard]] std::string rates_text(const given& g, const nlohmann::json& result);

}  // namespace turnpike::ctl
