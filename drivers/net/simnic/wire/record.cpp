// SPDX-License-Identifier: BSD-3-Clause
#include "wire/record.hpp"

#include <pcap/pcap.h>

#include <cstdio>
#include <ctime>

namespace turnpike::simnic {

result<std::unique_ptr<wire>> record::open(const std::string& file) {
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> kind(
        pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO),
        pcap_close);
    if (!kind) return fail(ENOMEM, "wire=record:" + file, "no memory");
    pcap_dumper_t* to = pcap_dump_open(kind.get(), file.c_str());
    if (to == nullptr) return fail(EINVAL, "wire=record:" + file, pcap_geterr(kind.get()));
    return std::unique_ptr<wire>(new record(to));
}

record::~record() { pcap_dump_close(to_); }

void record::send(std::span<const outgoing> frames) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    pcap_pkthdr header{};
    header.ts.tv_sec = now.tv_sec;
    header.ts.tv_usec = now.tv_nsec;  // nanoseconds: the file's precision
    for (const outgoing& f : frames) {
        header.caplen = header.len = f.length;
        pcap_dump(reinterpret_cast<uint8_t*>(to_), &header, f.bytes);
    }
    // libpcap does not report write errors such as a full disk; check the stream.
    (std::ferror(pcap_dump_file(to_)) != 0 ? failed_ : written_).add(frames.size());
}

size_t record::counts(std::span<wire_count> into) const noexcept {
    into[0] = {"record_written", written_.read()};
    into[1] = {"record_failed", failed_.read()};
    return 2;
}

}  // namespace turnpike::simnic
