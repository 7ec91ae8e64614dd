// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tcp_read.hpp"

#include <algorithm>

#include <poll.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

enum class Verdict : std::uint8_t { Error, Good };

constexpr std::size_t encrypted_part_bytes = 256 * 1024;
constexpr std::uint32_t boxes_max = 1u << 24;

void encode(ByteWriter& out, const RemoteBox& box) {
    out.put(box.place);
    out.put(box.item_bytes);
    out.put<std::uint8_t>(static_cast<std::uint8_t>(box.extent.size()));
    for (int axis = 0; axis < box.extent.size(); ++axis) {
        out.put(box.extent[axis]);
        out.put(box.box.offset[axis]);
        out.put(box.box.extent[axis]);
    }
}

RemoteBox decode_box(ByteReader& in) {
    RemoteBox box;
    box.place = in.get<RemotePlace>();
    box.item_bytes = in.get<std::uint32_t>();
    const int ndim = in.get<std::uint8_t>();
    if (ndim > ndim_max || box.item_bytes == 0) {
        throw Error("a request for data of another host makes no sense");
    }
    box.extent = Coordinates(ndim, 0);
    box.box = {Coordinates(ndim, 0), Coordinates(ndim, 0)};
    for (int axis = 0; axis < ndim; ++axis) {
        box.extent[axis] = in.get<Index>();
        box.box.offset[axis] = in.get<Index>();
        box.box.extent[axis] = in.get<Index>();
    }
    check_inside(box.box, box.extent, {"a box that is asked for of", "another host"});
    std::uint64_t bytes = box.item_bytes;
    for (const Index extent : box.extent) {
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
            bytes = box.place.bytes + 1;
            break;
        }
    }
    if (bytes != box.place.bytes) {
        throw Error("a request for data of another host does not fit the memory that it names");
    }
    return box;
}

/// Elements of that size, whatever they are.
DType element_of(std::uint32_t item_bytes) {
    for (const DType dtype :
         {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64, DType::Complex128}) {
        if (size_of(dtype) == item_bytes) {
            return dtype;
        }
    }
    throw Error(Problem{"elements of another host have a size that none has",
                        text(item_bytes, " bytes"), "1, 2, 4, 8, 16", ""});
}

}  // namespace

/// Waits for the answer to a request.
class TcpRemoteReader::Answer final : public progress::Waiting {
  public:
    Answer(TcpRemoteReader& reader, std::span<const RemoteBox> boxes,
           const std::function<void(double)>& look)
        : connection_(reader.connection_), encrypt_(reader.encrypt_), boxes_(boxes), look_(look) {}

    Seen look() override {
        bool moved = !connection_.flush() ? false : !std::exchange(asked_, true);
        if (!announced_) {
            const auto message = connection_.take();
            if (!message) {
                return moved ? Seen::Movement : Seen::Nothing;
            }
            ByteReader in(*message);
            if (in.get<Verdict>() == Verdict::Error) {
                const std::string kind = in.get_string();
                throw_error(kind, in.get_string());
            }
            announced_ = true;
            moved = true;
        }
        return receive() ? Seen::End : moved_ || moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        look_(static_cast<double>(now_ns() - moved_ns_) * 1e-9);
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr int look_ms = 100;
        pollfd one{connection_.descriptor(),
                   static_cast<short>(POLLIN | (connection_.sending() ? POLLOUT : 0)), 0};
        ::poll(&one, 1, serving ? 1 : look_ms);
        back_off.slept();
    }
    /// A box of no bytes needs no answer; one that failed has none left.
    bool announced() const { return announced_; }

