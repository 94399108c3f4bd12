// SPDX-License-Identifier: BSD-3-Clause
// Access lists: compiled, bound to ports, replaced under traffic, and their counters.
//
//   replace: new list --> published at each port that has it --> workers see it at their next burst
//            old list --> kept until every worker was quiescent --> its counters go on, it goes
//
// Counters of a rule with a name go on in the new list's rule of that name, and so do the default's
// and those of turnpike's own rules; all others start at 0. No packet is missed: until the old list
// goes, its counters are read too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/model.hpp"
#include "cost/report.hpp"
#include "datapath/tables.hpp"

namespace turnpike::control {

/// Threads  control.
class acls {
  public:
    /// tables.rcu must be there; workers must not run yet, nor any more at the end.
    acls(datapath::tables& tables, uint32_t workers) : tables_(tables), workers_(workers) {}
    ~acls();
    acls(const acls&) = delete;
    acls& operator=(const acls&) = delete;

    /// Compile the lists that ports name, and bind them.
    /// Errors  ENOMEM: a list does not fit in what it may use
    [[nodiscard]] result<void> set_up(const config::model& model);

    /// Replace the list of that name wherever it is bound. No packet is lost or passes unjudged: each
    /// is judged by the old list or by the new one (one that meets both an in and an out list while
    /// this runs may meet an old and a new one).
    /// Errors  ENOENT: no port has it; ENOMEM: it does not fit. Nothing has changed then.
    [[nodiscard]] result<void> replace(const config::acl_list& with);

    [[nodiscard]] std::vector<cost::acl_report> report() const;
    /// The kernel that classifies.
    [[nodiscard]] std::string_view kernel() const noexcept;

  private:
    using compiled = std::shared_ptr<const datapath::acl_list>;
    using text = std::shared_ptr<const config::acl_list>;
    struct count {
        uint64_t packets = 0, bytes = 0;
    };
    struct totals {
        uint64_t permitted = 0, denied = 0;  ///< packets
    };
    /// One list at one port.
    struct binding {
        text says;
        datapath::bound_acl live;
        std::unique_ptr<binding> before;   ///< that this one replaced, while workers may hold it
        std::vector<size_t> place_before;  ///< of each place there: in `before`, or nowhere
        std::vector<std::vector<count>> earlier;  ///< by worker and place: what came from `before`
        totals earlier_totals;                    ///< of all lists that were here

        [[nodiscard]] size_t places() const noexcept { return says->rules.size() + 1; }
        [[nodiscard]] count counted(size_t worker, size_t place) const noexcept;
        [[nodiscard]] totals judged() const noexcept;
        void end_before() noexcept;
    };
    struct socket {
        uint16_t port;
        std::string port_name;
        bool out;
        std::unique_ptr<binding> now;
    };

    std::unique_ptr<binding> make(const text& says, const compiled& list,
                                  const binding* before) const;
    std::atomic<const datapath::bound_acl*>& at(const socket& s) const noexcept;
    static cost::acl_report report_of(const socket& s, uint32_t workers);

    datapath::tables& tables_;
    uint32_t workers_;
    std::vector<socket> sockets_;
};

}  // namespace turnpike::control
