// SPDX-License-Identifier: BSD-3-Clause
#include "acl/bit_vectors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace turnpike::acl {
namespace {

constexpr uint32_t values = 256;  ///< of a byte
constexpr uint64_t line_bytes = 64;
constexpr uint32_t least_vector = 32;  ///< bytes

/// With what frees it. The tables follow in the same allocation.
struct allocated : bit_vectors {
    memory from;
    uint64_t bytes = 0;
    std::shared_ptr<uint64_t> held;
};

/// Vectors, each once.
class distinct_vectors {
  public:
    explicit distinct_vectors(size_t words) : words_(words) {}

    /// Answers  the vector's number
    size_t add(const uint32_t* vector) {
        const size_t bytes = words_ * sizeof *vector;
        const size_t hash =
            std::hash<std::string_view>()({reinterpret_cast<const char*>(vector), bytes});
        const auto [first, end] = by_hash_.equal_range(hash);
        for (auto it = first; it != end; ++it)
            if (std::memcmp(&all_[it->second * words_], vector, bytes) == 0) return it->second;
        const size_t number = all_.size() / words_;
        by_hash_.emplace(hash, number);
        all_.insert(all_.end(), vector, vector + words_);
        return number;
    }
    [[nodiscard]] size_t size() const noexcept { return all_.size() / words_; }
    [[nodiscard]] const uint32_t* operator[](size_t number) const noexcept {
        return &all_[number * words_];
    }
    [[nodiscard]] std::vector<uint32_t> release() noexcept { return std::move(all_); }

  private:
    size_t words_;
    std::vector<uint32_t> all_;
    std::unordered_multimap<size_t, size_t> by_hash_;
};

/// The vectors of a byte's values.
struct byte_vectors {
    uint16_t offset;  ///< of the byte in a key
    std::array<size_t, values> number;
    distinct_vectors vectors;
};

/// One field's tables before they are laid out.
struct field_tables {
    uint16_t high, low;
    std::vector<uint16_t> index, blocks;
    std::vector<uint32_t> vectors;
};

template <unsigned Words>
class vectors_builder {
  public:
    vectors_builder(const std::vector<packed_rule<Words>>& rules, const view& of)
        : rules_(rules), view_(of), words_(vector_bytes() / 4) {}

    /// Answers  false if some field cannot be found in a key, or has too many vectors
    bool build() {
        if (!add_range(16) || !add_range(0)) return false;
        for (unsigned w = 0; w < Words; ++w)
            for (const unsigned shift : {16U, 0U}) {
                if (w == ports || (w == Words - vlan_from_end && shift == 0))
                    continue;  // ranges; port classes, which follow from them
                if (!add_half_word(w, shift)) return false;
            }
        return true;
    }

    owned_bit_vectors lay_out(const memory& from, uint64_t byte_limit,
                              const std::shared_ptr<uint64_t>& held) const {
        uint64_t bytes = aligned(sizeof(allocated)) + aligned(8 * vector_bytes() * 4) +
                         (view_.categories == 0 ? max_categories * vector_bytes() : 0);
        for (const auto* fields : {&bytes_, &pairs_})
            for (const field_tables& f : *fields)
                bytes += aligned(2 * f.index.size()) + aligned(2 * f.blocks.size()) +
                         aligned(4 * f.vectors.size());
        if (bytes > byte_limit) return nullptr;
        void* const block = from.allocate(from.context, bytes, line_bytes);
        if (block == nullptr) return nullptr;
        auto* const made = new (block) allocated{};
        owned_bit_vectors out(made);
        made->from = from;
        made->bytes = bytes;
        made->held = held;
        *held += bytes;
        auto* next = static_cast<uint8_t*>(block) + aligned(sizeof(allocated));
        const auto put = [&next]<class T>(const std::vector<T>& what) {
            auto* const at = reinterpret_cast<T*>(next);
            std::copy(what.begin(), what.end(), at);
            next += aligned(sizeof(T) * what.size());
            return at;
        };
        made->vector_bytes = vector_bytes();
        made->user_data = put(user_data());
        if (view_.categories == 0)
            made->categories = reinterpret_cast<const uint64_t*>(put(categories()));
        const auto put_field = [&](const field_tables& f) {
            const uint16_t *const index = put(f.index), *const blocks = put(f.blocks);
            const auto* vectors = reinterpret_cast<const uint64_t*>(put(f.vectors));
            return bit_vectors::field{f.high, f.low, index, blocks, vectors};
        };
        for (const field_tables& f : bytes_) made->byte_field[made->byte_fields++] = put_field(f);
        for (const field_tables& f : pairs_) made->pair_field[made->pair_fields++] = put_field(f);
        return out;
    }

