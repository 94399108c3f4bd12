// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/event_name.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#ifdef TURNPIKE_LIBPFM
#include <perfmon/pfmlib.h>
#endif

namespace turnpike::pmu {

#ifdef TURNPIKE_LIBPFM

bool knows_event_names() noexcept { return true; }

result<encoding> encode_name(std::string_view name) {
    static const int started = [] {
        // Lets libpfm4 encode events of other CPUs than this one; there is no API for it.
        setenv("LIBPFM_ENCODE_INACTIVE", "1", 0);
        return pfm_initialize();
    }();
    if (started != PFM_SUCCESS)
        return fail(ENOTSUP, std::string(name), fmt::format("libpfm4: {}", pfm_strerror(started)));
    const std::string text(name);
    pfm_pmu_encode_arg_t asked{};
    asked.size = sizeof asked;
    // Encode the raw register value: libpfm4's perf header conflicts with Linux's.
    const int code =
        pfm_get_os_event_encoding(text.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &asked);
    if (code != PFM_SUCCESS)
        return fail(EINVAL, text, fmt::format("libpfm4 has no such event: {}", pfm_strerror(code)));
    encoding out;
    for (int i = 0; i < asked.count && i < attribute_words; ++i) out.words[i] = asked.codes[i];
    std::free(asked.codes);
    // Remove bits that the kernel sets itself: user, system, interrupt and enable (bits 16, 17, 20,
    // 22).
    constexpr uint64_t kernels = 1u << 16 | 1u << 17 | 1u << 20 | 1u << 22;
    out.words[0] &= ~kernels;
    return out;
}

#else

bool knows_event_names() noexcept { return false; }

result<encoding> encode_name(std::string_view name) {
    return fail(ENOTSUP, std::string(name),
                "this program was built without libpfm4: specify the event's config");
}

#endif

}  // namespace turnpike::pmu
