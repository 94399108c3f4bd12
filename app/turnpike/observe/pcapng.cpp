// SPDX-License-Identifier: BSD-3-Clause
#include "observe/pcapng.hpp"

#include <algorithm>
#include <cstring>

namespace turnpike::observe::pcapng {
namespace {

enum block_type : uint32_t {
    interface_description_block = 1,
    interface_statistics_block = 5,
    enhanced_packet_block = 6,
    section_header_block = 0x0A0D0D0A,
};
constexpr uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr uint16_t linktype_ethernet = 1;
constexpr uint8_t nanoseconds = 9;  ///< if_tsresol: 10^-9

enum option : uint16_t {
    opt_end = 0,
    opt_comment = 1,
    shb_hardware = 2,
    shb_os = 3,
    shb_userappl = 4,
    if_name = 2,
    if_description = 3,
    if_speed = 8,
    if_tsresol = 9,
    if_filter = 11,
    epb_flags = 2,
    isb_starttime = 2,
    isb_endtime = 3,
    isb_ifrecv = 4,
    isb_ifdrop = 5,
    isb_filteraccept = 6,
    isb_usrdeliv = 8,
};

/// A block under construction; complete() writes its lengths.
class block {
  public:
    block(std::string& to, uint32_t type) : out_(to), begin_(to.size()) {
        add(type);
        add(uint32_t{0});
    }
    template <class T>
    void add(T value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        out_.append(bytes, sizeof value);
    }
    void add_padded(const void* bytes, size_t n) {
        out_.append(static_cast<const char*>(bytes), n);
        out_.append((4 - n % 4) % 4, '\0');
    }
    void add_option(uint16_t code, const void* value, size_t n) {
        add(code);
        add(static_cast<uint16_t>(n));
        add_padded(value, n);
        any_ = true;
    }
    /// An empty text has no option.
    void add_option(uint16_t code, std::string_view text) {
        if (!text.empty()) add_option(code, text.data(), std::min<size_t>(text.size(), UINT16_MAX));
    }
    template <class T>
    void add_number(uint16_t code, T value) {
        add_option(code, &value, sizeof value);
    }
    /// A time of a statistics block is two words, the upper first.
    void add_time(uint16_t code, uint64_t ns) {
        const uint32_t words[] = {static_cast<uint32_t>(ns >> 32), static_cast<uint32_t>(ns)};
        add_option(code, words, sizeof words);
    }
    void complete() {
        if (any_) add(uint32_t{opt_end});
        const auto length = static_cast<uint32_t>(out_.size() - begin_ + sizeof(uint32_t));
        std::memcpy(&out_[begin_ + sizeof(uint32_t)], &length, sizeof length);
        add(length);
    }

  private:
    std::string& out_;
    const size_t begin_;
    bool any_ = false;
};

}  // namespace

void append(std::string& to, const section& s) {
    block b(to, section_header_block);
    b.add(byte_order_magic);
    b.add(uint16_t{1});
    b.add(uint16_t{0});
    b.add(int64_t{-1});  // length of the section: unknown
    b.add_option(shb_hardware, s.hardware);
    b.add_option(shb_os, s.os);
    b.add_option(shb_userappl, s.application);
    b.complete();
}

void append(std::string& to, const interface_description& i) {
    block b(to, interface_description_block);
    b.add(linktype_ethernet);
    b.add(uint16_t{0});
    b.add(i.snaplen);
    b.add_option(if_name, i.name);
    b.add_option(if_description, i.description);
    if (i.bits_per_second != 0) b.add_number(if_speed, i.bits_per_second);
    b.add_number(if_tsresol, nanoseconds);
    // The first byte of the option tells a filter as text (0) from BPF code (1).
    if (!i.filter.empty()) b.add_option(if_filter, std::string(1, '\0').append(i.filter));
    b.complete();
}

void append(std::string& to, const enhanced_packet& p) {
    block b(to, enhanced_packet_block);
    b.add(p.interface);
    b.add(static_cast<uint32_t>(p.time_ns >> 32));
    b.add(static_cast<uint32_t>(p.time_ns));
    b.add(static_cast<uint32_t>(p.bytes.size()));
    b.add(p.frame_bytes);
    b.add_padded(p.bytes.data(), p.bytes.size());
    b.add_option(opt_comment, p.comment);
    if (p.side != direction::unknown) b.add_number(epb_flags, static_cast<uint32_t>(p.side));
    b.complete();
}

void append(std::string& to, const statistics& s) {
    block b(to, interface_statistics_block);
    b.add(s.interface);
    b.add(static_cast<uint32_t>(s.end_ns >> 32));
    b.add(static_cast<uint32_t>(s.end_ns));
    b.add_time(isb_starttime, s.begin_ns);
    b.add_time(isb_endtime, s.end_ns);
    b.add_number(isb_ifrecv, s.received);
    b.add_number(isb_ifdrop, s.lost);
    b.add_number(isb_filteraccept, s.accepted);
    b.add_number(isb_usrdeliv, s.delivered);
    b.complete();
}

whole_blocks whole_blocks_of(std::string_view text) noexcept {
    whole_blocks out;
    uint32_t head[2];  // type and length
    while (text.size() - out.bytes >= sizeof head) {
        std::memcpy(head, text.data() + out.bytes, sizeof head);
        if (head[1] > text.size() - out.bytes) break;
        out.bytes += head[1];
        out.packets += head[0] == enhanced_packet_block;
    }
    return out;
}

}  // namespace turnpike::observe::pcapng
