// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/striped_read.hpp"

#include <array>
#include <list>
#include <map>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/connection_fixture.hpp"
#include "fluvial/move/tcp_read.hpp"

using namespace fluvial;
using namespace fluvial::move;
using Side = SecureConnection::Side;

namespace {

const TestSeed seed(1717);
constexpr std::size_t rails_here = 3;
constexpr std::size_t region_bytes = 20'000'000;

/// A host that serves its memory over any number of connections, whose greeting is a number.
class Owner {
  public:
    explicit Owner(bool encrypt)
        : memory(3, region_bytes),
          encrypt_(encrypt),
          listener_({"127.0.0.1"}, 0, 0),
          thread_([this] { run(); }) {}
    ~Owner() {
        stop_ = true;
        thread_.join();
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    enum class Serves : int { Well, Slowly, Nothing, Cut };
    std::array<std::atomic<Serves>, rails_here> serves{};
    std::array<std::atomic<int>, rails_here> came{};  ///< connections
    std::atomic<bool> one_interface = false;          ///< all rails end at it
    std::atomic<std::int64_t> pause_ns = 4'000'000;   ///< of one that serves slowly
    std::atomic<bool> has_one_core = false;           ///< to go from rail to rail takes it time
    KnownMemory memory;
    bool encrypt() const { return encrypt_; }

    Rail::Way way(std::size_t number) {
        ByteWriter greeting;
        greeting.put(number);
        return {
            .interface = "here" + std::to_string(number),
            .connect =
                [this] {
                    return SecureConnection(TcpSocket::begin({"127.0.0.1", listener_.port()}),
                                            a_key(), Side::Client);
                },
            .greeting = greeting.take(),
            .interface_there = [](const Bytes& reply) { return ByteReader(reply).get_string(); }};
    }

  private:
    struct Client {
        std::optional<SecureConnection> visitor;
        std::size_t number = 0;
        std::unique_ptr<TcpRemoteServer> server;
        std::int64_t served_ns = 0;
    };
    void run() {
        while (!stop_) {
            while (auto socket = listener_.accept()) {
                const int little = 65536;
                ::setsockopt(socket->descriptor(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
                clients_.push_back(
                    {SecureConnection(std::move(*socket), a_key(), Side::Server), 0, nullptr, 0});
            }
            clients_.remove_if([this](Client& client) { return !serve(client); });
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    bool serve(Client& client) {
        try {
            if (client.visitor) {
                return greet(client);
            }
            const Serves how = serves[client.number];
            const bool due = now_ns() - client.served_ns > pause_ns;
            if (how == Serves::Well || (how == Serves::Slowly && due)) {
                client.served_ns = now_ns();
                client.server->advance(memory);
                const bool busy = client.server->sending();
                if (busy && std::exchange(last_, client.number) != client.number && has_one_core) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            }
            return how != Serves::Cut;
        } catch (const Error&) {
            return false;
        }
    }
    bool greet(Client& client) {
        const auto greeting = client.visitor->take();
        client.visitor->flush();
        if (greeting) {
            client.number = ByteReader(*greeting).get<std::size_t>();
            if (serves[client.number] == Serves::Cut) {
                return false;
            }
            ++came[client.number];
            ByteWriter out;
            out.put_string(one_interface ? "there" : "there" + std::to_string(client.number));
            client.visitor->post(out.view());
            client.visitor->flush();
            client.server = std::make_unique<TcpRemoteServer>(std::move(*client.visitor), encrypt_);
            client.visitor.reset();
        }
        return true;
    }

    bool encrypt_;
    std::size_t last_ = 0;  ///< that was served
    TcpListener listener_;
    std::list<Client> clients_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

/// What each interface brought.
struct Counts {
    std::map<std::string, std::uint64_t> bytes;
    std::uint64_t all() const {
        std::uint64_t sum = 0;
        for (const auto& [name, count] : bytes) {
            sum += count;
        }
        return sum;
    }
};

struct Striped {
    explicit Striped(Owner& owner, double patience_s = 10,
                     StripedReader::Use use = StripedReader::Use::AllRails)
        : reader(
              rails(owner), owner.encrypt(), patience_s,
              [this](const std::string& interface, std::uint64_t bytes) {
                  counts.bytes[interface] += bytes;
              },
              use) {}
    static std::vector<Rail> rails(Owner& owner) {
        std::vector<Rail> all;
        for (std::size_t number = 0; number < rails_here; ++number) {
            all.emplace_back(owner.way(number), owner.encrypt());
        }
        return all;
    }
    /// A whole region, many times, until `done`.
    template <class Done>
    void read_until(Done done) {
        const Deadline deadline(60);
        while (!done()) {
            REQUIRE_FALSE(deadline.passed());
            check_a_large_read(reader, region_bytes);
        }
    }
    bool all_came() const {
        return counts.bytes.size() == rails_here &&
               std::ranges::all_of(counts.bytes, [](const auto& one) { return one.second > 0; });
    }
    Counts counts;
    StripedReader reader;
};

RemoteBox one_byte(std::byte& to) {
    return {{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &to};
}

}  // namespace

TEST_CASE("several rails read what is exposed, as every transport") {
    for (const bool encrypt : {false, true}) {
        CAPTURE(encrypt);
        Owner owner(encrypt);
        Striped striped(owner);
        check_remote_reads(striped.reader, seed, 3, region_bytes);
        check_a_large_read(striped.reader, region_bytes);
        check_refusals(striped.reader);
    }
}

TEST_CASE("a large read comes over all rails, a small one over one") {
    Owner owner(false);
    Striped striped(owner);
    striped.read_until([&] { return striped.all_came(); });
    striped.counts.bytes.clear();
    std::vector<std::byte> some(200'000);
    const auto extent = static_cast<Index>(some.size());
    const RemoteBox box{{0, 0, some.size(), 0}, 1, {extent}, {{0}, {extent}}, some.data()};
    striped.reader.read(std::span(&box, 1), ignore_silence);
    CHECK(striped.counts.bytes["here0"] >= some.size());
    CHECK(striped.counts.bytes["here1"] + striped.counts.bytes["here2"] == 0);
}

TEST_CASE("a slow rail brings less, and what it still owes is not waited for") {
    Owner owner(false);
    Striped striped(owner);
    striped.read_until([&] { return striped.all_came(); });
    owner.serves[1] = Owner::Serves::Slowly;
    striped.counts.bytes.clear();
    for (int round = 0; round < 10; ++round) {
        check_a_large_read(striped.reader, region_bytes);
    }
    CHECK(striped.counts.bytes["here1"] > 0);
    CHECK(striped.counts.bytes["here1"] < striped.counts.all() / 6);
}

TEST_CASE("a rail that ends, or falls silent, gives its windows to the others, and comes back") {
    for (const auto how : {Owner::Serves::Cut, Owner::Serves::Nothing}) {
        for (const std::size_t which : {0, 2}) {
            CAPTURE(which);
            Owner owner(which == 0);
            Striped striped(owner);
            striped.read_until([&] { return striped.all_came(); });
            const int came = owner.came[which];
            std::thread fails([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                owner.serves[which] = how;
            });
            for (int round = 0; round < 5; ++round) {
                check_a_large_read(striped.reader, region_bytes);
            }
            fails.join();
            // Silence is a failure once it has lasted.
            striped.read_until([&, begin = now_ns()] { return now_ns() - begin > 2'500'000'000; });
            owner.serves[which] = Owner::Serves::Well;
            striped.read_until([&] { return owner.came[which] > came; });
            striped.counts.bytes.clear();
            striped.read_until([&] { return striped.all_came(); });
        }
    }
}

TEST_CASE("where several rails are slower than one, one is used; when it fails, others help") {
    for (const auto how : {Owner::Serves::Slowly, Owner::Serves::Cut, Owner::Serves::Nothing}) {
        Owner owner(false);
        owner.has_one_core = true;
        owner.pause_ns = 40'000'000;  // alone it would take longer than all on any machine
        Striped striped(owner, 10, StripedReader::Use::WhatIsFaster);
        striped.read_until([&] { return striped.all_came(); });
        int in_a_row = 0;
        std::string by;
        striped.read_until([&] {
            const auto alone = std::ranges::find_if(
                striped.counts.bytes, [&](const auto& one) { return one.second == region_bytes; });
            in_a_row = alone != striped.counts.bytes.end() ? in_a_row + 1 : 0;
            by = in_a_row > 0 ? alone->first : "";
            striped.counts.bytes.clear();
            return in_a_row == 6;
        });
        owner.serves[static_cast<std::size_t>(by.back() - '0')] = how;
        check_a_large_read(striped.reader, region_bytes);
        CHECK(striped.counts.all() >= region_bytes);
        CHECK(striped.counts.bytes[by] < region_bytes);
    }
}

TEST_CASE("rails that end at one interface of the owner count as one") {
    Owner owner(false);
    owner.one_interface = true;
    Striped striped(owner);
    striped.read_until([&] { return owner.came[0] + owner.came[1] + owner.came[2] == 3; });
    check_a_large_read(striped.reader, region_bytes);
    striped.counts.bytes.clear();
    check_a_large_read(striped.reader, region_bytes);
    CHECK(std::ranges::count_if(striped.counts.bytes,
                                [](const auto& one) { return one.second > 0; }) == 1);
}

TEST_CASE("when no rail stands any more, the read fails and says why, and so does the next") {
    Owner owner(false);
    Striped striped(owner, 0.5);
    check_a_large_read(striped.reader, region_bytes);
    for (auto& serves : owner.serves) {
        serves = Owner::Serves::Cut;
    }
    std::byte one{};
    const RemoteBox box = one_byte(one);
    const auto read = [&] { striped.reader.read(std::span(&box, 1), ignore_silence); };
    CHECK_THROWS_WITH_AS(read(), doctest::Contains("here1: "), PeerLost);
    CHECK_THROWS_WITH_AS(read(), doctest::Contains("here1: "), PeerLost);
    for (auto& serves : owner.serves) {
        serves = Owner::Serves::Well;
    }
    CHECK_NOTHROW(read());
}

TEST_CASE("a look that throws ends the read, and the next one is right") {
    Owner owner(false);
    Striped striped(owner);
    check_a_large_read(striped.reader, region_bytes);
    for (auto& serves : owner.serves) {
        serves = Owner::Serves::Nothing;
    }
    std::byte one{};
    const RemoteBox box = one_byte(one);
    const auto look = [](double silent_s) {
        if (silent_s > 0.2) {
            throw PeerStalled("it is silent");
        }
    };
    CHECK_THROWS_AS(striped.reader.read(std::span(&box, 1), look), PeerStalled);
    for (auto& serves : owner.serves) {
        serves = Owner::Serves::Well;
    }
    check_remote_reads(striped.reader, seed + 1, 3, region_bytes);
    check_a_large_read(striped.reader, region_bytes);
}
