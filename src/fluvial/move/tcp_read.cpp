// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tcp_read.hpp"

#include <algorithm>

#include <poll.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/incoming_data.hpp"
#include "fluvial/move/remote_request.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

/// Of elements that do not lie together, so many are packed at a time.
constexpr std::uint64_t packed_bytes_max = std::uint64_t{1} << 20;

std::uint64_t bytes_of(const ArrayView& view) {
    return static_cast<std::uint64_t>(view.size()) * size_of(view.dtype);
}

/// Pieces along it follow each other in row-major order; -1: there is a single element.
int first_long_axis(const Coordinates& extent) {
    const auto* const found =
        std::find_if(extent.begin(), extent.end(), [](Index count) { return count > 1; });
    return found != extent.end() ? static_cast<int>(found - extent.begin()) : -1;
}

ArrayView rows_of(const ArrayView& view, int axis, Index first, Index count) {
    Region rows = whole(view.extent);
    rows.offset[axis] = first;
    rows.extent[axis] = count;
    return subview(view, rows);
}

}  // namespace

/// Waits for the response to a request.
class TcpRemoteReader::Response final : public progress::Waiting {
  public:
    Response(TcpRemoteReader& reader, std::span<const RemoteBox> boxes,
             const std::function<void(double)>& look)
        : connection_(reader.connection_),
          data_(reader.encrypt_),
          spin_first_(reader.spin_first_),
          boxes_(boxes),
          look_(look) {}

    Seen look() override {
        bool moved = !connection_.flush() ? false : !std::exchange(asked_, true);
        if (!announced_) {
            const auto message = connection_.take();
            if (!message) {
                return moved ? Seen::Movement : Seen::Nothing;
            }
            hear(*message);
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
        const auto ready = [&] { return ::poll(&one, 1, 0) != 0; };
        // What is on its way already had better come in large pieces.
        if (serving || announced_ || !spin_first_(ready)) {
            ::poll(&one, 1, serving ? 1 : look_ms);
        }
        back_off.slept();
    }
    /// The owner has said why it sends nothing: then nothing is left on the way.
    bool refused() const { return refused_; }

  private:
    void hear(const Bytes& message) {
        ByteReader in(message);
        refused_ = true;
        check_granted(in);
        refused_ = false;
        announced_ = true;
    }
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
            const std::size_t got = data_.take(connection_, {box.to + done_, box.bytes() - done_});
            if (got == 0) {
                return false;
            }
            done_ += got;
            moved_ = true;
            moved_ns_ = now_ns();
        }
    }

    SecureConnection& connection_;
    IncomingData data_;
    progress::SpinFirst& spin_first_;
    std::span<const RemoteBox> boxes_;
    const std::function<void(double)>& look_;
    bool asked_ = false;
    bool announced_ = false;
    bool refused_ = false;
    std::size_t box_ = 0;
    std::uint64_t done_ = 0;  ///< bytes of that box
    bool moved_ = false;
    std::int64_t moved_ns_ = now_ns();
};

void TcpRemoteReader::read(std::span<const RemoteBox> boxes,
                           const std::function<void(double)>& look) {
    const std::lock_guard lock(mutex_);
    if (broken_) {
        throw ReaderUsedUp("an earlier read of the same connection ended in the middle");
    }
    connection_.post(encode_request(boxes));
    Response response(*this, boxes, look);
    progress::BackOff back_off;
    try {
        progress::wait(response, back_off);
    } catch (...) {
        broken_ = !response.refused();
        throw;
    }
}

void TcpRemoteServer::answer(const Bytes& request, Exposed& exposed) {
    try {
        boxes_ = requested_boxes(request, exposed);
        ByteWriter out;
        put_granted(out);
        connection_.post(out.view());
    } catch (const Error& error) {
        connection_.post(encode_refusal(error));
    } catch (const std::bad_alloc& no_memory) {
        connection_.post(encode_refusal(no_memory));
    }
}

PackedBytes TcpRemoteServer::next_part() {
    while (true) {
        RequestedBox box = std::move(boxes_.front());
        boxes_.pop_front();
        const int axis = first_long_axis(box.view.extent);
        const std::uint64_t bytes = bytes_of(box.view);
        if (axis < 0 || bytes <= packed_bytes_max || box.view.is_contiguous()) {
            return packed(box.view, std::move(box.owner));
        }
        const Index rows = box.view.extent[axis];
        const auto row_bytes = bytes / static_cast<std::uint64_t>(rows);
        const auto some =
            std::clamp<Index>(static_cast<Index>(packed_bytes_max / row_bytes), 1, rows - 1);
        boxes_.push_front({rows_of(box.view, axis, some, rows - some), box.owner});
        boxes_.push_front({rows_of(box.view, axis, 0, some), box.owner});
    }
}

/// The owner has said that it gives what was asked for, and cannot say otherwise any more.
PackedBytes TcpRemoteServer::next_part_or_end() {
    try {
        return next_part();
    } catch (const std::bad_alloc&) {
        throw PeerLost("there is no memory for data that was asked for");
    }
}

bool TcpRemoteServer::send_parts() {
    while (more_to_send()) {
        if (part_.bytes.empty()) {
            part_ = next_part_or_end();
        }
        std::size_t went = 0;
        if (encrypt_) {
            went = std::min(part_.bytes.size(), encrypted_part_bytes);
            connection_.post(part_.bytes.first(went));
        } else {
            connection_.post_raw(part_.bytes, std::move(part_.owner));
            went = part_.bytes.size();
        }
        part_.bytes = part_.bytes.subspan(went);
        if (!connection_.flush()) {
            return false;
        }
    }
    return true;
}

void TcpRemoteServer::advance(Exposed& exposed) {
    // The next request is looked at once the reply before is out, so that what is read ahead is
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
