// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/cache_line.hpp"
#include "cli/parse.hpp"
#include "version.hpp"

namespace turnpike::cache_tool {
namespace {

constexpr const char* about =
    "turnpike-cache: placement of a pool's buffers, and the spread of their hot lines "
    "over\n"
    "the sets of the caches: packed, as DPDK pads, and by turnpike.\n\n"
    "  turnpike-cache --object 2048 --objects 8192\n"
    "  turnpike-cache --object 2048 --figure sets       (writes sets.svg and sets.png)\n";

// DPDK's layout: an object's header takes RTE_MEMPOOL_ALIGN, to which objects are padded, and an mbuf two times
// RTE_CACHE_LINE_MIN_SIZE.
constexpr uint32_t align_bytes = cache_line_bytes, header_bytes = align_bytes;
constexpr uint32_t line_bytes = 64, mbuf_bytes = 2 * line_bytes, headroom_bytes = 128;

/// Arguments as given.
struct arguments {
    std::optional<uint32_t> object, buffer_size;
    std::vector<uint32_t> hot;
    std::string page = "2M", geometry, sysfs = "/sys";
};

/// Hot lines of a packet buffer in a forwarder: the mbuf's two lines and the packet's first.
std::vector<uint32_t> touched_of(uint32_t object) {
    std::vector<uint32_t> out;
    for (const uint32_t line :
         {header_bytes, header_bytes + line_bytes, header_bytes + mbuf_bytes + headroom_bytes})
        if (line < object) out.push_back(line);
    return out.empty() ? std::vector<uint32_t>{0} : out;
}

result<request> check(const arguments& a, request r) {
    uint64_t bytes = a.object.value_or(header_bytes + mbuf_bytes + 2176);
    if (a.buffer_size) bytes = uint64_t{header_bytes} + mbuf_bytes + *a.buffer_size;
    r.layout.align = align_bytes;
    r.layout.bytes = static_cast<uint32_t>((bytes + align_bytes - 1) / align_bytes * align_bytes);
    r.layout.hot = a.hot.empty() ? touched_of(r.layout.bytes) : a.hot;
    for (const uint32_t line : r.layout.hot)
        if (line >= r.layout.bytes)
            return fail(EINVAL, "--hot",
                        fmt::format("{} is not in an object of {} bytes", line, r.layout.bytes));
    r.page_bytes = a.page == "4K"   ? 4096
                   : a.page == "2M" ? 2u << 20
                   : a.page == "1G" ? 1u << 30
                                    : 0;
    auto caches =
        a.geometry.empty() ? cache::read_geometry(a.sysfs) : cache::parse_geometry(a.geometry);
    if (!caches) return tl::unexpected<error>(caches.error());
    r.caches = std::move(*caches);
    if (!r.figure.empty() && r.caches.find(r.level) == nullptr)
        return fail(EINVAL, "--level", fmt::format("{} is none of these caches", r.level));
    return r;
}

}  // namespace

command_line read_command_line(int argc, char** argv) {
    arguments a;
    request r;
    CLI::App app{about, "turnpike-cache"};
    app.set_version_flag("--version", std::string(version));
    auto* const object =
        app.add_option("--object", a.object,
                       "bytes per object: header (64), mbuf (128), headroom, data (default 2368)");
    object->check(CLI::Range(1u, 1u << 24))->type_name("BYTES");
    app.add_option("--buffer-size", a.buffer_size,
                   "bytes of the mbuf's data buffer instead: 192 less")
        ->check(CLI::Range(0u, 65535u))
        ->excludes(object)
        ->type_name("BYTES");
    app.add_option("--objects", r.objects, "objects in the pool (default 8192)")
        ->check(CLI::Range(1u, 1u << 22))
        ->type_name("N");
    app.add_option("--hot", a.hot,
                   "offsets of the hot lines (default: the mbuf's two, the packet's first)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("BYTES,...");
    app.add_option("--page", a.page,
                   "page size that no object may cross: 4K, 2M (default), 1G; none: no limit")
        ->check(CLI::IsMember({"4K", "2M", "1G", "none"}))
        ->type_name("SIZE");
    app.add_option("--geometry", a.geometry,
                   "level:sets x ways, as 1:64x8,2:2048x8 (default: this machine's)")
        ->type_name("LEVELS");
    app.add_option("--sysfs", a.sysfs, "root of sysfs for this machine's caches (default /sys)")
        ->type_name("FOLDER");
    app.add_flag("--csv", r.csv, "print lines per set as placement,level,set,lines");
    app.add_option("--figure", r.figure, "draw STEM.svg and STEM.png")->type_name("STEM");
    app.add_option("--level", r.level, "cache level of the figure (default 1)")->type_name("N");
    try {
        parse_words(app, {argv + 1, argv + argc});
    } catch (const CLI::ParseError& e) {
        return {std::nullopt, exit_code_of(app, e)};
    }
    auto checked = check(a, r);
    if (checked) return {std::move(*checked), 0};
    fmt::print(stderr, "turnpike-cache: {}\n", checked.error().message());
    return {std::nullopt, checked.error().code == EINVAL ? exit_refused : exit_failed};
}

}  // namespace turnpike::cache_tool
