// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <fmt/format.h>
#include <rte_errno.h>

#include <algorithm>
#include <utility>

namespace turnpike::bench::dma {
namespace {

constexpr std::pair<uint64_t, const char*> capability_names[] = {
    {RTE_DMA_CAPA_MEM_TO_MEM, "mem_to_mem"},
    {RTE_DMA_CAPA_MEM_TO_DEV, "mem_to_dev"},
    {RTE_DMA_CAPA_DEV_TO_MEM, "dev_to_mem"},
    {RTE_DMA_CAPA_DEV_TO_DEV, "dev_to_dev"},
    {RTE_DMA_CAPA_SVA, "sva"},
    {RTE_DMA_CAPA_SILENT, "silent"},
    {RTE_DMA_CAPA_HANDLES_ERRORS, "handles_errors"},
    {RTE_DMA_CAPA_OPS_COPY, "copy"},
    {RTE_DMA_CAPA_OPS_COPY_SG, "copy_sg"},
    {RTE_DMA_CAPA_OPS_FILL, "fill"},
};

std::string list_of(const std::vector<std::string>& words) {
    return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> names_of_all() {
    std::vector<std::string> names;
    for (int16_t id = rte_dma_next_dev(0); id != -1;
         id = rte_dma_next_dev(static_cast<int16_t>(id + 1)))
        if (rte_dma_info info; rte_dma_info_get(id, &info) == 0) names.emplace_back(info.dev_name);
    return names;
}

constexpr const char* how_to_get_one =
    "pass one to EAL: '-a 0000:00:01.0 --' (ioat or idxd, bound to vfio-pci), "
    "'--vdev=dma_skeleton0 --' (by a "
    "core)";

}  // namespace

std::vector<std::string> capability_words(uint64_t capabilities) {
    std::vector<std::string> words;
    for (const auto& [bit, word] : capability_names)
        if ((capabilities & bit) != 0) words.emplace_back(word);
    return words;
}

void memory_deleter::operator()(const rte_memzone* zone) const noexcept { rte_memzone_free(zone); }

result<dma_memory> dma_memory::reserve(const std::string& name, uint64_t bytes, int node,
                                       bool by_virtual_address) {
    constexpr unsigned page = 4096;
    const unsigned flags = by_virtual_address ? 0 : RTE_MEMZONE_IOVA_CONTIG;
    dma_memory made;
    made.zone_.reset(rte_memzone_reserve_aligned(name.c_str(), bytes, node, flags, page));
    if (!made.zone_)
        return fail(
            rte_errno, "--window",
            fmt::format(
                "no {} bytes of memory{}{}; reserve more for EAL ('-m MB --', more hugepages){}",
                bytes, by_virtual_address ? "" : " contiguous in I/O addresses",
                node >= 0 ? fmt::format(" on NUMA node {}", node) : "",
                by_virtual_address ? "" : ", '--iova-mode=va --', or a smaller window"));
    made.base_ = by_virtual_address ? made.zone_->addr_64 : made.zone_->iova;
    return made;
}

std::span<std::byte> dma_memory::bytes() const noexcept {
    return {static_cast<std::byte*>(zone_->addr), zone_->len};
}

int dma_memory::node() const noexcept { return zone_->socket_id; }

result<std::unique_ptr<engine>> engine::open(const std::string& name, unsigned depth) {
    const auto names = names_of_all();
    if (names.empty())
        return fail(ENODEV, "dmadev", fmt::format("EAL found no dmadev; {}", how_to_get_one));
    const std::string& wanted = name.empty() ? names.front() : name;
    const int id = rte_dma_get_dev_id_by_name(wanted.c_str());
    if (id < 0)
        return fail(ENODEV, "--dev",
                    fmt::format("no dmadev '{}'; EAL found {}", wanted, list_of(names)));
    std::unique_ptr<engine> made(new engine);
    made->id_ = static_cast<int16_t>(id);
    made->name_ = wanted;
    rte_dma_info info{};
    if (const int code = rte_dma_info_get(made->id_, &info); code != 0)
        return fail(-code, wanted, "cannot query its capabilities");
    made->capabilities_ = info.dev_capa;
    made->node_ = info.numa_node;
    for (const uint64_t needed : {RTE_DMA_CAPA_MEM_TO_MEM, RTE_DMA_CAPA_OPS_COPY})
        if ((info.dev_capa & needed) == 0)
            return fail(ENOTSUP, wanted,
                        fmt::format("this bench needs an engine with {}; this one has {}",
                                    capability_words(needed).front(),
                                    list_of(capability_words(info.dev_capa))));
    made->depth_ = std::clamp<unsigned>(depth, info.min_desc, info.max_desc);
    rte_dma_conf conf{};
    conf.nb_vchans = 1;
    rte_dma_vchan_conf channel{};
    channel.direction = RTE_DMA_DIR_MEM_TO_MEM;
    channel.nb_desc = static_cast<uint16_t>(made->depth_);
    int code = rte_dma_configure(made->id_, &conf);
    if (code == 0) code = rte_dma_vchan_setup(made->id_, 0, &channel);
    if (code == 0) code = rte_dma_start(made->id_);
    if (code != 0)
        return fail(
            -code, wanted,
            fmt::format("cannot start it with one channel of {} descriptors", made->depth_));
    made->started_ = true;
    return made;
}

engine::~engine() {
    if (started_) rte_dma_stop(id_);
}

void engine::fail_with_status() {
    uint16_t last = 0;
    rte_dma_status_code status = RTE_DMA_STATUS_SUCCESSFUL;
    rte_dma_completed_status(id_, 0, 1, &last, &status);
    throw void_run(fmt::format("{}: a transfer failed with status {} (rte_dma_status_code)", name_,
                               static_cast<int>(status)));
}

void engine::fail_to_enqueue(int code) {
    throw void_run(fmt::format("{}: it rejected a transfer: {}", name_, rte_strerror(-code)));
}

uint64_t engine::at_once(std::span<const transfer> all, uint32_t bytes, bool fill) {
    constexpr size_t burst = 32;
    size_t sent = 0, completed = 0;
    bool failed = false;
    const uint64_t start = rte_rdtsc_precise();
    const uint64_t patience = patience_seconds * rte_get_tsc_hz();
    uint64_t moved = start;
    while (completed < all.size()) {
        const size_t most = std::min({sent + burst, completed + depth_, all.size()});
        const size_t before = sent;
        int code = 0;
        while (sent < most && (code = enqueue(all[sent], bytes, fill, 0)) >= 0) ++sent;
        if (code < 0 && code != -ENOSPC) fail_to_enqueue(code);
        if (sent != before) rte_dma_submit(id_, 0);
        const uint16_t done = rte_dma_completed(id_, 0, burst, nullptr, &failed);
        if (failed) fail_with_status();
        completed += done;
        if (done != 0 || sent != before)
            moved = rte_rdtsc();
        else if (rte_rdtsc() - moved > patience)
            throw void_run(fmt::format("{}: {} of {} transfers did not complete within 5 s", name_,
                                       all.size() - completed, all.size()));
    }
    return rte_rdtsc_precise() - start;
}

}  // namespace turnpike::bench::dma
