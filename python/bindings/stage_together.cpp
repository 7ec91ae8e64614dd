// SPDX-License-Identifier: Apache-2.0
#include "stage_together.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "attributes.hpp"
#include "compute.hpp"
#include "stage_handles.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using stage::NamedArray;

/// Memory of one writer rank that arrays look at; it stays as long as one of them does.
struct LentMemory {
    const std::byte* begin;
    const std::byte* end;
    std::shared_ptr<const void> owner;
};

int lend(PyObject* object, Py_buffer* buffer, int flags) {
    const auto* memory = nb::inst_ptr<LentMemory>(object);
    return PyBuffer_FillInfo(buffer, object, const_cast<std::byte*>(memory->begin),
                             memory->end - memory->begin, 1, flags);
}

PyType_Slot lent_memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(lend)}, {0, nullptr}};

/// The chunk that is the whole dataset, where this process sees it.
const Chunk* only_chunk(const DatasetDescription& dataset) {
    if (dataset.chunks.size() != 1) {
        return nullptr;
    }
    const Chunk& chunk = dataset.chunks.front();
    return chunk.here() != nullptr && chunk.region.extent == dataset.shape ? &chunk : nullptr;
}

/// Makes read-only NumPy arrays that look at whole chunks of a step: cheaper than through DLPack,
/// because the arrays of one rank share an owner, and those of one dtype and extent what says so.
class Views {
  public:
    Views() : make_(nb::module_::import_("numpy").attr("ndarray")) {}

