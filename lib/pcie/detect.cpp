// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/detect.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <regex>

namespace turnpike::pcie {
namespace {

constexpr size_t header_bytes = 64;  // readable without privileges
constexpr size_t conventional_bytes = 256;
constexpr size_t extended_bytes = 4096;
constexpr uint32_t capability_pci_express = 0x10;
constexpr uint32_t capability_advanced_errors = 0x0001;

/// A copy of config space, little-endian; reads beyond its end return 0, like absent registers.
class config_space {
  public:
    explicit config_space(std::string_view bytes) : size_(std::min(bytes.size(), bytes_.size())) {
        std::copy_n(bytes.data(), size_, bytes_.data());
    }
    [[nodiscard]] size_t size() const { return size_; }
    [[nodiscard]] uint32_t u8(size_t at) const {
        return at < size_ ? static_cast<uint8_t>(bytes_[at]) : 0;
    }
    [[nodiscard]] uint32_t u16(size_t at) const { return u8(at) | u8(at + 1) << 8; }
    [[nodiscard]] uint32_t u32(size_t at) const { return u16(at) | u16(at + 2) << 16; }

    /// Offset of a capability; 0 if absent; nullopt if the list is circular.
    [[nodiscard]] std::optional<size_t> capability(uint32_t id) const {
        constexpr size_t status = 0x06, status_has_list = 1u << 4, first = 0x34;
        constexpr int most = (conventional_bytes - header_bytes) / 4;
        if (!(u16(status) & status_has_list)) return 0;
        size_t at = u8(first) & ~3u;
        for (int seen = 0; at != 0; ++seen) {
            if (seen == most || at < header_bytes) return std::nullopt;
            if (u8(at) == id) return at;
            at = u8(at + 1) & ~3u;
        }
        return 0;
    }

    [[nodiscard]] std::optional<size_t> extended_capability(uint32_t id) const {
        constexpr int most = (extended_bytes - conventional_bytes) / 8;
        size_t at = conventional_bytes;
        for (int seen = 0; at != 0 && u32(at) != 0 && u32(at) != ~0u; ++seen) {
            if (seen == most || at < conventional_bytes) return std::nullopt;
            if (u16(at) == id) return at;
            at = (u32(at) >> 20) & ~3u;
        }
        return 0;
    }

