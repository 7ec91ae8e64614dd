// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/standstill.hpp"

#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::progress {

void Standstill::take(const Mail& mail) {
    if (mail.kind == MailKind::Asked) {
        asked_.push_back(mail);
        return;
    }
    ByteReader in(mail.bytes);
    if (in.get<std::uint64_t>() != round_ || missing_ == 0) return;
    told_[static_cast<std::size_t>(mail.from)] = in.get<Movement>();
    --missing_;
}

void Standstill::answer(const Movement& mine) {
    for (const Mail& mail : std::exchange(asked_, {})) {
        ByteWriter out;
        out.put(ByteReader(mail.bytes).get<std::uint64_t>());
        out.put(mine);
        mailbox_.post(mail.from, MailKind::Told, 0, out.view());
    }
}

bool Standstill::found(const Movement& mine) {
    if (missing_ > 0) return false;
    if (told_.empty()) {
        ask();
        return false;
    }
    told_[static_cast<std::size_t>(rank_)] = mine;
    std::int64_t elements = 0;
    std::int64_t letters = 0;
    for (const Movement& movement : told_) {
        elements += movement.elements;
        letters += movement.letters;
    }
    if (before_ && *before_ == told_ && elements == 0 && letters == 0) return true;
    before_ = std::move(told_);
    ask();
    return false;
}

void Standstill::ask() {
    ++round_;
    told_.assign(static_cast<std::size_t>(ranks_), {});
    missing_ = ranks_ - 1;
    ByteWriter out;
    out.put(round_);
    for (int other = 0; other < ranks_; ++other) {
        if (other != rank_) mailbox_.post(other, MailKind::Asked, 0, out.view());
    }
}

}  // namespace fluvial::progress
