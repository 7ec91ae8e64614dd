// SPDX-License-Identifier: Apache-2.0
/// A reader rank on another host than the writer: it asks the writer's host for steps
/// (remote_messages.hpp), and for what it reads of them.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fluvial/host/event.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/incoming_data.hpp"
#include "fluvial/move/rail.hpp"
#include "fluvial/move/rails.hpp"
#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/secure_connection.hpp"
#include "fluvial/move/shared_windows.hpp"
#include "fluvial/move/traffic.hpp"
#include "fluvial/progress/spin_first.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/heartbeat.hpp"
#include "fluvial/stage/parts_along.hpp"
#include "fluvial/stage/read_buffers.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/seat.hpp"
#include "fluvial/stage/step_message_reader.hpp"

namespace fluvial::stage {

class RemoteStep;

class RemoteSeat final : public Seat, public std::enable_shared_from_this<RemoteSeat> {
  public:
    /// Connects to one of the contact's endpoints, proves that it knows the key, and attaches.
    /// Waits. Throws StaleContact when no process answers at any of them, OutOfReach, CutOff,
    /// Refused, PeerLost, TimedOut, or what the writer's host answers.
    RemoteSeat(const std::string& name, const Contact& contact, const AttachRequest& request,
               const ReaderOptions& options, const Deadline& deadline);
    ~RemoteSeat() override;
    RemoteSeat(const RemoteSeat&) = delete;
    RemoteSeat& operator=(const RemoteSeat&) = delete;

    int group() const { return stream_.reply.group; }
    /// The first step that may come.
    std::uint64_t from() const { return stream_.reply.from; }

    void wait_for_others() override;
    void next_follows() override { next_follows_ = true; }
    using Seat::next;
    std::optional<OpenedStep> next(HandleLock::Call& call, const Deadline& deadline,
                                   std::optional<std::uint64_t> given) override;
    void look_for_failure() override;
    bool shares_out() const override { return stream_.shares_out; }
    SeriesDescription series() override;
    SeatStats stats(std::uint64_t next_index) const override;
    StreamStatus status() override;
    bool disk_was_full() const override;
    std::string host() const override { return stream_.host; }
    std::string transport() const override { return transport_; }
    move::Traffic::Bytes bytes_by_interface() const override { return traffic_->bytes(); }
    bool is_elsewhere() const override { return true; }
    void share(const std::shared_ptr<move::SharedClaims>& claims, std::uint32_t host) override;
    std::uint64_t bytes_from_neighbours() const override { return bytes_from_neighbours_; }
    void wake() override { woken_.ring(); }
    void leave() override;

  private:
    friend class RemoteStep;
    class Listening;

    void attach(const AttachRequest& request, const Deadline& deadline);
    /// Hears the writer's host until `done`, which is asked with the mutex and whose throw ends the
    /// wait; false at the deadline. `for_step`: it is for a step, and other threads have their
    /// turns of that call meanwhile.
    bool listen_until(const Deadline& deadline, std::function<bool()> done,
                      HandleLock::Call* for_step = nullptr);
    bool has_step() const;
    bool others_lag() const;
    /// A message of which something behind is still to come.
    struct Arriving {
        StepMessage message;
        std::shared_ptr<std::byte> behind;
        move::IncomingData data;
    };
    /// What is to be fetched for it, if anything: by one of the ranks that share. Throws as reads.
    void complete(StepMessage& message);
    void take_back_unfetched();
    OpenedStep open_step(StepMessage message);
    /// What follows is called with `mutex_`.
    void hear_all();
    void hear_what_came();
    void act_on(Bytes message);
    void take_bearings(ByteReader& in);
    void announce(Bytes message);
    bool receive_behind();
    void take_in(StepMessage message);
    void check_open() const;
    void check_alive() const;
    void check_data_comes(double silent_s) const;
    void throw_failure();
    void ask(std::optional<std::uint64_t> given);

