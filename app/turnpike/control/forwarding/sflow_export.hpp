// SPDX-License-Identifier: BSD-3-Clause
// The export to sFlow collectors (`sflow:`, doc/sflow.md): workers take samples (datapath/sampler.hpp); a thread sends them,
// and the counters of ports that control hands to it, as datagrams by the kernel's UDP sockets. Nothing waits for the thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "control/transaction.hpp"
#include "datapath/sampler.hpp"
#include "observe/inventory.hpp"
#include "observe/sflow.hpp"

namespace turnpike::control {

class controller;
class request_fields;

/// Threads  control, and management during a loan
class sflow_export : public config_handler {
  public:
    sflow_export();
    ~sflow_export() override;

    /// Needs the snapshot's ports. A change of other objects keeps the session.
    /// Errors  with the place of `sflow:`: no socket of a collector's family
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// Whether the thread waits for counters of the ports.
    [[nodiscard]] bool wants_counters() const noexcept;
    void export_counters(std::vector<observe::sflow::interface_counters> ports,
                         std::vector<std::string> names);
    /// Ends the thread.
    void close() noexcept { session_.reset(); }

    [[nodiscard]] observe::sflow_report counted() const noexcept;

  private:
    class session;
    class prepared_session;
    std::shared_ptr<session> session_{};
    observe::sflow_report
        earlier_{};  ///< counts of sessions before a change, without a pause between them
};

[[nodiscard]] nlohmann::json show_sflow(controller& c, const request_fields& f);

}  // namespace turnpike::control
