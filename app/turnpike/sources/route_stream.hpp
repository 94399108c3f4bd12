// SPDX-License-Identifier: BSD-3-Clause
// Changes of many routes as lines, in parts, made in a state all at once:
//
//   add 10.9.0.0/16 via 10.0.2.2 dev east     it must not be there
//   replace blackhole 192.0.2.0/24            whether it is there or not; the word may be left out
//   del 10.8.0.0/16                           it must be there
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "state/desired.hpp"

namespace turnpike::sources {

/// Threads  control.
class route_stream {
  public:
    static constexpr size_t most = size_t{1} << 22;  ///< changes

    /// Empty lines and # comments are none.
    /// in      says which ports' networks there are
    /// vrf     whose routes they are, of all parts the same; "": the main ones
    /// Errors  EINVAL with "line N", counted from the first part on; ENOENT: no such VRF; ENOSPC
    [[nodiscard]] result<void> take(std::string_view lines, const state::desired& in,
                                    const std::string& vrf = {});
    /// As in the order in which they came.
    /// Errors  EEXIST, ENOENT with "line N", the first; EINVAL: the state cannot be; `into` is then of no
    ///         use. Whether or not: all that was taken is gone
    [[nodiscard]] result<void> make(state::desired& into);

    [[nodiscard]] size_t size() const noexcept { return changes_.size(); }

  private:
    enum class verb : uint8_t { add, replace, del };
    struct change {
        state::route route;  ///< of targets_
        verb what;
        uint32_t line;
    };

    [[nodiscard]] result<change> read(std::string_view line, class route_line_reader& reader) const;

    [[nodiscard]] std::vector<uint32_t> in_order() const;

    std::string vrf_;
    std::vector<change> changes_;
    state::route_set targets_;  ///< of no routes
    uint32_t lines_ = 0;
};

}  // namespace turnpike::sources
