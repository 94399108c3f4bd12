// SPDX-License-Identifier: BSD-3-Clause
// The C API: rte_acl's names, arguments and return codes.
#include <rte_errno.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.hpp"
#include "acl/acl_dpdk.hpp"
#include "acl/fastest_kernel.hpp"
#include "acl/field_map.hpp"
#include "acl/tpk_acl.h"
#include "acl/trial.hpp"
#include "base/registry.hpp"
#include "eal/simd_bitwidth.hpp"

namespace acl = turnpike::acl;

using ipv4_table = std::unique_ptr<acl::table<acl::ipv4_words>>;
using ipv6_table = std::unique_ptr<acl::table<acl::ipv6_words>>;

struct tpk_acl_ctx {
    std::string name;
    int socket_id;
    uint32_t rule_size, max_rules;
    std::vector<uint8_t> rules;
    uint32_t rule_count = 0;
    std::variant<std::monostate, ipv4_table, ipv6_table> built;
    acl::classify_function* classify = nullptr;
    std::string_view kernel;
    bool automatic = true;  ///< no algorithm was selected by name

    const uint8_t* rule_at(uint32_t i) const { return rules.data() + size_t{i} * rule_size; }
    const acl::view* view() const {
        if (const auto* t = std::get_if<ipv4_table>(&built)) return (*t)->readers_view();
        if (const auto* t = std::get_if<ipv6_table>(&built)) return (*t)->readers_view();
        return nullptr;
    }
};

namespace {

turnpike::registry<tpk_acl_ctx>& contexts = *new turnpike::registry<tpk_acl_ctx>;

constexpr size_t fields_at = offsetof(tpk_acl_rule, field);

tpk_acl_rule_data data_of(const uint8_t* rule) {
    tpk_acl_rule_data data;
    std::memcpy(&data, rule, sizeof data);
    return data;
}

std::vector<tpk_acl_field> fields_of(const tpk_acl_ctx& ctx, uint32_t rule) {
    std::vector<tpk_acl_field> fields((ctx.rule_size - fields_at) / sizeof(tpk_acl_field));
    std::memcpy(fields.data(), ctx.rule_at(rule) + fields_at,
                fields.size() * sizeof(tpk_acl_field));
    return fields;
}

int check(const tpk_acl_ctx& ctx, const tpk_acl_config& cfg) {
    if (cfg.num_categories == 0 || cfg.num_categories > TPK_ACL_MAX_CATEGORIES ||
        cfg.num_fields == 0 || cfg.num_fields > TPK_ACL_MAX_FIELDS)
        return -EINVAL;
    for (uint32_t i = 0; i < cfg.num_fields; ++i) {
        const tpk_acl_field_def& f = cfg.defs[i];
        const bool sized = f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8;
        if (!sized || f.type > TPK_ACL_FIELD_TYPE_BITMASK ||
            (f.field_index + 1u) * sizeof(tpk_acl_field) + fields_at > ctx.rule_size)
            return -EINVAL;
    }
    return 0;
}

/// Fields with ranges that are not prefixes.
std::vector<bool> real_ranges(const tpk_acl_ctx& ctx, std::span<const tpk_acl_field_def> defs) {
    std::vector<bool> real(defs.size());
    for (uint32_t r = 0; r < ctx.rule_count; ++r) {
        const auto fields = fields_of(ctx, r);
        for (size_t i = 0; i < defs.size(); ++i)
            if (defs[i].type == TPK_ACL_FIELD_TYPE_RANGE) {
                const tpk_acl_field& f = fields[defs[i].field_index];
                if (!acl::is_prefix(acl::number_of(f.value, defs[i].size),
                                    acl::number_of(f.mask_range, defs[i].size)))
                    real[i] = true;
            }
    }
    return real;
}

template <unsigned Words>
turnpike::result<std::unique_ptr<acl::table<Words>>> build_table(tpk_acl_ctx& ctx,
                                                                 const tpk_acl_config& cfg) {
    const std::span defs(cfg.defs, cfg.num_fields);
    const auto map = acl::field_map<Words>::fitting(defs, real_ranges(ctx, defs));
    if (!map) return tl::unexpected<turnpike::error>(map.error());
    std::vector<acl::packed_rule<Words>> rules;
    for (uint32_t r = 0; r < ctx.rule_count; ++r) {
        const tpk_acl_rule_data data = data_of(ctx.rule_at(r));
        const uint32_t categories = data.category_mask & ((1u << cfg.num_categories) - 1);
        if (categories == 0) continue;
        const auto ok = map->convert(data, fields_of(ctx, r).data(), categories, rules);
        if (!ok) return tl::unexpected<turnpike::error>(ok.error());
    }
    if (rules.empty())
        return turnpike::fail(EINVAL, ctx.name, "has no rules of these categories to build");
    acl::config config = acl::eal_config(ctx.name, ctx.socket_id, cfg.max_size);
    config.max_rules = static_cast<uint32_t>(rules.size());
    auto table = std::make_unique<acl::table<Words>>(config, map->key());
    const auto keys = acl::trial_keys<Words>(rules);
    if (auto ok = table->build(std::move(rules)); !ok)
        return tl::unexpected<turnpike::error>(ok.error());
    if (ctx.automatic) {
        const auto best = acl::find_fastest<Words>(*table->readers_view(), keys,
                                                   turnpike::eal::max_simd_bitwidth());
        ctx.classify = best.kernel.function;
        ctx.kernel = best.kernel.name;
        if (!best.vectors) table->drop_vectors();
    }
    return table;
}

/// The kernel for an algorithm. classify_alg calls this for every burst: it must not allocate.
int select(enum tpk_acl_classify_alg alg, acl::classify_function** function,
           std::string_view* name) noexcept {
    static constexpr std::string_view names[] = {"",     "scalar", "sse42",     "avx2",
                                                 "neon", {},       "avx512x16", "avx512x32"};
    const auto number = static_cast<unsigned>(alg);
    if (number >= std::size(names)) return -EINVAL;
    if (number != 0 && names[number].empty()) return -ENOTSUP;
    const uint16_t width = turnpike::eal::max_simd_bitwidth();
    for (const auto& row : acl::classify_kernels()) {
        if ((number != 0 && row.name != names[number]) || !turnpike::isa::may_run(row, width))
            continue;
        *function = row.function;
        if (name != nullptr) *name = row.name;
        return 0;
    }
    return -ENOTSUP;
}

int classify_with(const tpk_acl_ctx& ctx, acl::classify_function* function, const uint8_t** data,
                  uint32_t* results, uint32_t num, uint32_t categories) {
    if (categories > TPK_ACL_MAX_CATEGORIES ||
        (categories != 1 && categories % TPK_ACL_RESULTS_MULTIPLIER != 0))
        return -EINVAL;
    if (categories == 0) return 0;
    if (const acl::view* view = ctx.view())
        function(*view, data, results, num, categories);
    else
        std::fill_n(results, size_t{num} * categories, 0U);
    return 0;
}

}  // namespace

