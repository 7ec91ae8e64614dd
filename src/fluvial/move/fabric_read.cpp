// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/fabric_read.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/fabric_endpoint.hpp"
#include "fluvial/move/fabric_target.hpp"
#include "fluvial/move/remote_request.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/progress/spin_first.hpp"

namespace fluvial::move {
namespace {

enum class Says : std::uint8_t { Wants, Has };

/// A larger part is read by several reads, so that the progress can be seen.
constexpr std::uint64_t read_bytes_max = std::uint64_t{4} << 20;
constexpr std::size_t reads_at_a_time_max = 16;

class FabricRemoteReader final : public RemoteReader {
  public:
    FabricRemoteReader(std::unique_ptr<FabricEndpoint> endpoint, fi_addr_t owner,
                       SecureConnection connection, double patience_s)
        : provider_(endpoint->provider()),
          endpoint_(std::move(endpoint)),
          owner_(owner),
          connection_(std::move(connection)),
          patience_s_(patience_s) {}
    void read(std::span<const RemoteBox> boxes,
              const std::function<void(double silent_s)>& look) override;
    bool usable() const override { return !broken_; }
    std::string transport() const override { return "libfabric " + provider_; }

  private:
    class Response;
    [[noreturn]] void throw_none_begins() const;

    std::string provider_;
    std::unique_ptr<FabricEndpoint> endpoint_;
    fi_addr_t owner_;
    SecureConnection connection_;
    double patience_s_;
    progress::SpinFirst spin_first_;
    std::mutex mutex_;
    std::atomic<bool> broken_ = false;  ///< a read ended in the middle
};

/// Waits for the response to a request, and then for the reads.
class FabricRemoteReader::Response final : public progress::Waiting {
  public:
    Response(FabricRemoteReader& reader, std::span<const RemoteBox> boxes,
             const std::function<void(double)>& look)
        : reader_(reader), endpoint_(*reader.endpoint_), look_(look) {
        for (const RemoteBox& box : boxes) {
            if (box.bytes() > 0) {
                wanted_.push_back({{box.to, box.bytes()}, nullptr, {}});
            }
        }
    }

    Seen look() override {
        const std::size_t finished = announced_ ? endpoint_.progress() : 0;
        reader_.connection_.flush();
        // Its end tells that the owner has gone. It is looked at between what libfabric does and
        // the next reads.
        if (const auto message = reader_.connection_.take()) {
            if (announced_) {
                throw Error("the owner of memory on another host says more than it was asked");
            }
            take_places(*message);
        }
        if (!announced_) {
            return Seen::Nothing;
        }
        const std::size_t before = begun_ + complete_;
        complete_ += finished;
        begin_reads();
        if (begun_ + complete_ != before) {
            moved_ns_ = now_ns();
        }
        return at_ == wanted_.size() && complete_ == begun_ ? Seen::End
               : begun_ + complete_ != before               ? Seen::Movement
                                                            : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        const double silent_s = static_cast<double>(now_ns() - moved_ns_) * 1e-9;
        look_(silent_s);
        // The owner's heartbeats come by the connection: they do not say that the provider has one.
        if (announced_ && begun_ == complete_ && silent_s > reader_.patience_s_) {
            reader_.throw_none_begins();
        }
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr int look_ms = 20;
        const bool sending = reader_.connection_.sending();
        pollfd connection{reader_.connection_.descriptor(),
                          static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0};
        const auto ready = [&] { return endpoint_.wait(connection, 0); };
        if (serving || !reader_.spin_first_(ready)) {
            endpoint_.wait(connection, serving ? 1 : look_ms);
        }
        back_off.slept();
    }
    /// The owner has said why it gives nothing: then no read is under way.
    bool refused() const { return refused_; }

  private:
    struct Wanted {
        std::span<std::byte> to;
        FabricEndpoint::Owned<fid_mr> registered;
        FabricPlace from;
    };

