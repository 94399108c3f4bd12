// SPDX-License-Identifier: BSD-3-Clause
#include "row.hpp"

#include <cstddef>

namespace turnpike::bench::dma {

const char* name_of(micro_benchmark test) noexcept {
    constexpr const char* names[] = {"LAT_RD", "LAT_WRRD", "BW_RD", "BW_WR", "BW_RDWR"};
    return names[static_cast<size_t>(test)];
}

const char* name_of(cache_state state) noexcept {
    constexpr const char* names[] = {"cold", "warm", "device", "thrash"};
    return names[static_cast<size_t>(state)];
}

const char* name_of(meaning m) noexcept {
    constexpr const char* names[] = {"measured", "upper_bound", "lower_bound"};
    return names[static_cast<size_t>(m)];
}

method done_by(micro_benchmark test, bool can_fill) noexcept {
    switch (test) {
        case micro_benchmark::lat_rd:
            return {meaning::upper_bound,
                    "a copy out of the window into lines that stay in cache: the time includes the "
                    "write of as many "
                    "bytes, the submission of the copy and the detection of its completion"};
        case micro_benchmark::lat_wrrd:
            return {meaning::upper_bound,
                    can_fill ? "a fill of the unit and, after a fence, a copy out of it into "
                               "lines that stay in cache: "
                               "the time includes the copy's write, its submission "
                               "and the detection of its completion"
                             : "a copy into the unit and, after a fence, a copy out of it, the "
                               "other ends in lines that "
                               "stay in cache: the time includes one more read and one more write"};
        case micro_benchmark::bw_rd:
            return {meaning::lower_bound,
                    "copies out of the window into lines that stay in cache: as many bytes are "
                    "written meanwhile"};
        case micro_benchmark::bw_wr:
            if (can_fill)
                return {meaning::measured, "fills: the engine reads its descriptors only"};
            return {meaning::lower_bound,
                    "copies into the window out of lines that stay in cache: as many bytes are "
                    "read meanwhile"};
        case micro_benchmark::bw_rdwr:
            break;
    }
    return {meaning::measured,
            "copies from one half of the window into the other: as many reads as writes, each "
            "write carries the data of its read"};
}

}  // namespace turnpike::bench::dma