tpk_acl_ctx* tpk_acl_create(const tpk_acl_param* param) try {
    if (param == nullptr || param->name == nullptr || param->socket_id < -1) {
        rte_errno = EINVAL;
        return nullptr;
    }
    const std::string name = std::string(param->name).substr(0, TPK_ACL_NAMESIZE - 1);
    if (tpk_acl_ctx* there = contexts.find(name)) return there;
    auto made = std::make_unique<tpk_acl_ctx>();
    made->name = name;
    made->socket_id = param->socket_id;
    made->rule_size = param->rule_size;
    made->max_rules = param->max_rule_num;
    select(TPK_ACL_CLASSIFY_DEFAULT, &made->classify, &made->kernel);
    tpk_acl_ctx* added = contexts.add(std::move(made));
    return added != nullptr ? added : contexts.find(name);
} catch (const std::bad_alloc&) {
    rte_errno = ENOMEM;
    return nullptr;
}

tpk_acl_ctx* tpk_acl_find_existing(const char* name) {
    tpk_acl_ctx* found = name != nullptr ? contexts.find(name) : nullptr;
    if (found == nullptr) rte_errno = ENOENT;
    return found;
}

void tpk_acl_free(tpk_acl_ctx* ctx) { contexts.remove(ctx); }

int tpk_acl_add_rules(tpk_acl_ctx* ctx, const tpk_acl_rule* rules, uint32_t num) try {
    if (ctx == nullptr || rules == nullptr || ctx->rule_size < fields_at) return -EINVAL;
    const auto* from = reinterpret_cast<const uint8_t*>(rules);
    for (uint32_t i = 0; i < num; ++i) {
        const tpk_acl_rule_data d = data_of(from + size_t{i} * ctx->rule_size);
        if ((d.category_mask & ((1u << TPK_ACL_MAX_CATEGORIES) - 1)) == 0 ||
            d.priority < TPK_ACL_MIN_PRIORITY || d.priority > TPK_ACL_MAX_PRIORITY)
            return -EINVAL;
    }
    if (num > ctx->max_rules - ctx->rule_count) return -ENOMEM;
    ctx->rules.insert(ctx->rules.end(), from, from + size_t{num} * ctx->rule_size);
    ctx->rule_count += num;
    return 0;
} catch (const std::bad_alloc&) {
    return -ENOMEM;
}

