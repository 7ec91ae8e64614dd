// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A, Data Object Headers.
#include "fluvial/store/hdf5/messages.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "fluvial/store/hdf5/front.hpp"

namespace fluvial::store {

namespace {

constexpr std::size_t parts_max = 1000;  // of one header
constexpr std::uint64_t part_bytes_max = 64 << 20;

struct HeaderPart {
    std::uint64_t address, bytes;
};

/// How the messages of a header are framed.
struct Framing {
    bool old = false;    ///< version 1
    bool order = false;  ///< messages have a number

    std::size_t header_bytes() const { return old ? 8 : order ? 6 : 4; }
};

/// Where the messages of a header begin and how many bytes of them there are; none for what is no
/// header.
HeaderPart first_part(const InputFile& file, std::uint64_t address, Framing& framing) {
    std::byte start[40] = {};
    file.read(address, std::span(start).first(std::min<std::uint64_t>(40, file.size() - address)));
    Front in(start);
    if (std::memcmp(start, "OHDR\2", 5) == 0) {
        in.take(5);
        const auto flags = in.number(1);
        framing.order = (flags & 0x04) != 0;
        in.take((flags & 0x20) != 0 ? 16 : 0);
        in.take((flags & 0x10) != 0 ? 4 : 0);
        const auto bytes = in.number(std::size_t{1} << (flags & 0x03));
        return {address + sizeof start - in.left(), bytes};
    }
    framing.old = true;
    if (in.number(1) != 1 || in.number(1) != 0) {
        return {0, 0};
    }
    in.take(6);
    return {address + 16, in.number(4)};
}

/// The next message; `in` is not good() when there is none.
Hdf5Message next_message(Front& in, const Framing& framing) {
    const auto kind = static_cast<Hdf5MessageKind>(in.number(framing.old ? 2 : 1));
    const auto bytes = in.number(2), flags = in.number(1);
    in.take(framing.header_bytes() - (framing.old ? 5 : 4));
    return {kind, (flags & 2) != 0, in.take(bytes)};
}

}  // namespace

const char* for_each_message(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                             const std::function<const char*(const Hdf5Message&)>& use,
                             std::map<std::uint64_t, std::uint64_t>* parts) {
    if (address >= file.size()) {
        return nullptr;
    }
    Framing framing;
    std::vector<HeaderPart> found{first_part(file, address, framing)};
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < found.size() && i < parts_max; ++i) {
        const HeaderPart part = found[i];
        if (part.bytes > part_bytes_max || part.address > file.size() ||
            part.bytes > file.size() - part.address) {
            return nullptr;
        }
        if (i > 0 && parts != nullptr) {
            parts->insert_or_assign(part.address, part.bytes);
        }
        bytes.resize(part.bytes);
        file.read(part.address, bytes);
        std::span<const std::byte> messages = bytes;
        if (i > 0 && !framing.old) {  // a signature before and a checksum behind
            messages =
                messages.size() < 8 ? messages.first(0) : messages.subspan(4, messages.size() - 8);
        }
        Front in(messages);
        while (in.left() >= framing.header_bytes()) {
            const Hdf5Message message = next_message(in, framing);
            if (!in.good()) {
                break;
            }
            if (message.kind == Hdf5MessageKind::Continuation && !message.shared) {
                Front of(message.body);
                const auto at = of.number(sizes.address_bytes);
                found.push_back({at + sizes.base, of.number(sizes.length_bytes)});
            }
            if (const char* reason = use(message)) {
                return reason;
            }
        }
    }
    return nullptr;
}

}  // namespace fluvial::store