  private:
    static constexpr unsigned ports = packed_rule<Words>::ports_word;

    static constexpr uint64_t aligned(uint64_t bytes) {
        return (bytes + line_bytes - 1) / line_bytes * line_bytes;
    }
    [[nodiscard]] uint32_t vector_bytes() const noexcept {
        // A bit more than there are rules.
        return std::max(least_vector, std::bit_ceil(static_cast<uint32_t>(rules_.size()) / 8 + 1));
    }
    static void set(uint32_t* to, size_t rule) noexcept { to[rule / 32] |= 1U << rule % 32; }
    /// A vector with the last bit only.
    [[nodiscard]] std::vector<uint32_t> no_rules() const {
        std::vector<uint32_t> out(words_);
        set(out.data(), 32 * words_ - 1);
        return out;
    }

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

    /// The two bytes at `shift` of a word: one field, or a field each.
    bool add_half_word(unsigned word, unsigned shift) {
        if (!tests(word, 0xffU << shift << 8))
            return !tests(word, 0xffU << shift) || add_byte(word, shift);
        if (!tests(word, 0xffU << shift)) return add_byte(word, shift + 8);
        auto high = vectors_of(word, shift + 8), low = vectors_of(word, shift);
        return high && low && (add_pair(*high, *low) || (add(*high) && add(*low)));
    }
    bool add_byte(unsigned word, unsigned shift) {
        auto of = vectors_of(word, shift);
        return of && add(*of);
    }
    [[nodiscard]] bool tests(unsigned word, uint32_t bits) const {
        return std::ranges::any_of(rules_,
                                   [&](const auto& r) { return (r.mask[word] & bits) != 0; });
    }

    /// Answers  nothing if the byte cannot be found in a key
    std::optional<byte_vectors> vectors_of(unsigned word, unsigned shift) const {
        const auto at = offset_of(word, shift);
        if (!at) return {};
        const auto byte_of = [shift](uint32_t x) { return x >> shift & 0xff; };
        std::vector<uint32_t> rows, wild = no_rules();
        for (size_t i = 0; i < rules_.size(); ++i)
            if (byte_of(rules_[i].mask[word]) == 0) set(wild.data(), i);
        for (uint32_t v = 0; v < values; ++v) rows.insert(rows.end(), wild.begin(), wild.end());
        for (size_t i = 0; i < rules_.size(); ++i) {
            const uint32_t mask = byte_of(rules_[i].mask[word]);
            if (mask == 0) continue;
            const uint32_t open = ~mask & 0xff, value = byte_of(rules_[i].value[word]) & mask;
            for (uint32_t bits = open;; bits = (bits - 1) & open) {
                set(&rows[(value | bits) * words_], i);
                if (bits == 0) break;
            }
        }
        byte_vectors out{*at, {}, distinct_vectors(words_)};
        for (uint32_t v = 0; v < values; ++v) out.number[v] = out.vectors.add(&rows[v * words_]);
        return out;
    }

    /// Where vector `number` of a field is, as kernels read it. Answers  false if that is too far
    bool place(size_t number, uint16_t& to) const noexcept {
        const size_t at = number * words_ / 2;
        to = static_cast<uint16_t>(at);
        return at <= UINT16_MAX;
    }

    bool add(byte_vectors& of) {
        field_tables out{of.offset, 0, std::vector<uint16_t>(values), {}, {}};
        for (uint32_t v = 0; v < values; ++v)
            if (!place(of.number[v], out.index[v])) return false;
        out.vectors = of.vectors.release();
        bytes_.push_back(std::move(out));
        return true;
    }

