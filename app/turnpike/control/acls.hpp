// SPDX-License-Identifier: BSD-3-Clause
// Access lists: compiled, bound to interfaces, changed under traffic, and their counters.
//
//   another list: compiled --> bound in the next view --> workers judge by it from their next round on
//                 the old one goes when no worker can hold it; until then its counters are read too
//   one rule:     added to or taken out of the list that is there (lib/acl), nothing else changes
//
// Counters of a rule with a name go on in another list's rule of that name, and so do the default's
// and those of turnpike's own rules; all others start at 0. Where a worker comes, the list is bound anew with
// counters for it, and all go on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/change.hpp"
#include "observe/report.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// Threads  control.
class acls : public owner {
  public:
    explicit acls(rcu::qsbr& rcu) : rcu_(rcu) {}
    ~acls() override;

    /// Needs interface_place and workers; gives the lists of view.interfaces[]. A list that no interface
    /// names is not compiled.
    /// Errors  ENOMEM: a list does not fit in what it may use
    [[nodiscard]] result<std::unique_ptr<staged>> prepare(change& c) override;

    /// A refused change could not be taken back whole; the next one compiles all lists anew.
    [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }

    [[nodiscard]] std::vector<observe::acl_report> report() const;
    /// The kernel that classifies; empty where no list is bound.
    [[nodiscard]] std::string_view kernel() const noexcept;

  private:
    using list = std::shared_ptr<datapath::acl_list>;
    struct count {
        uint64_t packets = 0, bytes = 0;
    };
    struct totals {
        uint64_t permitted = 0, denied = 0;  ///< packets
    };
    /// One list at one interface, in one direction.
    struct binding {
        uint16_t interface = 0;
        std::string_view direction{};  ///< of state::list_places
        std::string interface_name{};
        datapath::bound_acl live{};
        std::unique_ptr<binding> before{};  ///< that this one replaced, while workers may hold it
        std::vector<uint32_t> before_id{};  ///< of each id here: there; UINT32_MAX: nowhere
        uint64_t life = 0;                  ///< of what was judged here
        std::vector<uint64_t> rule_life{};  ///< by id
        std::vector<std::vector<count>> earlier{};  ///< by worker and id: what came from `before`
        totals earlier_totals{};                    ///< of all lists that were here

        [[nodiscard]] const state::acl_list& says() const noexcept { return live.list->says(); }
        [[nodiscard]] count counted(size_t worker, uint32_t id) const noexcept;
        [[nodiscard]] totals judged() const noexcept;
        void end_before() noexcept;
    };
    class staged_acls;

    [[nodiscard]] static std::unique_ptr<binding> make(const list& of, size_t workers,
                                                       const binding* before);
    [[nodiscard]] observe::acl_report report_of(const binding& b) const;

    rcu::qsbr& rcu_;
    std::map<std::string, list, std::less<>> lists_;  ///< that are bound
    std::vector<std::unique_ptr<binding>> bindings_;
    bool incomplete_ = false;
};

}  // namespace turnpike::control
