// SPDX-License-Identifier: BSD-3-Clause
#include "acl/bit_vectors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <span>

#include "acl/group_tables.hpp"
#include "acl/rule_groups.hpp"

namespace turnpike::acl {
namespace {

constexpr uint32_t node_bytes = bit_vectors::header_bytes + 256 * sizeof(uint32_t);
static_assert(node_bytes % bit_vectors::granule_bytes == 0);

/// With what frees it. Nodes and groups follow in the same allocation.
struct allocated : bit_vectors {
    memory from;
    uint64_t bytes = 0;
    std::shared_ptr<uint64_t> held;
};

constexpr uint64_t aligned(uint64_t bytes) {
    constexpr uint64_t granule = bit_vectors::granule_bytes;
    return (bytes + granule - 1) / granule * granule;
}

/// How the rules may be divided, the fastest first.
struct form {
    uint32_t vector_bytes;
    unsigned parts;
    bool alone = false;  ///< of one group only
};
constexpr form forms[] = {{32, 1}, {64, 1}, {32, 2}, {128, 1}, {256, 1, true}};
constexpr size_t max_rules_in(uint32_t vector_bytes) { return 8 * vector_bytes - 1; }

bool one_byte(const vector_field& f) {
    return f.what == vector_field::kind::byte || f.what == vector_field::kind::port_of_one_byte;
}

/// A part before it is laid out.
template <unsigned Words>
struct part_tables {
    rule_groups rules;
    std::vector<vector_field> fields;
    std::vector<group_tables<Words>> groups;
    std::vector<uint64_t> bytes;  ///< of each group

    [[nodiscard]] uint64_t all_bytes() const {
        return std::accumulate(bytes.begin(), bytes.end(), node_bytes * rules.nodes.size());
    }
};

template <unsigned Words>
class vectors_builder {
  public:
    vectors_builder(const std::vector<packed_rule<Words>>& rules, const view& of)
        : rules_(rules), view_(of) {}

    /// Answers  false if some field cannot be found in a key, or the rules cannot be divided
    bool build() {
        std::vector<uint32_t> all(rules_.size());
        std::iota(all.begin(), all.end(), 0U);
        const auto fields = fields_of(all);
        if (!fields) return false;
        for (rule_groups& each : divided(*fields)) {
            parts_.emplace_back();
            parts_.back().rules = std::move(each);
            if (!add_tables(parts_.back())) return false;
        }
        return !parts_.empty();
    }

    owned_bit_vectors lay_out(const memory& from, uint64_t byte_limit,
                              const std::shared_ptr<uint64_t>& held) const {
        const uint64_t head = aligned(sizeof(allocated)),
                       user_data = aligned(4 * (rules_.size() + 1));
        uint64_t bytes = head + user_data;
        for (const auto& p : parts_) bytes += p.all_bytes();
        if (bytes > byte_limit) return nullptr;
        auto* const memory =
            static_cast<uint8_t*>(from.allocate(from.context, bytes, bit_vectors::granule_bytes));
        if (memory == nullptr) return nullptr;
        auto* const made = new (memory) allocated{};
        owned_bit_vectors out(made);
        made->from = from;
        made->bytes = bytes;
        made->held = held;
        *held += bytes;
        std::memset(memory + head, 0, bytes - head);
        auto* next_data = reinterpret_cast<uint32_t*>(memory + head);
        made->user_data = next_data;
        for (const auto& r : rules_) *next_data++ = r.user_data;
        made->block = memory + head + user_data;
        made->vector_bytes = static_cast<uint16_t>(vector_bytes_);
        uint64_t at = 0;
        for (const auto& p : parts_) {
            write(p, memory + head + user_data, at, made->part_at[made->parts++]);
            made->groups += static_cast<uint32_t>(p.groups.size());
            at += p.all_bytes();
        }
        return out;
    }

  private:
    using kind = vector_field::kind;
    static constexpr unsigned ports = packed_rule<Words>::ports_word;

    /// The offset in a key of the byte at `shift` of a word, as layout.hpp's pieces say.
    [[nodiscard]] std::optional<uint16_t> offset_of(unsigned word, unsigned shift) const noexcept {
        if (view_.pieces == 0) return static_cast<uint16_t>(4 * word + 3 - shift / 8);
        for (unsigned i = 0; i < view_.pieces; ++i) {
            const piece& p = view_.piece_at[i];
            if (p.word != word || shift < p.shift || shift >= p.shift + 8U * p.bytes) continue;
            if ((shift - p.shift) % 8 != 0) return {};
            return static_cast<uint16_t>(p.offset + p.bytes - 1 - (shift - p.shift) / 8);
        }
        return {};
    }

    /// The fields that these rules test. Answers  nothing if one cannot be found in a key
    std::optional<std::vector<vector_field>> fields_of(std::span<const uint32_t> rules) const {
        std::vector<vector_field> out;
        uint32_t some_ports = 0;
        std::array<uint32_t, Words> masks{};
        for (const uint32_t i : rules) {
            some_ports |= ~rules_[i].ports_more;
            for (unsigned w = 0; w < Words; ++w) masks[w] |= rules_[i].mask[w];
        }
        for (const unsigned shift : {16U, 0U}) {
            if ((some_ports >> shift & 0xffff) == 0) continue;
            const auto high = offset_of(ports, shift + 8), low = offset_of(ports, shift);
            if (!low) return {};
            if (high)
                out.push_back({kind::port, ports, shift, {*high, *low}});
            else
                out.push_back({kind::port_of_one_byte, ports, shift, {*low, 0}});
        }
        for (unsigned w = 0; w < Words; ++w)
            for (const unsigned shift : {24U, 16U, 8U, 0U}) {
                if (w == ports || (w == Words - vlan_from_end && shift < 16))
                    continue;  // ranges; port classes, which follow from them
                if ((masks[w] >> shift & 0xff) == 0) continue;
                const auto at = offset_of(w, shift);
                if (!at) return {};
                out.push_back({kind::byte, w, shift, {*at, 0}});
            }
        return out;
    }