  private:
    std::array<char, extended_bytes> bytes_{};
    size_t size_;
};

/// MPS, MRRS: three bits, 128 bytes times two to that power.
std::optional<uint16_t> size_field(uint32_t bits) {
    if (bits > 5) return std::nullopt;
    return static_cast<uint16_t>(128u << bits);
}

bool sends_ecrc(const config_space& config) {
    constexpr size_t control = 0x18, generation_enable = 1u << 6;
    const auto errors = config.extended_capability(capability_advanced_errors);
    return errors.value_or(0) != 0 && (config.u32(*errors + control) & generation_enable) != 0;
}

result<link> read_link(const config_space& config, size_t capability, const std::string& device) {
    const uint32_t device_control = config.u16(capability + 0x08);
    const uint32_t link_control = config.u16(capability + 0x10);
    const uint32_t link_status = config.u16(capability + 0x12);
    const uint32_t speed = link_status & 0xf;
    const uint32_t width = (link_status >> 4) & 0x3f;
    if (speed == 0 || width == 0)
        return fail(ENOTSUP, device,
                    "the device has no PCIe link (emulated, or integrated in the root complex) "
                    "or the link is down; specify the link by hand");
    const auto mps = size_field((device_control >> 5) & 7);
    const auto mrrs = size_field((device_control >> 12) & 7);
    if (!mps || !mrrs)
        return fail(EIO, device,
                    "Device Control holds a reserved MPS or MRRS; specify them by hand");

    link found;
    found.gen = static_cast<uint8_t>(speed);
    found.lanes = static_cast<uint8_t>(width);
    found.mps = *mps;
    found.mrrs = *mrrs;
    found.rcb = (link_control & (1u << 3)) != 0 ? 128 : 64;
    found.ecrc = sends_ecrc(config);
    if (const auto good = validate(found); !good) return fail(ENOTSUP, device, good.error().text);
    return found;
}

/// Offset of the PCI Express capability.
result<size_t> express_capability(const config_space& config, const std::string& device) {
    if (config.size() < header_bytes) return fail(EIO, device, "cannot read its config space");
    if (config.size() == header_bytes)
        return fail(EACCES, device,
                    "only the first 64 bytes of config space are readable: run as root (or with "
                    "CAP_SYS_ADMIN), or specify link, MPS and MRRS by hand");
    if (config.u32(0) == ~0u)
        return fail(EIO, device, "the device does not answer (removed, or powered down)");
    const auto capability = config.capability(capability_pci_express);
    if (!capability) return fail(EIO, device, "its capability list is damaged");
    if (*capability == 0)
        return fail(ENOTSUP, device,
                    "it has no PCI Express capability (a conventional or emulated device); specify "
                    "its link by hand");
    return *capability;
}

std::string first_line(const std::string& file) {
    std::string out;
    std::getline(std::ifstream(file), out);
    return out;
}

/// Generation and lanes by attributes that every user may read, such as "8.0 GT/s PCIe" and "8"; MPS and MRRS are a link's usual
/// ones.
std::optional<link> link_of_attributes(const std::string& function) {
    constexpr double gigatransfers[] = {2.5, 5, 8, 16, 32, 64};
    const double speed = std::strtod(first_line(function + "/current_link_speed").c_str(), nullptr);
    const auto gen = std::find(std::begin(gigatransfers), std::end(gigatransfers), speed);
    if (gen == std::end(gigatransfers)) return std::nullopt;
    link found;
    found.sizes_assumed = true;
    found.gen = static_cast<uint8_t>(gen - std::begin(gigatransfers) + 1);
    found.lanes = static_cast<uint8_t>(
        std::strtoul(first_line(function + "/current_link_width").c_str(), nullptr, 10));
    return validate(found) ? std::optional(found) : std::nullopt;
}

}  // namespace

result<link> link_of_config(std::string_view bytes, const std::string& device) {
    const config_space config(bytes);
    const auto capability = express_capability(config, device);
    if (!capability) return tl::unexpected<error>(capability.error());
    return read_link(config, *capability, device);
}

result<unsigned> aspm_of_config(std::string_view bytes, const std::string& device) {
    const config_space config(bytes);
    const auto capability = express_capability(config, device);
    if (!capability) return tl::unexpected<error>(capability.error());
    return config.u16(*capability + 0x10) & 3;
}

result<link> detect_link(const std::filesystem::path& sysfs_root, std::string_view pci_address) {
    static const std::regex with_domain("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
    static const std::regex without_domain("[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
    std::string address(pci_address);
    for (char& c : address) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::regex_match(address, without_domain)) address.insert(0, "0000:");
    if (!std::regex_match(address, with_domain))
        return fail(EINVAL, "PCI address '" + std::string(pci_address) + "'",
                    "write it as 0000:3b:00.0 (lspci -D lists them)");

    const auto devices = sysfs_root / "bus/pci/devices";
    const std::string device = (devices / address).string();
    std::error_code ignored;
    if (!std::filesystem::exists(device, ignored))
        return fail(ENODEV, device, "no such PCI device; lspci -D lists the existing ones");
    const auto function = std::filesystem::exists(device + "/physfn", ignored) ? "/physfn" : "";
    std::ifstream file(device + function + "/config", std::ios::binary);
    if (!file) return fail(EIO, device, "cannot open its config space");

    std::string config(extended_bytes, '\0');
    file.read(config.data(), static_cast<std::streamsize>(config.size()));
    config.resize(static_cast<size_t>(file.gcount()));
    if (config.size() == header_bytes)
        if (const auto known = link_of_attributes(device + function)) return *known;
    return link_of_config(config, device);
}

}  // namespace turnpike::pcie