    /// `chunk` will be looked at.
    void announce(const Chunk& chunk, DType dtype) {
        const std::byte* const begin = chunk.here();
        const std::uint64_t bytes = bytes_of(chunk, dtype);
        const auto [at, fresh] = memory_.try_emplace(chunk.rank, Memory{begin, begin + bytes, {}});
        at->second.begin = std::min(at->second.begin, begin);
        at->second.end = std::max(at->second.end, begin + bytes);
        bytes_ += bytes;
    }
    /// From now on the memory of all announced chunks is there.
    void hold(const stage::ReadStep& step) {
        if (memory_.empty()) {
            return;
        }
        const auto owner = step.hold(bytes_);
        for (auto& [rank, memory] : memory_) {
            memory.lent = nb::cast(LentMemory{memory.begin, memory.end, owner});
        }
    }
    nb::object array(const Chunk& chunk, DType dtype) {
        const Memory& memory = memory_.at(chunk.rank);
        const nb::object offset = nb::int_(chunk.here() - memory.begin);
        PyObject* const given[] = {nullptr, shape_of(chunk.region.extent), dtype_of(dtype),
                                   memory.lent.ptr(), offset.ptr()};
        return nb::steal(PyObject_Vectorcall(make_.ptr(), given + 1,
                                             4 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    }

  private:
    struct Memory {
        const std::byte* begin;
        const std::byte* end;
        nb::object lent;
    };
    PyObject* shape_of(const Coordinates& extent) {
        if (!shape_.is_valid() || !(extent == extent_)) {
            shape_ = to_tuple(extent);
            extent_ = extent;
        }
        return shape_.ptr();
    }
    PyObject* dtype_of(DType dtype) {
        if (!dtype_.is_valid() || dtype != of_) {
            dtype_ = nb::module_::import_("numpy").attr("dtype")(std::string(name_of(dtype)));
            of_ = dtype;
        }
        return dtype_.ptr();
    }

    nb::object make_, shape_, dtype_;
    Coordinates extent_;
    DType of_ = DType::UInt8;
    std::map<int, Memory> memory_;  ///< by rank
    std::uint64_t bytes_ = 0;
};

/// Finds datasets by name: at once where they are asked for in the order in which the step has
/// them, as most are.
class Search {
  public:
    explicit Search(const stage::ReadStep& step)
        : step_(step), next_(step.descriptions().begin()) {}
    /// Throws as ReadStep::dataset.
    const DatasetDescription& operator()(nb::handle named) {
        Py_ssize_t bytes = 0;
        const char* const characters =
            PyUnicode_Check(named.ptr()) ? PyUnicode_AsUTF8AndSize(named.ptr(), &bytes) : nullptr;
        const std::string_view name(characters, static_cast<std::size_t>(bytes));
        const auto& all = step_.descriptions();
        if (characters == nullptr || next_ == all.end() || next_->first != name) {
            PyErr_Clear();
            const std::string text = to_text(named, "the name of a dataset");
            next_ = all.find(text);
            if (next_ == all.end()) {
                step_.dataset(text);  // throws
            }
        }
        return (next_++)->second;
    }

  private:
    const stage::ReadStep& step_;
    std::map<std::string, DatasetDescription>::const_iterator next_;
};

/// What is read of each dataset: `cut` tells for a shape the hyperslab, and which axes of it go.
class Cut {
  public:
    explicit Cut(nb::handle cut) : cut_(nb::borrow(cut)) {}
    const std::optional<Selection>& of(const Coordinates& shape) {
        if (!cut_.is_none() && !(selected_ && shape == shape_)) {
            const nb::object found = cut_(to_tuple(shape));
            selected_ = to_selection(found[0]);
            dropped_ = found[1];
            shape_ = shape;
        }
        return selected_;
    }
    nb::object dropped(nb::object array) const {
        return cut_.is_none() ? array : nb::object(array[dropped_]);
    }

  private:
    nb::object cut_, dropped_;
    Coordinates shape_;
    std::optional<Selection> selected_;
};

bool has_any(const Attributes& attributes, const std::vector<std::string>& names) {
    return !attributes.empty() && std::any_of(names.begin(), names.end(), [&](const auto& name) {
        return attributes.count(name) != 0;
    });
}

}  // namespace

void put_together(stage::WriteStep& step, nb::dict arrays, nb::handle offset, nb::handle shape,
                  nb::dict attributes) {
    std::vector<nb::object> names;  // a thread that changes the dict meanwhile takes nothing away
    std::vector<BorrowedArray> borrowed;
    std::vector<Attributes> own(attributes.size());
    std::vector<NamedArray> named;
    names.reserve(arrays.size());
    borrowed.reserve(arrays.size());
    named.reserve(arrays.size());
    std::size_t used = 0;
    for (const auto& [name, array] : arrays) {
        Py_ssize_t bytes = 0;
        const char* const characters =
            PyUnicode_Check(name.ptr()) ? PyUnicode_AsUTF8AndSize(name.ptr(), &bytes) : nullptr;
        if (characters == nullptr) {
            PyErr_Clear();
            to_text(name, "the name of the dataset");
        }
        names.push_back(nb::borrow(name));
        borrowed.emplace_back(array);
        named.push_back(
            {{characters, static_cast<std::size_t>(bytes)}, &borrowed.back().view(), nullptr});
        if (!own.empty() && attributes.contains(name)) {
            own.at(used) = nb::cast<Attributes>(attributes[name]);
            named.back().attributes = &own[used++];
        }
    }
    std::optional<Coordinates> at, global;
    if (!offset.is_none()) {
        at = to_coordinates(offset, "offset");
    }
    if (!shape.is_none()) {
        global = to_coordinates(shape, "shape");
    }
    const nb::gil_scoped_release release;
    step.put(named, at, global);
}

nb::dict read_together(const stage::ReadStep& step, nb::list names, nb::handle cut,
                       const std::vector<std::string>& telling) {
    Cut selection(cut);
    Search search(step);
    Views views;
    std::vector<std::pair<nb::object, const DatasetDescription*>> found;
    found.reserve(names.size());
    for (const nb::handle name : names) {
        const DatasetDescription& dataset = search(name);
        found.emplace_back(nb::borrow(name), &dataset);
        if (const Chunk* const chunk = cut.is_none() ? only_chunk(dataset) : nullptr) {
            views.announce(*chunk, dataset.dtype);
        }
    }
    views.hold(step);
    nb::dict out;
    for (const auto& each : found) {
        const nb::object& name = each.first;
        const DatasetDescription* const dataset = each.second;
        if (has_any(dataset->attributes, telling)) {
            out[name] = nb::none();
        } else if (const Chunk* const chunk = cut.is_none() ? only_chunk(*dataset) : nullptr) {
            out[name] = views.array(*chunk, dataset->dtype);
        } else {
            const std::optional<Selection>& selected = selection.of(dataset->shape);
            stage::Data data = without_gil([&] {
                const stage::StagedDataset staged = step.dataset(dataset->name);
                return selected ? staged.read(*selected) : staged.read();
            });
            out[name] =
                selection.dropped(share_with_numpy(data.view, std::move(data.owner), data.copied));
        }
    }
    return out;
}

void bind_lent_memory(nb::module_& m) {
    nb::class_<LentMemory>(m, "LentMemory", nb::type_slots(lent_memory_slots));
}

}  // namespace fluvial::python
