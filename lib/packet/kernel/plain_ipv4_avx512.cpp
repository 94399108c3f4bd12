// SPDX-License-Identifier: BSD-3-Clause
#include "isa/simd/avx512.hpp"
#include "packet/kernel/plain_ipv4.hpp"
#include "packet/kernel/plain_ipv4.inl.hpp"

namespace turnpike::packet::avx512 {

uint32_t find_plain_ipv4(const uint8_t* const* frame, const uint32_t* frame_bytes, uint32_t n,
                         const mac_address& us, plain_ipv4& out) noexcept {
    return find<::avx512>(frame, frame_bytes, n, us, out);
}

}  // namespace turnpike::packet::avx512
