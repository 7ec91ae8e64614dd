// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/stream_operation.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace fluvial::c {
namespace {

constexpr std::size_t folded_bytes = 64 * 1024;  ///< of elements in one go, so that they stay near

/// Each element by itself, as items of the process type.
class ElementFunction final : public CombinedOperation {
  public:
    ElementFunction(std::shared_ptr<const StreamTypes> all, MPI_User_function* function)
        : CombinedOperation(std::move(all)), function_(function) {
        if (!types().process.contiguous()) {
            laid_out_.emplace(types().process, static_cast<std::size_t>(types().length));
        }
        call(nullptr, 0);
        set_known();
    }

  private:
    void call(const void* in, int length) {
        MPI_Datatype type = types().process.handle();
        function_(const_cast<void*>(in), local().address(), &length, &type);
    }
    void take(const std::byte* elements, std::size_t count) override {
        const std::size_t bytes = types().element.bytes();
        const int length = types().length;
        for (std::size_t i = 0; i < count; ++i, elements += bytes) {
            if (laid_out_) {
                laid_out_->unpack(elements);
                call(laid_out_->address(), length);
            } else {
                call(elements, length);
            }
        }
    }

    MPI_User_function* function_;
    std::optional<TypedMemory> laid_out_;  ///< an element, where the process type has gaps
};

class BatchFunction final : public CombinedOperation {
  public:
    BatchFunction(std::shared_ptr<const StreamTypes> all, MPIStream_Batch_function function,
                  void* context)
        : CombinedOperation(std::move(all)), function_(function), context_(context) {
        take(nullptr, 0);
        set_known();
    }

  private:
    void take(const std::byte* elements, std::size_t count) override {
        const int code =
            function_(elements, static_cast<long long>(count), local().address(), context_);
        if (code != 0) {
            throw Error(Problem{"the batch function of a stream has failed", text(code), "0", ""});
        }
    }

    MPIStream_Batch_function function_;
    void* context_;
};

/// An MPI_Op on elements and result, item by item. Many small elements are folded by halves.
class Elementwise final : public CombinedOperation {
  public:
    Elementwise(std::shared_ptr<const StreamTypes> all, MPI_Op op, mpi::PackedType item)
        : CombinedOperation(std::move(all)),
          op_(op),
          item_(std::move(item)),
          items_(types().element.bytes() / item_.bytes()),
          at_once_(std::max<std::size_t>(folded_bytes / types().element.bytes(), 1)),
          incoming_(item_, items_ * at_once_),
          total_(item_, items_),
          packed_(types().element.bytes()) {
        const MPI_Op from_zero[] = {MPI_SUM, MPI_LOR, MPI_LXOR, MPI_BOR, MPI_BXOR};
        if (std::find(std::begin(from_zero), std::end(from_zero), op) != std::end(from_zero)) {
            set_known();
        }
    }

  private:
    void take(const std::byte* elements, std::size_t count) override {
        while (count > 0) {
            const std::size_t now = std::min(count, at_once_);
            fold(elements, now);
            elements += now * types().element.bytes();
            count -= now;
        }
        total_.pack(packed_.data());
        local().unpack(packed_.data());
    }

    void fold(const std::byte* elements, std::size_t count) {
        if (item_.contiguous()) {
            std::memcpy(incoming(0), elements, count * types().element.bytes());
        } else {
            for (std::size_t i = 0; i < count * items_; ++i) {
                item_.unpack(elements + i * item_.bytes(), incoming(i));
            }
        }
        while (count > 1) {
            const std::size_t half = count / 2;
            reduce(incoming((count - half) * items_), incoming(0), half * items_);
            count -= half;
        }
        if (known()) {
            reduce(incoming(0), total_.address(), items_);
            return;
        }
        for (std::size_t i = 0; i < items_; ++i) {
            item_.pack(incoming(i), packed_.data() + i * item_.bytes());
        }
        total_.unpack(packed_.data());
        set_known();
    }

    void reduce(const void* in, void* inout, std::size_t items) const {
        mpi::reduce_local(in, inout, static_cast<int>(items), item_.handle(), op_);
    }
    std::byte* incoming(std::size_t i) {
        return static_cast<std::byte*>(incoming_.address()) +
               static_cast<std::ptrdiff_t>(i) * item_.extent();
    }

