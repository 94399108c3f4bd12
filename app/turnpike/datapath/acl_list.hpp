// SPDX-License-Identifier: BSD-3-Clause
// The compiled ACL that workers classify by. A list is compiled as a whole; afterwards single rules can
// be inserted and removed while workers read it (lib/acl). Any larger change compiles a new list.
//
// A rule has an id for its lifetime in the list, and a priority with gaps between neighbours, so
// that inserting a rule changes no other rule.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "acl/acl.hpp"
#include "base/result.hpp"
#include "counters/counter.hpp"
#include "rcu/defer.hpp"
#include "state/acl.hpp"

namespace turnpike::datapath {

/// Value of a rule in lib/acl. Never 0, which means no match.
constexpr uint32_t acl_hit(uint32_t id, bool deny) noexcept {
    return (id + 1) << 1 | (deny ? 1 : 0);
}
constexpr uint32_t acl_id(uint32_t hit) noexcept { return (hit >> 1) - 1; }
constexpr bool acl_denies(uint32_t hit) noexcept { return (hit & 1) != 0; }

/// Threads  control updates it while workers read.
class acl_list {
  public:
    /// Errors  ENOMEM: exceeds its memory_mb, or memory is exhausted; EINVAL: an invalid rule
    [[nodiscard]] static result<std::shared_ptr<acl_list>> compile(
        std::shared_ptr<const state::acl_list> says, rcu::defer_free defer_free);

    /// Result of an update of one rule.
    enum class one_rule : uint8_t {
        changed,
        as_it_was,  ///< not possible: more than one rule differs, or no room
        broken,     ///< out of memory half-way: the list is unusable and must be recompiled
    };
    /// Whether change_one_rule() would try it.
    [[nodiscard]] bool differs_by_one_rule(const state::acl_list& to) const {
        return edit_to(to).has_value();
    }
    /// Insert, remove or replace one rule, if the two lists differ by one rule only. Ids of other
    /// rules stay. If it throws, nothing has changed.
    [[nodiscard]] one_rule change_one_rule(const std::shared_ptr<const state::acl_list>& to);

    [[nodiscard]] const state::acl_list& says() const noexcept { return *says_; }
    /// Id of the rule at an index in the list; behind the last rule: of the default action.
    [[nodiscard]] uint32_t id_at(size_t index) const noexcept {
        return index < ids_.size() ? ids_[index] : default_id;
    }
    /// Upper bound of ids, for the lifetime of the list.
    [[nodiscard]] uint32_t id_limit() const noexcept {
        return static_cast<uint32_t>(priority_.size());
    }
    /// Also for the default action and for rules that were removed.
    [[nodiscard]] state::acl_action action_of(uint32_t id) const noexcept { return actions_[id]; }
    [[nodiscard]] uint64_t bytes() const;  ///< memory of the tables that workers read
    [[nodiscard]] std::string_view kernel() const noexcept { return v4_->kernel(); }
    /// By which packets of a family are classified: a kernel's name, with "/vectors" if by bit vectors; empty without rules.
    [[nodiscard]] std::string search_of(bool v6) const;

    // For workers.

    [[nodiscard]] const acl::classifier4& classifier(const acl::key4*) const noexcept {
        return *v4_;
    }
    [[nodiscard]] const acl::classifier6& classifier(const acl::key6*) const noexcept {
        return *v6_;
    }
    [[nodiscard]] uint32_t categories() const noexcept { return categories_; }
    [[nodiscard]] uint32_t default_hit() const noexcept { return default_hit_; }
    /// Whether the first rule precedes the second in the list.
    [[nodiscard]] bool above(uint32_t hit, uint32_t other) const noexcept {
        return priority_[acl_id(hit)] > priority_[acl_id(other)];
    }

  private:
    static constexpr uint32_t default_id = 0;

    struct family {
        std::vector<acl::rule_id> v4,
            v6;  ///< lib/acl's ids by rule id; SIZE_MAX: no rule in this family
    };
    /// Replace `gone` rules behind the first `head` ones by `come`: each 0 or 1.
    struct rule_edit {
        size_t head, gone, come;
    };
    acl_list() = default;
    [[nodiscard]] std::optional<rule_edit> edit_to(const state::acl_list& to) const;
    template <class Classifier>
    result<void> build(std::unique_ptr<Classifier>& to, std::vector<acl::rule_id>& ids, bool v6,
                       uint64_t max_bytes, rcu::defer_free defer_free);
    [[nodiscard]] acl::rule rule_of(const state::acl_rule& r, uint32_t id, bool v6) const;
    /// The priority of a rule that is inserted behind the first `head` ones; none: no room between its neighbours.
    [[nodiscard]] std::optional<uint32_t> priority_behind(size_t head) const;
    bool insert(const state::acl_rule& r, uint32_t id);
    bool remove(uint32_t id);
    void share_limit() noexcept;
    void optimize() noexcept;

    std::shared_ptr<const state::acl_list> says_;
    std::unique_ptr<acl::classifier4> v4_;
    std::unique_ptr<acl::classifier6> v6_;
    family known_as_;
    std::vector<uint32_t> ids_;       ///< by index in the list
    std::vector<uint32_t> priority_;  ///< by id; 0 for the default action and for unused ids
    std::vector<state::acl_action> actions_;  ///< by id
    uint32_t next_id_ = 1;
    uint32_t categories_ = 1;
    uint32_t default_hit_ = 0;
};

/// Packets that a rule decided or counted.
struct acl_counter {
    counters::counter packets, bytes;
};

/// An ACL bound to an interface and direction, with its counters: by worker, then by rule id.
struct bound_acl {
    std::shared_ptr<acl_list> list;
    std::vector<std::unique_ptr<acl_counter[]>> counters;
};

}  // namespace turnpike::datapath
