// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/graph.hpp"

namespace turnpike::datapath {
namespace {

/// Mask of stages, by name.
struct stages_of {
    stage_mask mask = 0;
    constexpr stages_of(std::initializer_list<stage> list) {
        for (const stage s : list) mask |= bit(s);
    }
};

namespace row {
using enum datapath::drop_reason;
// A `using enum` scope for each list: some stages and handlers share a name with a drop reason or a
// C++ entity.
#define NEXT(...)                                                         \
    [] {                                                                  \
        using enum stage;                                                 \
        return stages_of(std::initializer_list<stage>{__VA_ARGS__}).mask; \
    }()
#define DROPS(...) __VA_ARGS__
#define TURNPIKE_STAGE(name, next, drops) \
    constexpr std::initializer_list<drop_reason> drops_of_##name{drops};
TURNPIKE_STAGES(TURNPIKE_STAGE)
#undef TURNPIKE_STAGE
#define TURNPIKE_HANDLER(name, drops) \
    constexpr std::initializer_list<drop_reason> ends_of_##name{drops};
TURNPIKE_HANDLERS(TURNPIKE_HANDLER)
#undef TURNPIKE_HANDLER
}  // namespace row

#define TURNPIKE_HANDLER(name, drops) {#name, row::ends_of_##name},
constexpr handler_row handlers[] = {TURNPIKE_HANDLERS(TURNPIKE_HANDLER)};
#undef TURNPIKE_HANDLER

}  // namespace

#define TURNPIKE_STAGE(name, next, drops) {#name, run_##name, next, row::drops_of_##name},
constexpr std::array<stage_row, stages> stage_table{{TURNPIKE_STAGES(TURNPIKE_STAGE)}};
#undef TURNPIKE_STAGE
const stage_row* const all_stages = stage_table.data();
const std::span<const handler_row> handler_table = handlers;

}  // namespace turnpike::datapath