  private:
    bool receive() {
        moved_ = false;
        while (true) {
            while (box_ < boxes_.size() && done_ == boxes_[box_].bytes()) {
                ++box_;
                done_ = 0;
            }
            if (box_ == boxes_.size()) {
                return true;
            }
            const RemoteBox& box = boxes_[box_];
            const std::size_t got = take({box.to + done_, box.bytes() - done_});
            if (got == 0) {
                return false;
            }
            done_ += got;
            moved_ = true;
            moved_ns_ = now_ns();
        }
    }
    std::size_t take(std::span<std::byte> to) {
        if (!encrypt_) {
            return connection_.read_raw(to);
        }
        if (opened_.empty()) {
            if (auto part = connection_.take()) {
                part_ = std::move(*part);
                opened_ = part_;
            }
        }
        const std::size_t bytes = std::min(to.size(), opened_.size());
        std::copy_n(opened_.begin(), bytes, to.begin());
        opened_ = opened_.subspan(bytes);
        return bytes;
    }

    SecureConnection& connection_;
    bool encrypt_;
    std::span<const RemoteBox> boxes_;
    const std::function<void(double)>& look_;
    bool asked_ = false;
    bool announced_ = false;
    std::size_t box_ = 0;
    std::uint64_t done_ = 0;  ///< bytes of that box
    bool moved_ = false;
    std::int64_t moved_ns_ = now_ns();
    Bytes part_;
    std::span<const std::byte> opened_;
};

void TcpRemoteReader::read(std::span<const RemoteBox> boxes,
                           const std::function<void(double)>& look) {
    const std::lock_guard lock(mutex_);
    if (broken_) {
        throw PeerLost("an earlier read of the same connection ended in the middle");
    }
    ByteWriter request;
    request.put<std::uint32_t>(static_cast<std::uint32_t>(boxes.size()));
    for (const RemoteBox& box : boxes) {
        encode(request, box);
    }
    connection_.post(request.view());
    Answer answer(*this, boxes, look);
    progress::BackOff back_off;
    broken_ = true;
    try {
        progress::wait(answer, back_off);
    } catch (const PeerLost&) {
        throw;
    } catch (const Error&) {
        broken_ = answer.announced();  // else the owner said why it sends nothing
        throw;
    }
    broken_ = false;
}

void TcpRemoteServer::answer(const Bytes& request, Exposed& exposed) {
    ByteWriter out;
    std::deque<PackedBytes> parts;
    try {
        ByteReader in(request);
        const auto count = in.get<std::uint32_t>();
        if (count > boxes_max) {
            throw Error("a request for data of another host names too many boxes");
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const RemoteBox box = decode_box(in);
            if (box.bytes() == 0) {
                continue;
            }
            Exposed::Memory memory = exposed.memory_of(box.place);
            const ArrayView all(memory.data, element_of(box.item_bytes), box.extent);
            parts.push_back(packed(subview(all, box.box), std::move(memory.owner)));
        }
        out.put(Verdict::Good);
        parts_.insert(parts_.end(), parts.begin(), parts.end());
    } catch (const Error& error) {
        out.clear();
        out.put(Verdict::Error);
        out.put_string(error.kind());
        out.put_string(error.what());
    }
    connection_.post(out.view());
}

bool TcpRemoteServer::send_parts() {
    while (!parts_.empty()) {
        PackedBytes& part = parts_.front();
        std::size_t went = 0;
        if (encrypt_) {
            went = std::min(part.bytes.size(), encrypted_part_bytes);
            connection_.post(part.bytes.first(went));
        } else {
            connection_.post_raw(part.bytes, std::move(part.owner));
            went = part.bytes.size();
        }
        part.bytes = part.bytes.subspan(went);
        if (part.bytes.empty()) {
            parts_.pop_front();
        }
        if (!connection_.flush()) {
            return false;
        }
    }
    return true;
}

void TcpRemoteServer::advance(Exposed& exposed) {
    // The next request is looked at once the answer before is out, so that what is read ahead is
    // bounded.
    while (connection_.flush() && send_parts()) {
        const auto request = connection_.take();
        if (!request) {
            return;
        }
        answer(*request, exposed);
    }
}

}  // namespace fluvial::move
