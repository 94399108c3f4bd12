// SPDX-License-Identifier: BSD-3-Clause
#include "acl/rule_file.hpp"

#include <arpa/inet.h>

#include <charconv>
#include <fstream>
#include <sstream>

namespace turnpike::acl {
namespace {

/// Tokens of one line, from left to right; after the first error, all reads fail.
class line_reader {
  public:
    explicit line_reader(std::string_view text) : left_(text) {}
    const std::string& wrong() const noexcept { return wrong_; }
    bool at_end() {
        skip_space();
        return left_.empty();
    }

    void expect(char c, const char* where) {
        skip_space();
        if (left_.empty() || left_[0] != c)
            return fail_with(std::string("'") + c + "' is missing " + where);
        left_.remove_prefix(1);
    }

    uint32_t number(int base, uint32_t most, const char* what) {
        skip_space();
        if (base == 16 && left_.size() > 2 && left_[0] == '0' && (left_[1] | 0x20) == 'x')
            left_.remove_prefix(2);
        uint32_t out = 0;
        const char* end = left_.data() + left_.size();
        const auto [at, bad] = std::from_chars(left_.data(), end, out, base);
        if (bad != std::errc() || out > most) {
            fail_with(std::string(what) + " is not a number up to " + std::to_string(most));
            return 0;
        }
        left_.remove_prefix(static_cast<size_t>(at - left_.data()));
        return out;
    }

    address_match prefix(const char* what, std::optional<family>& kind) {
        skip_space();
        const size_t end = left_.find_first_of(" \t/");
        const std::string text(left_.substr(0, end));
        std::array<uint8_t, 16> bytes{};
        const bool ipv6 = text.find(':') != std::string::npos;
        if (inet_pton(ipv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) {
            fail_with(std::string(what) + " '" + text + "' is not an address");
            return {};
        }
        const family found = ipv6 ? family::ipv6 : family::ipv4;
        if (kind && *kind != found) {
            fail_with("IPv4 and IPv6 rules in one file");
            return {};
        }
        kind = found;
        left_.remove_prefix(end == std::string_view::npos ? left_.size() : end);
        expect('/', "behind an address");
        const unsigned length = number(10, ipv6 ? 128 : 32, "a prefix length");
        return acl::prefix({bytes.data(), ipv6 ? size_t{16} : size_t{4}}, length);
    }

    port_range range(const char* what) {
        port_range out;
        out.first = static_cast<uint16_t>(number(10, 65535, what));
        expect(':', "between the first and the last port");
        out.last = static_cast<uint16_t>(number(10, 65535, what));
        if (out.first > out.last)
            fail_with(std::string(what) + ": the range ends before it begins");
        return out;
    }

    template <class T>
    masked<T> value_and_mask(const char* what) {
        masked<T> out;
        out.value = static_cast<T>(number(16, static_cast<T>(~T{}), what));
        expect('/', "before a mask");
        out.mask = static_cast<T>(number(16, static_cast<T>(~T{}), what));
        return out;
    }

    void fail_with(std::string text) {
        if (wrong_.empty()) wrong_ = std::move(text);
        left_ = {};
    }

  private:
    void skip_space() {
        const size_t at = left_.find_first_not_of(" \t\r");
        left_.remove_prefix(at == std::string_view::npos ? left_.size() : at);
    }

    std::string_view left_;
    std::string wrong_;
};

rule parse_line(line_reader& in, std::optional<family>& kind) {
    rule r;
    in.expect('@', "at the start of a rule");
    r.source = in.prefix("the source", kind);
    r.destination = in.prefix("the destination", kind);
    r.source_port = in.range("a source port");
    r.destination_port = in.range("a destination port");
    r.protocol = in.value_and_mask<uint8_t>("the protocol");
    if (!in.at_end()) r.tcp_flags = in.value_and_mask<uint16_t>("the flags");
    if (!in.at_end()) in.fail_with("there is more on the line than a rule");
    return r;
}

}  // namespace

result<rule_file> parse_rules(std::string_view text, const std::string& name) {
    rule_file out;
    std::optional<family> kind;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    for (unsigned line = 1; !text.empty(); ++line) {
        const size_t end = text.find('\n');
        std::string_view here = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        here = here.substr(0, here.find('#'));
        line_reader in(here);
        if (in.at_end()) continue;
        const rule r = parse_line(in, kind);
        if (!in.wrong().empty()) return fail(EINVAL, name + ":" + std::to_string(line), in.wrong());
        out.rules.push_back(r);
        out.lines.push_back(line);
    }
    out.kind = kind.value_or(family::ipv4);
    const auto count = static_cast<uint32_t>(out.rules.size());
    for (uint32_t i = 0; i < count; ++i) {
        out.rules[i].priority = count - i;
        out.rules[i].user_data = i + 1;
    }
    return out;
}

result<rule_file> read_rules(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    if (!file || !(text << file.rdbuf()))
        if (!file || file.bad() || errno != 0)
            return fail(errno != 0 ? errno : EIO, path, "the rules cannot be read");
    return parse_rules(text.str(), path);
}

}  // namespace turnpike::acl