    /// One field of two bytes saves the load and the AND of a vector; worth it for long ones. Answers  false if not
    bool add_pair(const byte_vectors& high, const byte_vectors& low) {
        if (vector_bytes() == least_vector) return false;
        const size_t most = 2 * (high.vectors.size() + low.vectors.size());
        distinct_vectors both(words_);
        std::vector<uint32_t> common(words_);
        field_tables out{high.offset, low.offset, std::vector<uint16_t>(values), {}, {}};
        for (size_t h = 0; h < high.vectors.size(); ++h) {
            std::vector<uint16_t> of_low(low.vectors.size());
            for (size_t l = 0; l < low.vectors.size(); ++l) {
                std::transform(high.vectors[h], high.vectors[h] + words_, low.vectors[l],
                               common.begin(), std::bit_and<>());
                if (!place(both.add(common.data()), of_low[l]) || both.size() > most) return false;
            }
            for (uint32_t v = 0; v < values; ++v) out.blocks.push_back(of_low[low.number[v]]);
        }
        for (uint32_t v = 0; v < values; ++v)
            out.index[v] = static_cast<uint16_t>(high.number[v] * values);
        out.vectors = both.release();
        pairs_.push_back(std::move(out));
        return true;
    }

    /// shift  of the port in its word
    bool add_range(unsigned shift) {
        const auto low = [&](const auto& r) { return r.ports_low >> shift & 0xffff; };
        const auto more = [&](const auto& r) { return r.ports_more >> shift & 0xffff; };
        if (std::ranges::all_of(rules_, [&](const auto& r) { return more(r) == 0xffff; }))
            return true;
        const auto high_at = offset_of(ports, shift + 8), low_at = offset_of(ports, shift);
        if (!low_at) return false;
        // Ends of rules in order: between two of these all ports have the same rules.
        struct event {
            uint32_t port;
            uint32_t rule;
        };
        std::vector<event> events;
        for (uint32_t i = 0; i < rules_.size(); ++i) {
            events.push_back({low(rules_[i]), i});
            events.push_back({low(rules_[i]) + more(rules_[i]) + 1, i});
        }
        std::ranges::sort(events, {}, &event::port);
        distinct_vectors intervals(words_);
        std::vector<uint32_t> now = no_rules();
        std::vector<uint16_t> of_port(65536);
        size_t next = 0;
        for (uint32_t port = 0, end; port <= 0xffff; port = end) {
            for (; next < events.size() && events[next].port == port; ++next)
                now[events[next].rule / 32] ^= 1U << events[next].rule % 32;
            end = next < events.size() ? events[next].port : 0x10000;
            uint16_t at;
            if (!place(intervals.add(now.data()), at)) return false;
            std::fill(of_port.begin() + port, of_port.begin() + end, at);
        }
        if (!high_at) {  // a range of one byte
            of_port.resize(values);
            bytes_.push_back({*low_at, 0, std::move(of_port), {}, intervals.release()});
            return true;
        }
        field_tables out{*high_at, *low_at, {}, {}, intervals.release()};
        distinct_vectors blocks(values / 2);
        for (uint32_t high = 0; high < values; ++high) {
            uint32_t block[values / 2];
            std::memcpy(block, &of_port[high * values], sizeof block);
            out.index.push_back(static_cast<uint16_t>(blocks.add(block) * values));
        }
        const std::vector<uint32_t> all = blocks.release();
        out.blocks.resize(2 * all.size());
        std::memcpy(out.blocks.data(), all.data(), 4 * all.size());
        pairs_.push_back(std::move(out));
        return true;
    }

    [[nodiscard]] std::vector<uint32_t> user_data() const {
        std::vector<uint32_t> out(32 * words_);
        for (size_t i = 0; i < rules_.size(); ++i) out[i] = rules_[i].user_data;
        return out;
    }
    [[nodiscard]] std::vector<uint32_t> categories() const {
        std::vector<uint32_t> out;
        for (unsigned c = 0; c < max_categories; ++c) {
            std::vector<uint32_t> members = no_rules();
            for (size_t i = 0; i < rules_.size(); ++i)
                if ((rules_[i].categories >> c & 1) != 0) set(members.data(), i);
            out.insert(out.end(), members.begin(), members.end());
        }
        return out;
    }

    const std::vector<packed_rule<Words>>& rules_;
    const view& view_;
    const size_t words_;
    std::vector<field_tables> bytes_, pairs_;
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
    if (rules.empty() || rules.size() > bit_vectors::max_rules) return nullptr;
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
