// SPDX-License-Identifier: BSD-3-Clause
#include "rotating_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/write_all.hpp"

namespace turnpike::ctl {
namespace {

// draft-ietf-opsawg-pcapng, section 4; in the byte order of this machine, which is turnpike's.
constexpr uint32_t section_header = 0x0A0D0D0A, interface_description = 1;
constexpr size_t least_block = 12, max_block = 1u << 20;

uint32_t word_at(std::string_view bytes, size_t at) {
    uint32_t out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

}  // namespace

result<void> rotating_files::write(std::string_view bytes, clock::time_point now) {
    pending_.append(bytes);
    size_t at = 0;
    while (pending_.size() - at >= least_block) {
        const uint32_t type = word_at(pending_, at), length = word_at(pending_, at + 4);
        if (length < least_block || length > max_block || length % 4 != 0)
            return fail(EPROTO, name_, "turnpike's stream is not pcapng");
        if (pending_.size() - at < length) break;
        if (auto done = write_block(std::string_view(pending_).substr(at, length), type, now);
            !done)
            return done;
        at += length;
    }
    pending_.erase(0, at);
    return {};
}

result<void> rotating_files::write_block(std::string_view block, uint32_t type,
                                         clock::time_point now) {
    if (!packets_begun_ && (type == section_header || type == interface_description)) {
        head_ += block;
        return {};
    }
    packets_begun_ = true;
    const bool full =
        limits_.bytes != 0 && written_ + block.size() > limits_.bytes && written_ > head_.size();
    const bool old = limits_.time.count() != 0 && now - opened_ >= limits_.time;
    if (file_.get() < 0 || full || old)
        if (auto done = open_next(now); !done) return done;
    return write(block);
}

result<void> rotating_files::open_next(clock::time_point now) {
    const std::filesystem::path whole(name_);
    std::filesystem::path next = whole;
    next.replace_filename(
        fmt::format("{}_{:05}{}", whole.stem().string(), ++number_, whole.extension().string()));
    constexpr mode_t mode = 0640;
    file_.reset(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (file_.get() < 0) return fail(errno, next.string(), "cannot be created");
    file_name_ = next.string();
    names_.push_back(file_name_);
    if (limits_.files != 0 && names_.size() > limits_.files) {
        ::unlink(names_.front().c_str());
        names_.pop_front();
    }
    opened_ = now;
    written_ = 0;
    return write(head_);
}

result<void> rotating_files::write(std::string_view bytes) {
    if (!write_all(file_.get(), bytes)) {
        const int code = errno;
        (void)!::ftruncate(file_.get(), static_cast<off_t>(written_));  // no part of a block
        return fail(code, file_name_, "cannot be written");
    }
    written_ += bytes.size();
    return {};
}

}  // namespace turnpike::ctl
