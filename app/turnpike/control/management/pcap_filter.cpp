// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/pcap_filter.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <new>
#include <utility>

#include "datapath/capture.hpp"

namespace turnpike::control {
namespace {

/// The kind of a name without a keyword: libpcap takes the keyword of the primitive before it.
enum class named_kind : uint8_t { host, port_or_protocol };

constexpr std::string_view port_words = " port portrange proto protochain ";
constexpr std::string_view operator_words = " and or not ";
/// Other keywords of libpcap 1.10's scanner, other link layers included: libpcap resolves none of these.
constexpr std::string_view other_words =
    " dst src link ether arp rarp ip sctp tcp udp icmp igmp igrp pim vrrp carp ip6 icmp6 "
    "ah esp atalk aarp decnet lat moprc mopdl iso esis es-is isis is-is l1 l2 iih lsp snp "
    "csnp psnp clnp stp ipx netbeui host net mask gateway less greater byte broadcast "
    "multicast len length inbound outbound vlan mpls pppoed pppoes geneve llc icmptype "
    "icmpcode icmp-echoreply icmp-unreach icmp-sourcequench icmp-redirect icmp-echo "
    "icmp-routeradvert icmp-routersolicit icmp-timxceed icmp-paramprob icmp-tstamp "
    "icmp-tstampreply icmp-ireq icmp-ireqreply icmp-maskreq icmp-maskreply icmp6type "
    "icmp6code icmp6-destinationunreach icmp6-packettoobig icmp6-timeexceeded "
    "icmp6-parameterproblem icmp6-echo icmp6-echoreply icmp6-multicastlistenerquery "
    "icmp6-multicastlistenerreportv1 icmp6-multicastlistenerdone icmp6-routersolicit "
    "icmp6-routeradvert icmp6-neighborsolicit icmp6-neighboradvert icmp6-redirect "
    "icmp6-routerrenum icmp6-nodeinformationquery icmp6-nodeinformationresponse "
    "icmp6-ineighbordiscoverysolicit icmp6-ineighbordiscoveryadvert "
    "icmp6-multicastlistenerreportv2 icmp6-homeagentdiscoveryrequest "
    "icmp6-homeagentdiscoveryreply icmp6-mobileprefixsolicit icmp6-mobileprefixadvert "
    "icmp6-certpathsolicit icmp6-certpathadvert icmp6-multicastrouteradvert "
    "icmp6-multicastroutersolicit icmp6-multicastrouterterm tcpflags tcp-fin tcp-syn "
    "tcp-rst tcp-push tcp-ack tcp-urg tcp-ece tcp-cwr ppp slip fddi tr wlan radio sca "
    "ifindex type subtype direction dir addr1 addr2 addr3 addr4 address1 address2 "
    "address3 address4 ra ta on ifname rset ruleset rnr rulenum srnr subrulenum reason "
    "action ";
/// Words that follow llc.
constexpr std::string_view llc_words = " i s u rr rnr rej ui ua xid disc sabme test frmr ";

/// words  each with a blank in front and behind
bool is_among(std::string_view words, std::string_view word) {
    return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool has_only(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

/// Numbers, and numbers with dots: IPv4 addresses and networks.
bool is_number(std::string_view word) {
    constexpr std::string_view digits = "0123456789";
    if (word.starts_with("0x") || word.starts_with("0X"))
        return word.size() > 2 && has_only(word.substr(2), "0123456789abcdefABCDEF");
    return digits.find(word.front()) != std::string_view::npos &&
           digits.find(word.back()) != std::string_view::npos && has_only(word, "0123456789.") &&
           word.find("..") == std::string_view::npos && std::ranges::count(word, '.') < 4;
}

/// "02:00:00:00:00:01", with colons, dashes or dots.
bool is_mac(std::string_view word) {
    for (const char separator : {':', '-', '.'}) {
        size_t bytes = 0;
        bool good = true;
        for (std::string_view left = word; good && !left.empty(); ++bytes) {
            const std::string_view byte = left.substr(0, left.find(separator));
            good = !byte.empty() && byte.size() <= 2 && has_only(byte, "0123456789abcdefABCDEF");
            left.remove_prefix(std::min(byte.size() + 1, left.size()));
        }
        if (good && bytes == 6 && word.back() != separator) return true;
    }
    // "0200.0000.0001", "020000000001"
    std::string digits(word);
    if (word.size() == 14 && word[4] == '.' && word[9] == '.') std::erase(digits, '.');
    return digits.size() == 12 && has_only(digits, "0123456789abcdefABCDEF");
}

bool is_address(std::string_view word) {
    in6_addr v6{};
    return ::inet_pton(AF_INET6, std::string(word).c_str(), &v6) == 1 || is_mac(word);
}

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_in_word(char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == ':'; }

/// Removes and returns the next token: a word, with the backslash in front of it, or a character.
std::string_view next_token_of(std::string_view& left, bool in_brackets) {
    if (left.front() == '\\') {
        const std::string_view escaped = left.substr(0, left.find_first_of(" !()\n\t"));
        left.remove_prefix(escaped.size());
        return escaped;
    }
    size_t n = 0;
    const auto goes_on = [&](char c) { return is_in_word(c) && !(in_brackets && c == ':'); };
    if (n < left.size() && (is_alnum(left[n]) || left[n] == ':'))  // "::1"
        while (n < left.size() && goes_on(left[n])) ++n;
    const std::string_view token = left.substr(0, std::max<size_t>(n, 1));
    left.remove_prefix(token.size());
    return token;
}

}  // namespace

std::string_view host_name_in(std::string_view filter) {
    named_kind kind = named_kind::host;
    std::vector<named_kind> outside;  // of the parentheses, in which a kind ends
    size_t brackets = 0;
    bool is_behind_llc = false;
    while (!filter.empty()) {
        const std::string_view token = next_token_of(filter, brackets > 0);
        const bool is_escaped = token.front() == '\\';
        const std::string_view word = token.substr(is_escaped ? 1 : 0);
        if (word.empty() || (word.size() == 1 && !is_alnum(word.front()))) {
            if (word == "(") outside.push_back(kind);
            if (word == ")" && !outside.empty()) {
                kind = outside.back();
                outside.pop_back();
            }
            brackets += word == "[" ? 1 : 0;
            brackets -= word == "]" && brackets > 0 ? 1 : 0;
            continue;
        }
        if (!is_escaped && (is_number(word) || is_address(word))) continue;
        if (std::exchange(is_behind_llc, !is_escaped && word == "llc") && is_among(llc_words, word))
            continue;
        if (!is_escaped && is_among(operator_words, word)) continue;
        if (!is_escaped && is_among(port_words, word)) {
            kind = named_kind::port_or_protocol;
        } else if (!is_escaped && is_among(other_words, word)) {
            kind = named_kind::host;
        } else if (kind == named_kind::host || word.find(':') != std::string_view::npos) {
            return word;
        }
    }
    return {};
}

result<std::vector<bpf_insn>> compile_pcap_filter(const std::string& filter) {
    constexpr size_t max_text = 4096;
    if (filter.size() > max_text) return fail(EINVAL, "filter", "is longer than 4096 characters");
    // libpcap would read a shorter text.
    if (filter.find('\0') != std::string::npos)
        return fail(EINVAL, "filter", "has a NUL character");
    if (const std::string_view name = host_name_in(filter); !name.empty())
        return fail(EINVAL, "filter",
                    "has the name '" + std::string(name.substr(0, 80)) +
                        "', which is no keyword of pcap-filter(7); turnpike resolves no names of "
                        "hosts: write the address");
    struct close_pcap {
        void operator()(pcap_t* p) const noexcept { pcap_close(p); }
    };
    const std::unique_ptr<pcap_t, close_pcap> dead(
        pcap_open_dead(DLT_EN10MB, datapath::capture::max_frame_bytes));
    if (dead == nullptr) throw std::bad_alloc();
    bpf_program program{};
    if (pcap_compile(dead.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
        return fail(EINVAL, "filter",
                    std::string("is no pcap-filter(7): ") + pcap_geterr(dead.get()));
    std::vector<bpf_insn> out(program.bf_insns, program.bf_insns + program.bf_len);
    pcap_freecode(&program);
    if (bpf_validate(out.data(), static_cast<int>(out.size())) == 0)
        return fail(EINVAL, "filter", "is compiled into code that cannot be run");
    return out;
}

}  // namespace turnpike::control