    /// In the fastest form that they fit in.
    std::vector<rule_groups> divided(const std::vector<vector_field>& fields) {
        std::vector<key_byte> bytes;
        for (const vector_field& f : fields)
            if (f.what != kind::port_of_one_byte)
                bytes.push_back({f.word, f.what == kind::port ? f.shift + 8 : f.shift});
        for (const form& f : forms) {
            if (f.alone && rules_.size() > max_rules_in(f.vector_bytes)) continue;
            auto found = divide<Words>(rules_, bytes, max_rules_in(f.vector_bytes), f.parts);
            if (found.empty()) continue;
            vector_bytes_ = f.vector_bytes;
            return found;
        }
        return {};
    }

    /// Answers  false if a group is too large
    bool add_tables(part_tables<Words>& to) const {
        std::vector<uint32_t> all;
        for (const auto& set : to.rules.groups) all.insert(all.end(), set.begin(), set.end());
        to.fields = *fields_of(all);
        for (const auto& set : to.rules.groups) {
            group_tables<Words> made(rules_, set, vector_bytes_, view_.categories == 0);
            for (const vector_field& f : to.fields)
                if (f.what == kind::byte)
                    made.add_byte(f);
                else
                    made.add_port(f);
            const auto bytes = made.bytes();
            if (!bytes) return false;
            to.bytes.push_back(*bytes);
            to.groups.push_back(std::move(made));
        }
        return true;
    }

    /// at  where the part begins in the block
    void write(const part_tables<Words>& from, uint8_t* block, uint64_t at,
               bit_vectors::part& to) const {
        std::vector<uint64_t> groups_at;
        uint64_t next = at + node_bytes * from.rules.nodes.size();
        for (const uint64_t bytes : from.bytes) {
            groups_at.push_back(next);
            next += bytes;
        }
        const auto place = [&](rule_groups::child c) {
            const uint64_t there = c.group ? groups_at[c.number] : at + node_bytes * c.number;
            return static_cast<uint32_t>(there / bit_vectors::granule_bytes * 2) |
                   (c.group ? bit_vectors::group_bit : 0);
        };
        to.root = place(from.rules.root);
        to.levels = static_cast<uint16_t>(from.rules.levels);
        for (const vector_field& f : from.fields)
            if (one_byte(f))
                to.byte_field[to.byte_fields++] = f.at;
            else
                to.port_field[to.port_fields++] = f.at;
        uint8_t* node = block + at;
        for (const rule_groups::node& n : from.rules.nodes) {
            const uint16_t offset = *offset_of(n.byte.word, n.byte.shift);
            std::memcpy(node, &offset, sizeof offset);
            auto* child = reinterpret_cast<uint32_t*>(node + bit_vectors::header_bytes);
            for (const rule_groups::child& c : n.children) *child++ = place(c);
            node += node_bytes;
        }
        const uint16_t some_offset = from.fields.empty() ? 0 : from.fields[0].at.high;
        for (size_t i = 0; i < from.groups.size(); ++i)
            from.groups[i].write(block + groups_at[i], some_offset, parts_.size() > 1);
    }

    const std::vector<packed_rule<Words>>& rules_;
    const view& view_;
    uint32_t vector_bytes_ = 0;
    std::vector<part_tables<Words>> parts_;
};

}  // namespace

void bit_vectors_owner::operator()(const bit_vectors* gone) const noexcept {
    auto* const block = const_cast<allocated*>(static_cast<const allocated*>(gone));
    const memory from = block->from;
    *block->held -= block->bytes;
    block->~allocated();
    from.release(from.context, block);
}

uint64_t bytes_of(const bit_vectors& v) noexcept { return static_cast<const allocated&>(v).bytes; }

template <unsigned Words>
owned_bit_vectors make_bit_vectors(const std::vector<packed_rule<Words>>& rules, const view& view,
                                   const memory& from, uint64_t byte_limit,
                                   const std::shared_ptr<uint64_t>& held) noexcept {
    if (rules.empty()) return nullptr;
    try {
        vectors_builder<Words> builder(rules, view);
        if (!builder.build()) return nullptr;
        return builder.lay_out(from, byte_limit, held);
    } catch (const std::bad_alloc&) {
        return nullptr;  // the trees classify without them
    }
}

template owned_bit_vectors make_bit_vectors<ipv4_words>(const std::vector<packed_rule<ipv4_words>>&,
                                                        const view&, const memory&, uint64_t,
                                                        const std::shared_ptr<uint64_t>&) noexcept;
template owned_bit_vectors make_bit_vectors<ipv6_words>(const std::vector<packed_rule<ipv6_words>>&,
                                                        const view&, const memory&, uint64_t,
                                                        const std::shared_ptr<uint64_t>&) noexcept;

}  // namespace turnpike::acl
