// SPDX-License-Identifier: BSD-3-Clause
// Traffic of interfaces or tunnels by name, from counters by interface index. An index may have been another object's: the
// traffic of an object begins at 0 with its name and index.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "observe/report.hpp"
#include "observe/traffic.hpp"

namespace turnpike::control {

/// Threads  control
class traffic_by_name {
  public:
    /// Adds an object, which goes on counting if `before` has it.
    /// sum_of(ifindex)  traffic of the index, of all objects that had it
    template <class SumOf>
    void add(const std::string& name, uint16_t ifindex, const traffic_by_name& before,
             const SumOf& sum_of) {
        const auto was = before.entries_.find(name);
        if (was != before.entries_.end() && was->second.ifindex == ifindex)
            entries_.emplace(*was);
        else
            entries_.emplace(name, entry{ifindex, {sum_of(ifindex), observe::new_life()}});
    }
    /// None: it is not counted.
    template <class SumOf>
    [[nodiscard]] std::optional<observe::counted_traffic> counted(const std::string& name,
                                                                  const SumOf& sum_of) const {
        const auto at = entries_.find(name);
        if (at == entries_.end()) return std::nullopt;
        const entry& of = at->second;
        return observe::counted_traffic{sum_of(of.ifindex).since(of.begun.total), of.begun.life};
    }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    void swap(traffic_by_name& other) noexcept { entries_.swap(other.entries_); }

  private:
    struct entry {
        uint16_t ifindex = 0;
        observe::counted_traffic begun{};  ///< traffic of earlier objects; the life is this one's
    };
    std::map<std::string, entry, std::less<>> entries_{};
};

}  // namespace turnpike::control
