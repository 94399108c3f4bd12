// SPDX-License-Identifier: BSD-3-Clause
// ACLs: compiled, bound to interfaces, updated under traffic, and their counters.
//
//   another list: compiled --> bound in the next snapshot --> workers use it from their next iteration on
//                 the old list is freed after a grace period; until then its counters are added
//   one rule:     inserted into or removed from the running list (lib/acl), nothing else changes
//
// Counters of a named rule continue in the rule of that name in a new list, as do the counters of
// the default action and of turnpike's own rules; all others start at 0. When a worker is added,
// the list is bound again with counters for it, and all counters continue.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/transaction.hpp"
#include "observe/report.hpp"
#include "rcu/qsbr.hpp"

namespace turnpike::control {

/// Threads  control.
class acls : public config_handler {
  public:
    explicit acls(rcu::qsbr& rcu) : rcu_(rcu) {}
    ~acls() override;

    using list = std::shared_ptr<datapath::acl_list>;
    using lists = std::map<std::string, list, std::less<>>;  ///< by name
    /// Bound lists, for compile_changed() on another thread.
    struct bound_lists {
        lists by_name{};
        bool incomplete = false;
    };
    [[nodiscard]] bound_lists bound() const { return {lists_, incomplete_}; }
    /// Compile the lists that a change from `before` to `after` needs, other than by a change of one rule. Optional before
    /// prepare(), which finds them in change::compiled; takes long.
    /// Errors   as prepare()
    /// Threads  any; needs no tables
    [[nodiscard]] result<lists> compile_changed(const bound_lists& now,
                                                const state::configuration& before,
                                                const state::configuration& after) const;
    /// Needs ifindex_of and workers; fills the lists of snapshot.interfaces[]. A list that no
    /// interface and no mirror refers to is not compiled.
    /// Errors  ENOMEM: a list exceeds its memory limit
    [[nodiscard]] result<std::unique_ptr<prepared_change>> prepare(transaction& c) override;

    /// A refused change could not be rolled back completely; the next change recompiles all lists.
    [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }

    /// max_rules  lists with more, without the default action, have none of their rules in it
    [[nodiscard]] std::vector<observe::acl_report> report(size_t max_rules = SIZE_MAX) const;
    struct page {
        std::vector<observe::acl_report> lists{};
        std::optional<uint64_t> next{};  ///< the next page's `from`; none: this is the last page
    };
    /// Part of report(), and then of the lists of `all` that no interface has, without an interface, a direction and counts: at
    /// most `max_rules` rules, from the rule of number `from` on, counted over all lists. With `rules` false, as many lists,
    /// without their rules.
    [[nodiscard]] page report_page(const state::configuration& all, uint64_t from,
                                   uint64_t max_rules, bool rules) const;
    /// Memory of the lookup tables, each counted once, however many places share it.
    [[nodiscard]] uint64_t table_bytes() const noexcept;
    /// The classification kernel; empty if there is no compiled list.
    [[nodiscard]] std::string_view kernel() const noexcept;

  private:
    /// For tables of lists. While compile_changed() runs on a thread, it frees at once: no reader knows its tables yet.
    [[nodiscard]] rcu::defer_free hook() const noexcept;
    struct count {
        uint64_t packets = 0, bytes = 0;
    };
    struct totals {
        uint64_t permitted = 0, denied = 0;  ///< packets
    };
    /// A list bound to an interface and direction.
    struct binding {
        uint16_t interface = 0;
        std::string_view direction{};  ///< name in state::acl_bindings
        std::string interface_name{};
        datapath::bound_acl live{};
        /// the binding that this one replaced, until the end of the grace period
        std::unique_ptr<binding> before{};
        std::vector<uint32_t> before_id{};  ///< by id here: id there; UINT32_MAX: none
        uint64_t life = 0;                  ///< epoch of the binding's counters
        std::vector<uint64_t> rule_life{};  ///< by id
        /// by worker and id: counts taken over from `before`
        std::vector<std::vector<count>> earlier{};
        totals earlier_totals{};  ///< of all earlier lists in this place
        /// The sums on the last page that began with the list's first rule; later pages show the same.
        struct page_totals {
            totals classified{};
            uint64_t bytes = 0;
            std::chrono::steady_clock::time_point at{};
        };
        mutable page_totals paged{};

        [[nodiscard]] const state::acl_list& says() const noexcept { return live.list->says(); }
        [[nodiscard]] count counted(size_t worker, uint32_t id) const noexcept;
        [[nodiscard]] totals classified() const noexcept;
        /// classified() and the table's memory, or for a page behind the first, what the first page showed, for at most a
        /// second: these sums cost a look at each rule.
        [[nodiscard]] const page_totals& totals_of_page(size_t first_rule) const;
        void end_before() noexcept;
    };
    class prepared_acls;
    /// The running list with these contents; null: none.
    [[nodiscard]] list unchanged(const transaction& c, const std::string& name) const;

    using rule_ids = std::map<std::string, uint32_t>;
    /// IDs by name, of lists that several bindings have.
    class known_ids {
      public:
        [[nodiscard]] const rule_ids& of(const list& l);

      private:
        std::map<list, rule_ids> known_{};
    };
    [[nodiscard]] static std::unique_ptr<binding> make(const list& of, size_t workers,
                                                       const binding* before, known_ids& known);
    /// The counters of a list, and of `max_rules` of its rules.
    [[nodiscard]] static observe::acl_report report_of(const binding& b, size_t first_rule,
                                                       size_t max_rules);

    rcu::qsbr& rcu_;
    lists lists_{};  ///< lists of interfaces and mirrors
    std::vector<std::unique_ptr<binding>> bindings_;
    bool incomplete_ = false;
};

}  // namespace turnpike::control
