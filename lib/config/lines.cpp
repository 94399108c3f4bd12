// SPDX-License-Identifier: BSD-3-Clause
#include "config/lines.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace turnpike::config {
namespace {

struct close_file {
    void operator()(gzFile_s* f) const noexcept { gzclose(f); }
};

/// Cuts blocks into lines.
class line_cutter {
  public:
    line_cutter(std::string path, const std::function<result<void>(std::string_view)>& take)
        : path_(std::move(path)), take_(take) {}

    result<void> block(std::string_view text) {
        while (!text.empty()) {
            const size_t end = text.find('\n');
            if (end == std::string_view::npos) return keep(text);
            const std::string_view part = text.substr(0, end);
            text.remove_prefix(end + 1);
            if (begun_.empty()) {
                if (auto taken = line(part); !taken) return taken;
                continue;
            }
            if (auto kept = keep(part); !kept) return kept;
            const std::string whole = std::exchange(begun_, {});
            if (auto taken = line(whole); !taken) return taken;
        }
        return {};
    }
    result<void> end() { return begun_.empty() ? result<void>{} : line(begun_); }

  private:
    result<void> line(std::string_view text) {
        ++number_;
        if (text.size() > max_line_bytes) return refuse("is longer than 4096 bytes");
        const auto odd = [](char c) {
            return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r';
        };
        if (std::any_of(text.begin(), text.end(), odd))
            return refuse("holds bytes that no text has; is this a file of another kind?");
        return take_(text);
    }
    result<void> keep(std::string_view part) {
        if (begun_.size() + part.size() > max_line_bytes) {
            ++number_;
            return refuse("is longer than 4096 bytes");
        }
        begun_ += part;
        return {};
    }
    [[nodiscard]] tl::unexpected<error> refuse(std::string text) const {
        return fail(EINVAL, path_ + ":" + std::to_string(number_), std::move(text));
    }

    std::string path_;
    const std::function<result<void>(std::string_view)>& take_;
    std::string begun_;  ///< of a line whose end is in the next block
    size_t number_ = 0;
};

}  // namespace

result<void> for_each_line(const std::filesystem::path& path,
                           const std::function<result<void>(std::string_view line)>& take) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return fail(errno, path.string(), "cannot be opened");
    if (!S_ISREG(about.st_mode)) return fail(EINVAL, path.string(), "is not a regular file");
    std::unique_ptr<gzFile_s, close_file> file(gzopen(path.c_str(), "rb"));
    if (file == nullptr)
        return fail(errno == 0 ? ENOMEM : errno, path.string(), "cannot be opened");
    constexpr unsigned block_bytes = 1u << 18;
    std::vector<char> block(block_bytes);
    gzbuffer(file.get(), block_bytes);
    line_cutter cutter(path.string(), take);
    for (size_t total = 0;;) {
        const int got = gzread(file.get(), block.data(), block_bytes);
        int code = Z_OK;
        const char* why = gzerror(file.get(), &code);
        if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
            return fail(EINVAL, path.string(), std::string("cannot be uncompressed: ") + why);
        if (got == 0) return cutter.end();
        total += static_cast<size_t>(got);
        if (total > max_lines_bytes)
            return fail(EINVAL, path.string(), "has more than 4 GB of text");
        if (auto cut = cutter.block({block.data(), static_cast<size_t>(got)}); !cut) return cut;
    }
}

}  // namespace turnpike::config