void tpk_acl_reset_rules(tpk_acl_ctx* ctx) {
    if (ctx == nullptr) return;
    ctx->rules.clear();
    ctx->rule_count = 0;
}

void tpk_acl_reset(tpk_acl_ctx* ctx) {
    if (ctx == nullptr) return;
    tpk_acl_reset_rules(ctx);
    ctx->built = std::monostate();
}

int tpk_acl_build(tpk_acl_ctx* ctx, const tpk_acl_config* cfg) try {
    if (ctx == nullptr || cfg == nullptr) return -EINVAL;
    if (const int wrong = check(*ctx, *cfg); wrong != 0) return wrong;
    const auto code = [cfg](const turnpike::error& e) {
        return e.code == ENOMEM && cfg->max_size != 0 ? -ERANGE : -e.code;
    };
    auto small = build_table<acl::ipv4_words>(*ctx, *cfg);
    if (small) {
        ctx->built = std::move(*small);
        return 0;
    }
    if (small.error().code != ENOTSUP) return code(small.error());
    auto large = build_table<acl::ipv6_words>(*ctx, *cfg);
    if (!large) return code(large.error());
    ctx->built = std::move(*large);
    return 0;
} catch (const std::bad_alloc&) {
    return -ENOMEM;
}

int tpk_acl_classify(const tpk_acl_ctx* ctx, const uint8_t** data, uint32_t* results, uint32_t num,
                     uint32_t categories) {
    if (ctx == nullptr) return -EINVAL;
    return classify_with(*ctx, ctx->classify, data, results, num, categories);
}

int tpk_acl_classify_alg(const tpk_acl_ctx* ctx, const uint8_t** data, uint32_t* results,
                         uint32_t num, uint32_t categories, enum tpk_acl_classify_alg alg) {
    if (ctx == nullptr) return -EINVAL;
    acl::classify_function* function = ctx->classify;
    if (alg != TPK_ACL_CLASSIFY_DEFAULT)
        if (const int wrong = select(alg, &function, nullptr); wrong != 0) return wrong;
    return classify_with(*ctx, function, data, results, num, categories);
}

int tpk_acl_set_ctx_classify(tpk_acl_ctx* ctx, enum tpk_acl_classify_alg alg) {
    if (ctx == nullptr) return -EINVAL;
    const int wrong = select(alg, &ctx->classify, &ctx->kernel);
    if (wrong == 0) ctx->automatic = alg == TPK_ACL_CLASSIFY_DEFAULT;
    return wrong;
}

void tpk_acl_dump(const tpk_acl_ctx* ctx) {
    if (ctx == nullptr) return;
    std::printf(
        "acl context <%s>@%p\n  socket_id=%d\n  kernel=%.*s\n  max_rules=%u\n  rule_size=%u\n"
        "  num_rules=%u\n",
        ctx->name.c_str(), static_cast<const void*>(ctx), ctx->socket_id,
        static_cast<int>(ctx->kernel.size()), ctx->kernel.data(), ctx->max_rules, ctx->rule_size,
        ctx->rule_count);
    if (const acl::view* view = ctx->view())
        std::printf("  num_trees=%u\n  bit_vectors=%s\n", view->trees,
                    view->vectors != nullptr ? "yes" : "no");
}

void tpk_acl_list_dump() {
    contexts.each([](const tpk_acl_ctx& ctx) { tpk_acl_dump(&ctx); });
}
