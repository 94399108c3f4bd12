// SPDX-License-Identifier: BSD-3-Clause
#include "yaml/lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/owned_fd.hpp"
#include "yaml/byte_order_mark.hpp"

namespace turnpike::yaml {
namespace {

constexpr unsigned chunk_bytes = 128u << 10;

bool is_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

}  // namespace

lines::lines(std::filesystem::path path, limits most, gzFile_s* file)
    : path_(std::move(path)), most_(most), file_(file) {}

result<lines> lines::open(const std::filesystem::path& path, limits most) {
    // O_NONBLOCK: opening a FIFO without a writer must not block.
    owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return fail(errno, path, "cannot open the file");
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return fail(errno, path, "cannot stat the file");
    if (!S_ISREG(status.st_mode)) return fail(EINVAL, path, "is not a regular file");
    gzFile_s* const file = gzdopen(fd.get(), "rb");
    if (file == nullptr) return fail(ENOMEM, path, "cannot read the file");
    fd.release();  // gzclose_r closes it
    gzbuffer(file, chunk_bytes);
    return lines(path, most, file);
}

/// Returns false at the end of the file. zlib also reads uncompressed files.
result<bool> lines::read_more() {
    text_.erase(0, std::exchange(at_, 0));
    const size_t before = text_.size();
    text_.resize(before + chunk_bytes);
    errno = 0;
    const int got = gzread(file_.get(), text_.data() + before, chunk_bytes);
    const int code = errno;
    text_.resize(before + static_cast<size_t>(std::max(got, 0)));
    int wrong = Z_OK;
    (void)gzerror(file_.get(), &wrong);
    if (wrong == Z_ERRNO) return fail(code, path_, "cannot read the file");
    if (wrong == Z_MEM_ERROR) return fail(ENOMEM, path_, "cannot read the file");
    if (wrong == Z_BUF_ERROR) return fail(EINVAL, path_, "is a gzip file that ends too early");
    if (wrong != Z_OK && wrong != Z_STREAM_END)
        return fail(EINVAL, path_, "is a gzip file with an error in it");
    bytes_ += text_.size() - before;
    if (bytes_ > most_.file_bytes)
        return fail(EINVAL, path_,
                    "holds more than " + std::to_string(most_.file_bytes) + " bytes of text");
    return got > 0;
}

result<std::optional<std::string_view>> lines::next() {
    if (wrong_.code != 0) return tl::unexpected<error>(wrong_);
    auto line = read_line();
    if (!line) wrong_ = line.error();
    return line;
}

result<std::optional<std::string_view>> lines::read_line() {
    size_t end;
    while ((end = text_.find('\n', at_)) == std::string::npos && !ended_) {
        if (text_.size() - at_ > most_.line_bytes) break;
        const auto more = read_more();
        if (!more) return tl::unexpected<error>(more.error());
        ended_ = !*more;
    }
    if (end == std::string::npos && at_ == text_.size()) return std::nullopt;
    ++line_;
    std::string_view line = std::string_view(text_).substr(at_, end - at_);
    if (line.size() > most_.line_bytes)
        return fail(EINVAL, where(),
                    "is longer than " + std::to_string(most_.line_bytes) + " bytes");
    at_ = end == std::string::npos ? text_.size() : end + 1;
    if (line_ == 1) {
        const auto marked = without_byte_order_mark(line);
        if (!marked) return fail(EINVAL, where(), marked.error().text);
        line = *marked;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::ranges::any_of(line, is_control))
        return fail(EINVAL, where(), "holds a control character: it is not a text file");
    return line;
}

std::string lines::where() const { return path_.string() + ":" + std::to_string(line_); }

}  // namespace turnpike::yaml