    void take_places(const Bytes& message) {
        ByteReader in(message);
        refused_ = true;
        check_granted(in);
        refused_ = false;
        announced_ = true;
        moved_ns_ = now_ns();
        const auto places = in.get_vector<FabricPlace>();
        if (places.size() != wanted_.size()) {
            throw Error("the owner of memory on another host names other parts than were wanted");
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            wanted_[i].from = places[i];
            if (endpoint_.registers_local()) {
                wanted_[i].registered = endpoint_.register_memory(wanted_[i].to, FI_READ);
            }
        }
    }

    /// Before each read: libfabric 1.17 crashes in fi_read where it has seen its own connection
    /// end in an earlier one (tcp;ofi_rxm).
    bool owner_has_hung_up() const {
        pollfd one{reader_.connection_.descriptor(), POLLRDHUP, 0};
        return ::poll(&one, 1, 0) > 0;  // POLLHUP and POLLERR are told, too
    }

    void begin_reads() {
        const std::size_t most = std::min(reads_at_a_time_max, endpoint_.messages_max());
        while (at_ < wanted_.size() && begun_ - complete_ < most) {
            Wanted& part = wanted_[at_];
            const std::uint64_t bytes =
                std::min({part.to.size() - done_, read_bytes_max, endpoint_.message_bytes_max()});
            const FabricPlace from{part.from.address + done_, part.from.key};
            if (next_context_ == contexts_.size()) {
                contexts_.emplace_back();
            }
            if (owner_has_hung_up()) {
                return;  // the next look takes the end, and says so
            }
            if (!endpoint_.read(part.to.subspan(done_, bytes), part.registered.get(),
                                reader_.owner_, from, contexts_[next_context_])) {
                return;
            }
            ++next_context_;
            ++begun_;
            done_ += bytes;
            if (done_ == part.to.size()) {
                ++at_;
                done_ = 0;
            }
        }
    }

    FabricRemoteReader& reader_;
    FabricEndpoint& endpoint_;
    const std::function<void(double)>& look_;
    std::deque<Wanted> wanted_;
    std::size_t at_ = 0;      ///< the next of them ...
    std::uint64_t done_ = 0;  ///< ... of which this much is being read
    std::deque<fi_context2> contexts_;
    std::size_t next_context_ = 0;
    std::size_t begun_ = 0;
    std::size_t complete_ = 0;
    bool announced_ = false;
    bool refused_ = false;
    std::int64_t moved_ns_ = now_ns();
};

void FabricRemoteReader::throw_none_begins() const {
    throw SystemError(
        Problem{text("libfabric's provider '", provider_,
                     "' has no connection to another host after ", patience_s_, " s"),
                endpoint_->text_of(owner_), "an address to which this host's provider can connect",
                "Let its connections through (firewall, both directions), choose another as "
                "transport='libfabric:NAME', or transport='tcp'"});
}

void FabricRemoteReader::read(std::span<const RemoteBox> boxes,
                              const std::function<void(double)>& look) {
    const std::lock_guard lock(mutex_);
    if (broken_) {
        throw ReaderUsedUp("an earlier read by the same endpoint ended in the middle");
    }
    ByteWriter message;
    message.put(Says::Wants);
    const Bytes request = encode_request(boxes);
    message.append(request.data(), request.size());
    connection_.post(message.view());
    Response response(*this, boxes, look);
    // Before the memory that is read into is unregistered, or is used for something else.
    const auto end_reads = [&](FabricEndpoint* endpoint) {
        if (broken_) {
            endpoint->end();
        }
    };
    const std::unique_ptr<FabricEndpoint, decltype(end_reads)> guard(endpoint_.get(), end_reads);
    progress::BackOff back_off;
    try {
        progress::wait(response, back_off);
    } catch (...) {
        broken_ = !response.refused();
        throw;
    }
    message.clear();
    message.put(Says::Has);
    connection_.post(message.view());
    connection_.flush();
}

class Half final : public FabricHalf {
  public:
    Half(const std::string& provider, const std::string& address)
        : endpoint_(std::make_unique<FabricEndpoint>(provider, address)) {}
    std::string provider() const override { return endpoint_->provider(); }
    std::unique_ptr<RemoteReader> connect(SecureConnection connection, const Deadline& deadline,
                                          double patience_s) &&
        override {
        std::optional<Bytes> reply;
        const auto replied = [&] {
            connection.flush();
            reply = connection.take();
            return reply.has_value();
        };
        wait_until(replied, deadline, "the owner of memory on another host did not answer");
        ByteReader in(*reply);
        check_granted(in);
        const fi_addr_t owner = endpoint_->insert(in.get_block());
        return std::make_unique<FabricRemoteReader>(std::move(endpoint_), owner,
                                                    std::move(connection), patience_s);
    }

