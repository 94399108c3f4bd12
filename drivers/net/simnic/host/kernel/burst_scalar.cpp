// SPDX-License-Identifier: BSD-3-Clause
#include "host/kernel/burst.inl.hpp"

namespace {

struct word {
    static constexpr uint32_t group = 1;

    template <unsigned Words>
    static uint32_t take(const descriptor* d, rte_mbuf* const* m, uint64_t rearm) noexcept {
        return take_one(d, m[0], rearm) ? 1 : 0;
    }
    template <unsigned Words>
    static void post(descriptor* d, rte_mbuf* const* m, uint64_t headroom) noexcept {
        post_one<Words>(d, m[0], headroom);
    }
    static void send(descriptor* d, rte_mbuf* const* m, uint64_t command) noexcept {
        send_one(d, m[0], command);
    }
};

}  // namespace

const turnpike::simnic::burst_kernels& turnpike::simnic::scalar::burst() noexcept {
    return kernels_of<word>;
}
