// SPDX-License-Identifier: BSD-3-Clause
// The mirrors (datapath/mirror.hpp): their tables by port, and the stages mirror_in and mirror_out in the paths of mirrored
// ports. A mirror keeps its counters over changes as long as it has its name.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/transaction.hpp"
#include "datapath/mirror.hpp"
#include "observe/inventory.hpp"

namespace turnpike::control {

class controller;
class request_fields;

/// Threads  control.
class mirrors : public config_handler {
  public:
    /// Needs port_index_of, ifindex_of, lists and the snapshot's ports, interfaces and paths.
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Totals of all workers.
    [[nodiscard]] observe::mirror_report counted(const std::string& name) const;

  private:
    class prepared_mirrors;
    struct counted_mirror : datapath::mirror_state {
        const uint64_t life = observe::new_life();
    };
    using states = std::map<std::string, std::shared_ptr<counted_mirror>, std::less<>>;

    states states_{};
    std::unique_ptr<const datapath::mirror_tables> shown_{};
};

[[nodiscard]] nlohmann::json show_mirrors(controller& c, const request_fields& f);

}  // namespace turnpike::control