  private:
    std::unique_ptr<FabricEndpoint> endpoint_;
};

class FabricRemoteServer final : public RemoteServer {
  public:
    FabricRemoteServer(SecureConnection connection, std::shared_ptr<FabricTarget> target)
        : connection_(std::move(connection)), target_(std::move(target)) {
        ByteWriter out;
        put_granted(out);
        const Bytes address = target_->endpoint().address();
        out.put_block(address.data(), address.size());
        connection_.post(out.view());
    }
    void advance(Exposed& exposed) override {
        while (connection_.flush()) {
            const auto message = connection_.take();
            if (!message) {
                return;
            }
            lent_.reset();
            if (ByteReader(*message).get<Says>() == Says::Wants) {
                answer({message->begin() + sizeof(Says), message->end()}, exposed);
            }
        }
    }
    bool sending() const override { return connection_.sending(); }
    int descriptor() const override { return connection_.descriptor(); }

  private:
    /// What the reader may read now.
    struct Lent {
        explicit Lent(FabricTarget& target) : target(target) { target.expect_reads(); }
        ~Lent() { target.expect_reads_no_more(); }
        Lent(const Lent&) = delete;
        Lent& operator=(const Lent&) = delete;
        FabricTarget& target;
        std::deque<PackedBytes> parts;
        std::vector<FabricEndpoint::Owned<fid_mr>> registered;
    };

    void answer(const Bytes& request, Exposed& exposed) {
        try {
            auto lent = std::make_unique<Lent>(*target_);
            lent->parts = requested_parts(request, exposed);
            std::vector<FabricPlace> places;
            for (const PackedBytes& part : lent->parts) {
                lent->registered.push_back(
                    target_->endpoint().register_memory(part.bytes, FI_REMOTE_READ));
                places.push_back(
                    target_->endpoint().place_of(part.bytes, *lent->registered.back()));
            }
            ByteWriter out;
            put_granted(out);
            out.put_vector(places);
            connection_.post(out.view());
            lent_ = std::move(lent);
        } catch (const Error& error) {
            connection_.post(encode_refusal(error));
        } catch (const std::bad_alloc& no_memory) {
            connection_.post(encode_refusal(no_memory));
        }
    }

    SecureConnection connection_;
    std::shared_ptr<FabricTarget> target_;
    std::unique_ptr<Lent> lent_;
};

}  // namespace

bool knows_libfabric() {
    return true;
}

std::unique_ptr<FabricHalf> open_fabric(const std::string& provider, const std::string& address) {
    return std::make_unique<Half>(provider, address);
}

std::unique_ptr<RemoteServer> serve_fabric(SecureConnection connection,
                                           const std::string& provider) {
    try {
        auto target = FabricTarget::of(provider, connection.socket().own_address());
        return std::make_unique<FabricRemoteServer>(std::move(connection), std::move(target));
    } catch (const Error& error) {
        connection.post(encode_refusal(error));
        connection.flush();
        throw;
    }
}

}  // namespace fluvial::move
