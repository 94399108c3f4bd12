// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::bench {
namespace {

using namespace packet;

constexpr uint32_t fcs_bytes = 4;
constexpr uint32_t imix_turn[12] = {64, 570, 64, 570, 64, 64, 1518, 64, 570, 64, 570, 64};

// File header and packet header: pcap-savefile(5), in this machine's byte order.
struct file_header {
    uint32_t magic = 0xa1b2c3d4;
    uint16_t major = 2, minor = 4;
    uint32_t zone = 0, accuracy = 0, snap_bytes = 65535, link_type = 1;
};
struct frame_header {
    uint32_t seconds = 0, microseconds = 0, captured = 0, bytes = 0;
};

template <class T>
void put(std::ofstream& to, const T& what) {
    to.write(reinterpret_cast<const char*>(&what), sizeof what);
}

/// UDP and TCP checksums (RFC 768, 9293, 8200 section 8.1), including the pseudo-header.
void fill_checksum(const flow& f, std::span<uint8_t> l4) {
    uint32_t sum = sum_bytes(f.source);
    sum = sum_bytes(f.destination, sum);
    sum += f.protocol + static_cast<uint32_t>(l4.size());
    const auto made = static_cast<uint16_t>(~fold(sum_bytes(l4, sum)));
    store_be<uint16_t>(l4.data() + (f.protocol == protocol_tcp ? 16 : 6),
                       made == 0 ? 0xffff : made);
}

uint32_t write_ip(const flow& f, uint8_t* at, uint32_t l4_bytes) {
    if (f.family == 4) {
        ipv4_header ip{};
        ip.version_ihl = 0x45;
        ip.total_bytes = static_cast<uint16_t>(sizeof ip + l4_bytes);
        ip.ttl = 64;
        ip.protocol = f.protocol;
        std::memcpy(&ip.source, f.source.data(), 4);
        std::memcpy(&ip.destination, f.destination.data(), 4);
        ip.checksum = checksum({reinterpret_cast<const uint8_t*>(&ip), sizeof ip});
        std::memcpy(at, &ip, sizeof ip);
        return sizeof ip;
    }
    ipv6_header ip{};
    ip.version_class_flow = 6u << 28;
    ip.payload_bytes = static_cast<uint16_t>(l4_bytes);
    ip.next_header = f.protocol;
    ip.hop_limit = 64;
    std::memcpy(&ip.source, f.source.data(), 16);
    std::memcpy(&ip.destination, f.destination.data(), 16);
    std::memcpy(at, &ip, sizeof ip);
    return sizeof ip;
}

}  // namespace

capture_writer::capture_writer(const std::string& file, unsigned port, bool imix)
    : name_(file), file_(file, std::ios::binary), port_(port), imix_(imix) {
    put(file_, file_header{});
    if (!file_) throw std::runtime_error(name_ + ": cannot write");
}

mac_pair capture_writer::to_device() const {
    const auto port = static_cast<uint8_t>(port_);
    return {.to = {{0x02, 0x53, 0x4e, 0, 0, port}}, .from = {{0x06, 0, port, 0, 0, 1}}};
}

std::vector<uint8_t> capture_writer::frame_of(const flow& f, const mac_pair& between) {
    ethernet_header ether{};
    ether.destination = between.to;
    ether.source = between.from;
    ether.type = f.family == 4 ? ether_type_ipv4 : ether_type_ipv6;
    const uint32_t ip_bytes = f.family == 4 ? sizeof(ipv4_header) : sizeof(ipv6_header);
    const uint32_t l4_header = f.protocol == protocol_tcp ? 20 : 8;
    const uint32_t least = static_cast<uint32_t>(sizeof ether) + ip_bytes + l4_header;
    const uint32_t wanted = (imix_ ? imix_turn[count_++ % 12] : 64) - fcs_bytes;
    std::vector<uint8_t> frame(std::max(wanted, least));
    std::memcpy(frame.data(), &ether, sizeof ether);
    const uint32_t l4_bytes =
        static_cast<uint32_t>(frame.size()) - static_cast<uint32_t>(sizeof ether) - ip_bytes;
    uint8_t* l4 = frame.data() + sizeof ether + write_ip(f, frame.data() + sizeof ether, l4_bytes);
    store_be(l4, f.source_port);
    store_be(l4 + 2, f.destination_port);
    if (f.protocol == protocol_tcp)
        l4[12] = 5 << 4, l4[13] = 0x10;  // five words of header; ACK
    else
        store_be(l4 + 4, static_cast<uint16_t>(l4_bytes));
    fill_checksum(f, {l4, l4_bytes});
    return frame;
}

void capture_writer::write(std::span<const uint8_t> frame) {
    const auto bytes = static_cast<uint32_t>(frame.size());
    put(file_, frame_header{.captured = bytes, .bytes = bytes});
    file_.write(reinterpret_cast<const char*>(frame.data()), bytes);
}

void capture_writer::add(const flow& f) { write(frame_of(f, to_device())); }

void capture_writer::add_tagged(const flow& f, uint16_t vlan) {
    std::vector<uint8_t> frame = frame_of(f, to_device());
    std::array<uint8_t, sizeof(vlan_tag)> tag;
    store_be(tag.data(), uint32_t{ether_type_vlan} << 16 | vlan);
    frame.insert(frame.begin() + 2 * sizeof(mac_address), tag.begin(), tag.end());
    write(frame);
}

void capture_writer::add(const flow& f, const mac_pair& between) { write(frame_of(f, between)); }

void capture_writer::add_tunnelled(const flow& f, const mac_pair& between, uint32_t endpoint) {
    const std::vector<uint8_t> inside = frame_of(f, between);
    struct __attribute__((packed)) {
        ethernet_header ether;
        ipv4_header ip;
        udp_header udp;
        vxlan_header vxlan;
    } outer{};
    const mac_pair link = to_device();
    outer.ether.destination = link.to;
    outer.ether.source = link.from;
    outer.ether.source.bytes[5] = static_cast<uint8_t>(endpoint);
    outer.ether.type = ether_type_ipv4;
    const size_t udp_bytes = sizeof outer.udp + sizeof outer.vxlan + inside.size();
    const uint32_t network = 0x0a000000 | port_ << 8;
    outer.ip.version_ihl = 0x45;
    outer.ip.total_bytes = static_cast<uint16_t>(sizeof outer.ip + udp_bytes);
    outer.ip.fragment = ipv4_dont_fragment;
    outer.ip.ttl = 64;
    outer.ip.protocol = protocol_udp;
    outer.ip.source = network | (2 + endpoint);
    outer.ip.destination = network | 1;
    outer.ip.checksum = checksum({reinterpret_cast<const uint8_t*>(&outer.ip), sizeof outer.ip});
    outer.udp.source_port = static_cast<uint16_t>(49152 + count_ % 16384);
    outer.udp.destination_port = vxlan_port;
    outer.udp.bytes = static_cast<uint16_t>(udp_bytes);
    outer.vxlan.flags = vxlan_has_vni;
    outer.vxlan.vni = 100U << 8;
    std::vector<uint8_t> frame(sizeof outer + inside.size());
    std::memcpy(frame.data(), &outer, sizeof outer);
    std::memcpy(frame.data() + sizeof outer, inside.data(), inside.size());
    write(frame);
}

void capture_writer::close() {
    file_.close();
    if (!file_) throw std::runtime_error(name_ + ": cannot write the whole file");
}

}  // namespace turnpike::bench