    MPI_Op op_;
    mpi::PackedType item_;
    std::size_t items_;    ///< of an element
    std::size_t at_once_;  ///< elements that are folded by halves
    TypedMemory incoming_, total_;
    std::vector<std::byte> packed_;
};

std::unique_ptr<CombinedOperation> make_elementwise(std::shared_ptr<const StreamTypes> types,
                                                    MPI_Op op, const mpi::Comm& comm) {
    const MPI_Datatype own = mpi::only_item(types->element.handle());
    const bool predefined = mpi::is_predefined(op);
    const MPI_Datatype item = predefined ? own : types->process.handle();
    if (types->element.bytes() != types->result.bytes() ||
        own != mpi::only_item(types->result.handle())) {
        throw InvalidArgument(Problem{
            "an MPI_Op as intermediate function needs a result like an "
            "element",
            text(types->result.bytes(), " bytes a result, ", types->element.bytes(), " an element"),
            "types that consist of the same items", ""});
    }
    if (!mpi::can_reduce(op, item) || !mpi::commutes(op)) {
        throw InvalidArgument(Problem{"this MPI_Op cannot be the intermediate function of a stream",
                                      predefined
                                          ? "one that MPI does not define for the elements' type"
                                          : "one that does not commute",
                                      "operations that commute, on types that they are for", ""});
    }
    return std::make_unique<Elementwise>(std::move(types), op, mpi::PackedType(item, comm));
}

}  // namespace

TravellingResult::TravellingResult(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    elements = in.get<std::uint64_t>();
    known = in.get<std::uint8_t>() != 0;
    packed = in.get_block();
}

CombinedOperation::CombinedOperation(std::shared_ptr<const StreamTypes> types)
    : types_(std::move(types)), local_(types_->result, 1) {}

void CombinedOperation::absorb(const stream::Batch& batch) {
    const std::size_t count = batch.bytes / types_->element.bytes();
    if (count > 0) {
        take(batch.data, count);
        elements_ += count;
    }
}

void CombinedOperation::finish_local() {
    if (types_->combination.at_end != nullptr) {
        int length = 0;
        MPI_Datatype type = types_->result.handle();
        types_->combination.at_end(nullptr, local_.address(), &length, &type);
    }
    *last_ = partial();
}

std::vector<std::byte> CombinedOperation::partial() const {
    ByteWriter out;
    out.put(elements_);
    out.put<std::uint8_t>(known_);
    std::vector<std::byte> packed(local_.packed_bytes());
    local_.pack(packed.data());
    out.put_block(packed.data(), packed.size());
    return out.take();
}

std::vector<std::byte> CombinedOperation::merge(std::vector<std::byte> a,
                                                std::span<const std::byte> b) const {
    const TravellingResult lower(a), higher(b);
    const Combination& how = types_->combination;
    if (lower.packed.size() != higher.packed.size() ||
        lower.packed.size() != types_->result.bytes()) {
        throw InvalidArgument(Problem{"the result types of a stream differ between its consumers",
                                      text(higher.packed.size(), " bytes"),
                                      text(types_->result.bytes(), " bytes"), ""});
    }
    if (how.op == MPI_OP_NULL) {
        return a;  // the first consumer's own, of its elements alone
    }
    std::vector<std::byte> packed(lower.packed.begin(), lower.packed.end());
    if (!lower.known) {
        packed.assign(higher.packed.begin(), higher.packed.end());
    } else if (higher.known) {
        TypedMemory in(how.item, how.items), inout(how.item, how.items);
        in.unpack(lower.packed.data());
        inout.unpack(higher.packed.data());
        mpi::reduce_local(in.address(), inout.address(), inout.count(), how.item.handle(), how.op);
        inout.pack(packed.data());
    }
    ByteWriter out;
    out.put(lower.elements + higher.elements);
    out.put<std::uint8_t>(lower.known || higher.known);
    out.put_block(packed.data(), packed.size());
    return out.take();
}

std::unique_ptr<CombinedOperation> make_operation(std::shared_ptr<const StreamTypes> types,
                                                  MPI_User_function* intermediate,
                                                  const MPIStream_Options& options,
                                                  const mpi::Comm& comm) {
    const Combination& combination = types->combination;
    const std::string terminal = text(
        ", terminal ", combination.at_end != nullptr ? "a function" : mpi::name_of(combination.op),
        options.functions != nullptr ? text(", functions '", options.functions, "'") : "");
    const auto described = [&](std::unique_ptr<CombinedOperation> work, const char* kind) {
        work->set_description(text("intermediate ", kind, terminal));
        return work;
    };
    if (options.batch != nullptr) {
        return described(
            std::make_unique<BatchFunction>(std::move(types), options.batch, options.batch_context),
            "a batch function");
    }
    if (intermediate == nullptr) {
        throw InvalidArgument(Problem{"the intermediate function of a stream is missing",
                                      "a null pointer", "a function of MPI_User_function type",
                                      "For an MPI_Op call MPIStream_Elementwise"});
    }
    if (const MPI_Op op = elementwise_op(intermediate); op != MPI_OP_NULL) {
        return described(make_elementwise(std::move(types), op, comm), mpi::name_of(op));
    }
    return described(make_element_function(std::move(types), intermediate), "a function");
}

std::unique_ptr<CombinedOperation> make_element_function(std::shared_ptr<const StreamTypes> types,
                                                         MPI_User_function* function) {
    return std::make_unique<ElementFunction>(std::move(types), function);
}

}  // namespace fluvial::c