    /// What follows a step of which so many bytes were read is better asked for: that goes over
    /// several rails, or is asked for by one rank of this host for all.
    bool asks_anyway(std::uint64_t step, std::uint64_t bytes_read) const;
    /// What was read of it; nothing known when it was small.
    /// `complete`: all of its data came along.
    void give_back(const DoneStep& done, const std::optional<std::vector<PartAlong>>& read,
                   bool complete);
    void post_done();
    /// Each step that was read is to be known there, should this process be killed in the next.
    bool resumes() const { return !options_.resume.empty(); }
    void beat();
    std::optional<move::Endpoint> other_way();
    void go_on(move::SecureConnection connection, const move::Endpoint& endpoint);
    void change_to(move::SecureConnection connection, const move::Endpoint& endpoint);
    /// The rank that served this reader may have died, and another takes its place.
    bool seeks_standby() const { return standby_may_serve_ && connection_ && !lost_.empty(); }
    void seek_standby();
    bool found_standby(unsigned way);
    std::vector<move::Endpoint> endpoints() const;
    struct WentOn {};  ///< a read ends by it when its connection is not the last one any more
    struct DataSource {
        std::shared_ptr<move::RemoteReader> reader;
        std::string interface;  ///< that it uses; empty: several, which it counts
    };
    DataSource data(unsigned& way);
    /// By libfabric with this `half` of the way, where there is one already.
    DataSource connect_to_data(const Deadline& deadline,
                               std::unique_ptr<move::FabricHalf> half = nullptr);
    DataSource connect_tcp(const Deadline& deadline);
    move::Rail::Way way_of(const move::Reach& reach, std::uint8_t number) const;
    move::SecureConnection connect_data(const std::string& provider, const Deadline& deadline);
    move::Reach reach_now() const;
    std::unique_ptr<move::FabricHalf> open_half();
    std::shared_ptr<move::RemoteReader> connect_half(std::unique_ptr<move::FabricHalf> half,
                                                     const Deadline& deadline);
    MemoryOnHost place_of(const Chunk& chunk, DType dtype) const;
    void read(std::uint64_t step, const std::vector<move::RemoteBox>& boxes);
    std::uint64_t read_once(const move::StepOnHost& from, std::span<const move::RemoteBox> boxes);
    /// Over the network.
    void fetch(std::span<const move::RemoteBox> boxes,
               const std::function<void(double silent_s)>& moved);
    void hear_whether_alive();
    bool went_on_since(unsigned way);
    /// What of a step came along with its message, and was read. Only with `claims_`.
    void note_along(std::uint64_t step, const std::vector<move::RemoteBox>& boxes);
    void count(std::span<const move::RemoteBox> boxes, const std::string& interface);
    [[noreturn]] void explain_loss(const PeerLost& lost);

    std::string name_;
    Contact contact_;
    ReaderOptions options_;
    AttachedMessage stream_;
    std::string interfaces_;
    std::string transport_;
    std::shared_ptr<move::Traffic> traffic_ = std::make_shared<move::Traffic>();
    std::atomic<bool> several_rails_ = false;
    progress::SpinFirst spin_first_;  ///< for a step
    bool pushes_ = true;              ///< parts of large steps come along, too
    StepMessageReader messages_;
    std::shared_ptr<ReadBuffers> buffers_ = std::make_shared<ReadBuffers>();
    std::shared_ptr<move::SharedClaims> claims_;  ///< with other ranks of this host; may be none
    std::uint32_t host_ = 0;                      ///< of the writer, in these
    std::atomic<std::uint64_t> bytes_from_neighbours_ = 0;
    host::Event woken_;
    bool next_follows_ = false;

    std::mutex data_mutex_;
    DataSource data_;  ///< once something is read
    unsigned data_way_ = 0;

    mutable std::mutex mutex_;  ///< of the connection, and of what came by it
    std::optional<move::SecureConnection> connection_;
    move::Endpoint endpoint_;              ///< that it goes to ...
    std::string interface_;                ///< ... by which of this host's
    unsigned way_ = 0;                     ///< how many connections there have been before
    std::int64_t looked_ns_ = 0;           ///< for another way ...
    std::optional<move::Endpoint> tried_;  ///< ... which was this
    std::set<std::uint64_t> holds_;        ///< steps that came and were not given back
    std::uint64_t came_ = 0;               ///< steps, ever
    bool joined_ = false;
    int asked_ = 0;                       ///< steps that were asked for and have not come
    std::optional<std::uint64_t> given_;  ///< that is this one, of those given out elsewhere ...
    bool gone_ = false;                   ///< ... which this host does not have
    std::deque<StepMessage> steps_;
    int steps_ahead_ = 4;  ///< that are asked for at a time, as the latest of them is large
    bool given_back_early_ = false;  ///< the writer needs no word of steps that came complete
    int incomplete_ = 0;             ///< steps in these hands that did not come so
    std::vector<DoneStep> done_;     ///< steps of which that word is still to be given
    std::optional<Arriving> arriving_;
    std::size_t arrived_ = 0;        ///< of that
    std::vector<PartAlong> wanted_;  ///< as the writer's host knows
    bool ended_ = false;
    std::optional<std::pair<std::string, std::string>> failure_;  ///< kind and message
    std::optional<StreamStatus> status_;
    Bearings bearings_;
    std::uint64_t bearings_after_ = 0;  ///< steps, of those that came
    std::string lost_;                  ///< how the connection ended; empty: it has not
    bool standby_may_serve_ = false;    ///< once it has, until that is known
    std::int64_t lost_ns_ = 0;          ///< when it was first looked for
    bool anew_ = false;                 ///< the next step is the first of another service ...
    unsigned services_ = 0;             ///< ... of so many before
    std::int64_t heard_ns_ = 0;
    std::uint64_t steps_taken_ = 0;

    std::atomic<std::int64_t> beat_ns_ = 0;
    std::unique_ptr<Heartbeat> heartbeat_;
    MadeHere made_;
};

}  // namespace fluvial::stage
