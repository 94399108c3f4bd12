// SPDX-License-Identifier: BSD-3-Clause
// Maps rte_acl's fields (type, size, offset) to the words of a key: the input bytes of each word,
// and the words of a rule for its fields.
#pragma once

#include <span>
#include <vector>

#include "acl/generation.hpp"
#include "acl/tpk_acl.h"

namespace turnpike::acl {

/// One field's place in a key: bits [shift, shift + 8 * bytes) of a word.
struct field_place {
    tpk_acl_field_def field;
    uint8_t word;
    uint8_t shift;
    bool range;  ///< half of the ports' word; otherwise ternary bits
    bool wide;   ///< the upper half of an eight-byte field: the lower half is the next place
};

template <unsigned Words>
class field_map {
  public:
    using rule_type = packed_rule<Words>;

    /// real_range  per field: some rule has a range that is not a prefix
    /// Errors      ENOTSUP: the fields do not fit in this many words
    [[nodiscard]] static result<field_map> fitting(std::span<const tpk_acl_field_def> fields,
                                                   const std::vector<bool>& real_range);
    const typename generation<Words>::key_layout& key() const noexcept { return key_; }
    /// Convert one rte_acl rule; a range that is split into prefixes makes several rules.
    ///
    /// Errors  ENOTSUP: too many
    [[nodiscard]] result<void> convert(const tpk_acl_rule_data& data, const tpk_acl_field* fields,
                                       uint32_t categories, std::vector<rule_type>& to) const;

  private:
    void place(const tpk_acl_field_def& field, unsigned word, unsigned shift, bool range,
               bool wide = false);
    std::vector<field_place> places_;
    typename generation<Words>::key_layout key_;
};

/// A field's value as an integer.
uint64_t number_of(const tpk_acl_field_types& v, unsigned bytes) noexcept;
/// True if [first, last] is one aligned block.
bool is_prefix(uint64_t first, uint64_t last) noexcept;

}  // namespace turnpike::acl
