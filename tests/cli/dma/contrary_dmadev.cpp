// SPDX-License-Identifier: BSD-3-Clause
// dma_contraryN: an engine that does what turnpike-bench-dma must notice. It works when transfers are submitted, on
// the caller's core.
//
//   fault=  nothing (as given), flip (one byte of one transfer), lose (one transfer is not done), spill (one byte too
//           many), status (one fails), stuck (one never completes), refuse (takes none)
//   after=N  transfers before the one that is at fault (1000)
//   caps=   copy+mem_to_mem+fill+sva, or less (copy+mem_to_mem+sva)
#include <bus_vdev_driver.h>
#include <rte_dmadev_pmd.h>
#include <rte_kvargs.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

namespace {

enum class fault { none, flip, lose, spill, status, stuck, refuse };

struct operation {
    bool fill;
    uint64_t from, to;
    uint32_t bytes;
};

struct contrary_device {
    fault wrong = fault::none;
    uint64_t after = 1000, capabilities = 0, done = 0;
    uint16_t depth = 0, next = 0;
    std::deque<operation> waiting{};
    uint16_t complete = 0;
    bool failed = false, halted = false;
};

contrary_device& device_of(void* queue) { return *static_cast<contrary_device*>(queue); }
contrary_device& device_of(const rte_dma_dev* dev) { return device_of(dev->data->dev_private); }

void carry_out(const operation& o) {
    auto* to = reinterpret_cast<uint8_t*>(o.to);
    if (!o.fill) {
        std::memcpy(to, reinterpret_cast<const void*>(o.from), o.bytes);
        return;
    }
    for (uint32_t at = 0; at < o.bytes; at += 8)
        std::memcpy(to + at, &o.from, std::min<uint32_t>(8, o.bytes - at));
}

/// Returns whether it completes.
bool carry_out_contrarily(contrary_device& d, const operation& o) {
    auto* to = reinterpret_cast<uint8_t*>(o.to);
    switch (d.wrong) {
        case fault::lose:
            return true;
        case fault::stuck:
            d.halted = true;
            return false;
        case fault::status:
            d.halted = d.failed = true;
            return false;
        default:
            break;
    }
    carry_out(o);
    if (d.wrong == fault::flip) to[o.bytes / 2] = static_cast<uint8_t>(~to[o.bytes / 2]);
    if (d.wrong == fault::spill) to[o.bytes] = static_cast<uint8_t>(~to[o.bytes]);
    return true;
}

int submit(void* queue, uint16_t) {
    contrary_device& d = device_of(queue);
    while (!d.waiting.empty() && !d.halted) {
        const operation o = d.waiting.front();
        const bool at_fault = d.wrong != fault::none && d.done++ == d.after;
        if (!at_fault) carry_out(o);
        if (at_fault && !carry_out_contrarily(d, o)) break;
        d.waiting.pop_front();
        ++d.complete;
    }
    return 0;
}

int enqueue(contrary_device& d, const operation& o, uint64_t flags) {
    if (d.wrong == fault::refuse) return -EIO;
    if (d.waiting.size() + d.complete >= d.depth) return -ENOSPC;
    d.waiting.push_back(o);
    if ((flags & RTE_DMA_OP_FLAG_SUBMIT) != 0) submit(&d, 0);
    return d.next++;
}

int copy(void* queue, uint16_t, rte_iova_t from, rte_iova_t to, uint32_t bytes, uint64_t flags) {
    return enqueue(device_of(queue), {false, from, to, bytes}, flags);
}

int fill(void* queue, uint16_t, uint64_t word, rte_iova_t to, uint32_t bytes, uint64_t flags) {
    return enqueue(device_of(queue), {true, word, to, bytes}, flags);
}

uint16_t completed(void* queue, uint16_t, uint16_t most, uint16_t* last, bool* failed) {
    contrary_device& d = device_of(queue);
    const uint16_t n = std::min(most, d.complete);
    d.complete = static_cast<uint16_t>(d.complete - n);
    *last = static_cast<uint16_t>(d.next - 1);
    *failed = d.failed && n == 0;
    return n;
}

uint16_t completed_status(void* queue, uint16_t, uint16_t, uint16_t* last,
                          rte_dma_status_code* status) {
    *last = static_cast<uint16_t>(device_of(queue).next - 1);
    *status = RTE_DMA_STATUS_BUS_READ_ERROR;
    return 1;
}

uint16_t room(const void* queue, uint16_t) {
    const auto& d = *static_cast<const contrary_device*>(queue);
    return static_cast<uint16_t>(d.depth - d.waiting.size() - d.complete);
}

int info_get(const rte_dma_dev* dev, rte_dma_info* info, uint32_t) {
    info->dev_capa = device_of(dev).capabilities;
    info->max_vchans = 1;
    info->min_desc = 8;
    info->max_desc = 1024;
    return 0;
}

int setup_channel(rte_dma_dev* dev, uint16_t, const rte_dma_vchan_conf* conf, uint32_t) {
    device_of(dev).depth = conf->nb_desc;
    return 0;
}

int configure(rte_dma_dev*, const rte_dma_conf*, uint32_t) { return 0; }
int start(rte_dma_dev*) { return 0; }
int stop(rte_dma_dev*) { return 0; }

int close(rte_dma_dev* dev) {
    device_of(dev).~contrary_device();
    return 0;
}

const rte_dma_dev_ops operations = [] {
    rte_dma_dev_ops made{};
    made.dev_info_get = info_get;
    made.dev_configure = configure;
    made.dev_start = start;
    made.dev_stop = stop;
    made.dev_close = close;
    made.vchan_setup = setup_channel;
    return made;
}();

constexpr const char* argument_names[] = {"fault", "after", "caps", nullptr};

int read_argument(const char* name, const char* value, void* into) {
    contrary_device& d = *static_cast<contrary_device*>(into);
    const std::string key = name, text = value;
    constexpr const char* faults[] = {"none", "flip", "lose", "spill", "status", "stuck", "refuse"};
    if (key == "after") d.after = std::strtoull(value, nullptr, 10);
    if (key == "caps") d.capabilities = 0;
    for (const auto& [word, bit] : {std::pair{"copy", RTE_DMA_CAPA_OPS_COPY},
                                    {"fill", RTE_DMA_CAPA_OPS_FILL},
                                    {"mem_to_mem", RTE_DMA_CAPA_MEM_TO_MEM},
                                    {"sva", RTE_DMA_CAPA_SVA}})
        if (key == "caps" && text.find(word) != std::string::npos) d.capabilities |= bit;
    for (size_t i = 0; i < std::size(faults); ++i)
        if (key == "fault" && text == faults[i]) d.wrong = static_cast<fault>(i);
    return 0;
}

int probe(rte_vdev_device* vdev) {
    const char* const name = rte_vdev_device_name(vdev);
    rte_dma_dev* dev = rte_dma_pmd_allocate(name, -1, sizeof(contrary_device));
    if (dev == nullptr) return -ENOMEM;
    auto* d = new (dev->data->dev_private) contrary_device;
    d->capabilities = RTE_DMA_CAPA_SVA | RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_OPS_COPY;
    rte_kvargs* arguments = rte_kvargs_parse(rte_vdev_device_args(vdev), argument_names);
    if (arguments == nullptr) {
        rte_dma_pmd_release(name);
        return -EINVAL;
    }
    rte_kvargs_process(arguments, nullptr, read_argument, d);
    rte_kvargs_free(arguments);
    dev->device = &vdev->device;
    dev->dev_ops = &operations;
    dev->fp_obj->dev_private = d;
    dev->fp_obj->copy = copy;
    dev->fp_obj->fill = (d->capabilities & RTE_DMA_CAPA_OPS_FILL) != 0 ? fill : nullptr;
    dev->fp_obj->submit = submit;
    dev->fp_obj->completed = completed;
    dev->fp_obj->completed_status = completed_status;
    dev->fp_obj->burst_capacity = room;
    dev->state = RTE_DMA_DEV_READY;
    return 0;
}

int remove_device(rte_vdev_device* vdev) { return rte_dma_pmd_release(rte_vdev_device_name(vdev)); }

rte_vdev_driver contrary_driver = [] {
    rte_vdev_driver made{};
    made.probe = probe;
    made.remove = remove_device;
    return made;
}();

}  // namespace

RTE_PMD_REGISTER_VDEV(dma_contrary, contrary_driver);
