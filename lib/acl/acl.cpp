// SPDX-License-Identifier: BSD-3-Clause
#include "acl/acl.hpp"

#include <algorithm>
#include <new>

#include "acl/fastest_kernel.hpp"
#include "acl/trial.hpp"
#include "isa/kernel_table.hpp"

namespace turnpike::acl {

TURNPIKE_KERNEL(classify_function, classify)
#if defined(__x86_64__)
namespace avx512 {
classify_function classify_x16;  // 256-bit vectors with AVX-512 instructions
}
#endif

std::span<const isa::kernel<classify_function>> classify_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-acl` (doc/bench-acl.md).
    static constexpr isa::kernel<classify_function> table[] = {
#if defined(__x86_64__)
        {"avx512x32", isa::feature_avx512, 512, avx512::classify},
        {"avx512x16", isa::feature_avx512, 256, avx512::classify_x16},
#endif
        TURNPIKE_KERNEL_ROWS_TO_AVX2(classify),
    };
    return table;
}

template <class Key>
result<std::unique_ptr<classifier<Key>>> classifier<Key>::create(const config& c) try {
    std::unique_ptr<classifier> made(new classifier(c));
    if (auto ok = made->select_kernel(c.max_simd_bitwidth, c.kernel); !ok)
        return tl::unexpected<error>(ok.error());
    if (auto ok = made->table_.build({}); !ok) return tl::unexpected<error>(ok.error());
    return made;
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
}

template <class Key>
result<void> classifier<Key>::select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
    const auto row = isa::choose(classify_kernels(), name_, max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    max_simd_bitwidth_ = max_simd_bitwidth;
    automatic_ = name.empty() || name == "auto";
    kernel_.store(*row, std::memory_order_relaxed);
    return {};
}

template <class Key>
result<void> classifier<Key>::build(std::span<const rule> rules) {
    std::vector<packed_rule<words>> packed;
    std::vector<std::array<uint32_t, words>> keys;
    const auto no_memory = [] { return fail(ENOMEM, {}, "no memory"); };  // does not allocate
    try {
        packed.reserve(rules.size());
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
    for (size_t i = 0; i < rules.size(); ++i) {
        const auto p = pack<words>(rules[i]);
        if (!p)
            return fail(p.error().code, name_, "rule " + std::to_string(i) + ": " + p.error().text);
        packed.push_back(*p);
    }
    try {
        if (measure_kernels_ && automatic_) keys = trial_keys<words>(packed);
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
    if (auto ok = table_.build(std::move(packed)); !ok) return ok;
    vectors_pay_ = true;  // build() ends drop_vectors()
    if (keys.empty()) return {};
    const fastest_search best = find_fastest<words>(*readers_view(), keys, max_simd_bitwidth_);
    kernel_.store(&best.kernel, std::memory_order_relaxed);
    if (!best.vectors) drop_vectors();
    return {};
}

template <class Key>
void classifier<Key>::optimize() noexcept {
    if (vectors_pay_) table_.optimize();
}

template <class Key>
void classifier<Key>::drop_vectors() noexcept {
    vectors_pay_ = false;
    table_.drop_vectors();
}

template <class Key>
result<rule_id> classifier<Key>::add(const rule& r) {
    const auto p = pack<words>(r);
    if (!p) return fail(p.error().code, name_, p.error().text);
    return table_.add(*p);
}

template <class Key>
result<void> classifier<Key>::remove(rule_id id) {
    return table_.remove(id);
}

template <class Key>
explanation classifier<Key>::explain(const Key& key, unsigned category) const {
    std::array<uint32_t, words> in_words;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
    for (unsigned w = 0; w < words; ++w) in_words[w] = load_be<uint32_t>(bytes + 4 * w);
    explanation out;
    out.others = table_.matching(with_classes(in_words));
    const auto won = std::find_if(out.others.begin(), out.others.end(), [&](rule_id id) {
        return (table_.rule(id).categories >> category & 1) != 0;
    });
    if (won != out.others.end()) {
        out.winner = *won;
        out.others.erase(won);
    }
    return out;
}

template class classifier<key4>;
template class classifier<key6>;

}  // namespace turnpike::acl
