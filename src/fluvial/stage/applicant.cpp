// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/error.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/proof.hpp"

namespace fluvial::stage {
namespace {

void check_end(const ByteReader& in, const char* what) {
    if (!in.done()) {
        throw Error(Problem{"a message of the handshake is too long", what, "",
                            "Install the same version of Fluvial for both jobs"});
    }
}

}  // namespace

void check_request(const AttachRequest& request) {
    if (request.role > Role::Standby || request.start > Start::Observe ||
        (request.start == Start::Observe && request.size != 1) || request.full < -1 ||
        request.full > number_of(FullPolicy::Spill)) {
        throw Error(
            "a request to attach makes no sense; install the same version of Fluvial for "
            "both jobs");
    }
}

Applicant::Applicant(host::LocalSocket socket, double timeout_s)
    : socket_(std::move(socket)), came_ns_(now_ns()), deadline_(timeout_s) {}

void Applicant::challenge(const Bytes& hello, const Key& key) {
    ByteReader in(hello);
    if (in.get<std::uint32_t>() != handshake_protocol) {
        throw Error(
            "the two jobs use different versions of Fluvial; install the same one for both");
    }
    client_ = in.get<Nonce>();
    check_end(in, "the first");
    server_ = new_nonce();
    ByteWriter out;
    out.put(Verdict::Good);
    out.put(server_);
    out.put(prove(key, Side::Server, client_, server_));
    socket_.post(out.view());
    state_ = State::Challenged;
}

void Applicant::check_response(const Bytes& response, const Key& key) {
    ByteReader in(response);
    check_proof(in.get<Proof>(), prove(key, Side::Client, client_, server_));
    request_ = in.get<AttachRequest>();
    check_end(in, "the response");
    check_request(request_);
    state_ = State::Proven;
}

std::optional<TrustedRequest> Applicant::advance(const Key& key) {
    while (auto message = socket_.take(proven() && !answered() ? 1 : 0)) {
        if (state_ == State::New) {
            challenge(message->bytes, key);
        } else if (state_ == State::Challenged) {
            check_response(message->bytes, key);
            if (request_.role != Role::WriterRank) {
                return TrustedRequest{request_, std::nullopt};
            }
            socket_.allow_descriptors();
            ByteWriter out;
            out.put(Verdict::GoOn);
            socket_.post(out.view());
        } else if (state_ == State::Proven && message->descriptors.size() == 1) {
            return TrustedRequest{request_, std::move(message->descriptors.front())};
        } else {
            throw Error("a client says what it was not asked for");
        }
    }
    return std::nullopt;
}

void Applicant::reply(const AttachReply& reply, const std::vector<int>& descriptors) {
    ByteWriter out;
    out.put(Verdict::Good);
    out.put(reply);
    socket_.post(out.view(), descriptors);
    state_ = State::Answered;
}

void Applicant::refuse(const std::string& kind, const std::string& message) {
    ByteWriter out;
    out.put(Verdict::Error);
    out.put_string(kind);
    out.put_string(message);
    socket_.post(out.view());
    state_ = State::Answered;
}

void Applicant::turn_away() {
    ByteWriter out;
    out.put(Verdict::ComeAgain);
    socket_.post(out.view());
    state_ = State::Answered;
}

}  // namespace fluvial::stage
