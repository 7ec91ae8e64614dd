// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/messages.hpp"

namespace fluvial::flow {

void Order::write_run(ByteWriter& out, TaskId task, std::uint32_t function, TeamNumber team,
                      Keeps keeps, bool fresh, const std::vector<View>& inputs) {
    out.put(Word::Run);
    out.put(task);
    out.put(function);
    out.put(team);
    out.put<std::uint32_t>(static_cast<std::uint32_t>(inputs.size()));
    out.put(keeps);
    out.put(fresh);
    for (const View& input : inputs) {
        out.put<std::int32_t>(input.keeper);
        if (input.keeper >= 0) {
            out.put(input.task);
        } else {
            out.put_block(input.bytes.data(), input.bytes.size());
        }
    }
}

void Order::write_make(ByteWriter& out, TeamNumber team, const std::vector<int>& ranks) {
    out.put(Word::Make);
    out.put(team);
    out.put_vector(ranks);
}

void Order::write_free(ByteWriter& out, TeamNumber team) {
    out.put(Word::Free);
    out.put(team);
}

void Order::write_lost(ByteWriter& out, int rank) {
    out.put(Word::Lost);
    out.put_vector(std::vector{rank});
}

void Order::write_give(ByteWriter& out, TaskId task, int to, int tag) {
    out.put(Word::Give);
    out.put(task);
    out.put<std::int32_t>(to);
    out.put<std::int32_t>(tag);
}

void Order::write_drop(ByteWriter& out, TaskId task) {
    out.put(Word::Drop);
    out.put(task);
}

void Order::write_cancel(ByteWriter& out, TaskId task) {
    out.put(Word::Cancel);
    out.put(task);
}

void Order::write_back(ByteWriter& out, TaskId task) {
    out.put(Word::Back);
    out.put(task);
}

void Order::write_stop(ByteWriter& out, bool any_lost) {
    out.put(Word::Stop);
    out.put(any_lost);
}

Order Order::read(ByteReader& in) {
    Order order;
    order.word = in.get<Word>();
    switch (order.word) {
        case Word::Run: {
            order.task = in.get<TaskId>();
            order.function = in.get<std::uint32_t>();
            order.team = in.get<TeamNumber>();
            order.inputs.resize(in.get<std::uint32_t>());
            order.keeps = in.get<Keeps>();
            order.fresh = in.get<bool>();
            for (Input& input : order.inputs) {
                input.keeper = in.get<std::int32_t>();
                if (input.keeper >= 0) {
                    input.task = in.get<TaskId>();
                } else {
                    const auto block = in.get_block();
                    input.bytes.assign(block.begin(), block.end());
                }
            }
            break;
        }
        case Word::Make:
            order.team = in.get<TeamNumber>();
            order.ranks = in.get_vector<int>();
            break;
        case Word::Free:
            order.team = in.get<TeamNumber>();
            break;
        case Word::Give:
            order.task = in.get<TaskId>();
            order.ranks = {in.get<std::int32_t>()};
            order.tag = in.get<std::int32_t>();
            break;
        case Word::Drop:
        case Word::Cancel:
        case Word::Back:
            order.task = in.get<TaskId>();
            break;
        case Word::Lost:
            order.ranks = in.get_vector<int>();
            break;
        default:
            order.any_lost = in.get<bool>();
    }
    return order;
}

void Report::write(ByteWriter& out) const {
    out.put(word);
    out.put(task);
    out.put(began_ns);
    out.put(took_s);
    out.put(failure.has_value());
    out.put(continues);
    out.put(kept);
    out.put_block(result.data(), result.size());
    if (failure) {
        failure->write(out);
    }
}

Report Report::read(ByteReader& in) {
    Report report;
    report.word = in.get<Word>();
    report.task = in.get<TaskId>();
    report.began_ns = in.get<std::int64_t>();
    report.took_s = in.get<double>();
    const bool failed = in.get<bool>();
    report.continues = in.get<bool>();
    report.kept = in.get<bool>();
    const auto result = in.get_block();
    report.result.assign(result.begin(), result.end());
    if (failed) {
        report.failure = TaskFailure::read(in);
    }
    return report;
}

}  // namespace fluvial::flow
