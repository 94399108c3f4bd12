// SPDX-License-Identifier: BSD-3-Clause
// The tables of one group of bit vectors (layout.hpp: bit_vectors), before and when they are laid out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// A field of all groups, and where its bytes are in a key.
struct vector_field {
    enum class kind : uint8_t { byte, port, port_of_one_byte };
    kind what;
    unsigned word, shift;  ///< of its bits in a rule
    bit_vectors::field at;
};

/// Vectors, each once.
class distinct_vectors {
  public:
    explicit distinct_vectors(size_t words) : words_(words) {}

    /// Answers  the vector's number
    size_t add(const uint32_t* vector);
    [[nodiscard]] size_t size() const noexcept { return all_.size() / words_; }
    [[nodiscard]] std::vector<uint32_t> release() noexcept { return std::move(all_); }

  private:
    size_t words_;
    std::vector<uint32_t> all_;
    std::unordered_multimap<size_t, size_t> by_hash_;
};

template <unsigned Words>
class group_tables {
  public:
    using rule_type = packed_rule<Words>;

    /// rules       all rules, highest priority first; they outlive this
    /// those       the group's: fewer than vector_bytes * 8
    /// categories  rules differ in theirs
    group_tables(std::span<const rule_type> rules, std::vector<uint32_t> those,
                 uint32_t vector_bytes, bool categories);

    /// Fields in this order; those of one byte and of two are numbered apart.
    ///
    /// Throws  std::bad_alloc
    void add_byte(const vector_field& f);
    void add_port(const vector_field& f);

    /// Bytes of the group; nothing if they are too many for its offsets.
    [[nodiscard]] std::optional<uint64_t> bytes() const noexcept;
    /// to           zeroed
    /// some_offset  of a byte that every key has
    /// numbered     results are the rules' numbers in place of their user data
    void write(uint8_t* to, uint16_t some_offset, bool numbered) const noexcept;

  private:
    /// Numbers in place of offsets.
    struct field {
        std::vector<uint32_t> index;  ///< of vectors, or of blocks
        std::vector<uint16_t> blocks;
        std::vector<uint32_t> vectors;
    };
    static void set(uint32_t* to, size_t rule) noexcept { to[rule / 32] |= 1U << rule % 32; }
    [[nodiscard]] std::vector<uint32_t> no_rules() const;
    [[nodiscard]] uint64_t blocks_at() const noexcept;

    [[nodiscard]] const rule_type& rule(size_t number) const noexcept {
        return rules_[those_[number]];
    }

    std::span<const rule_type> rules_;
    std::vector<uint32_t> those_;
    uint32_t vector_bytes_;
    size_t words_;
    bool categories_;
    std::vector<field> bytes_, ports_;
};

}  // namespace turnpike::acl
