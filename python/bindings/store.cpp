// SPDX-License-Identifier: Apache-2.0
#include <span>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attributes.hpp"
#include "compute.hpp"
#include "fluvial/store/chunk_decoder.hpp"
#include "fluvial/store/chunk_packer.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/hdf5_signature.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/progress_mark.hpp"
#include "fluvial/store/raw.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using store::Dataset;
using store::File;

/// nanobind holds objects without const; files and datasets have const methods only.
template <class T>
std::shared_ptr<T> shared(std::shared_ptr<const T> object) {
    return std::const_pointer_cast<T>(std::move(object));
}

nb::dict to_dict(const store::Affine& layout) {
    nb::dict out;
    out["kind"] = "affine";
    out["offset"] = layout.offset;
    out["strides"] = to_tuple(layout.strides);
    out["swapped"] = layout.swapped;
    return out;
}

nb::dict to_dict(const store::Chunked& layout) {
    nb::list filters;
    for (const store::Filter& filter : layout.filters) {
        filters.append(store::name_of(filter.kind));
    }
    nb::dict out;
    out["kind"] = "chunked";
    out["chunk"] = to_tuple(layout.chunk);
    out["filters"] = nb::tuple(filters);
    out["swapped"] = layout.swapped;
    return out;
}

nb::dict to_dict(const store::ByLibrary& layout) {
    nb::dict out;
    out["kind"] = "by library";
    out["why"] = layout.why;
    out["granule"] = to_tuple(layout.granule);
    return out;
}

nb::object read(const Dataset& dataset, nb::handle start, nb::handle count) {
    const Region region{to_coordinates(start, "start"), to_coordinates(count, "count")};
    check_inside(region, dataset.shape(), text("region of '", dataset.name(), "'"));
    auto values = std::make_unique<compute::Array>();
    {
        const nb::gil_scoped_release release;
        *values = compute::Array(dataset.dtype(), region.extent);
        dataset.read(region, {values->bytes.data(), values->dtype, values->shape,
                              contiguous_strides(values->shape, size_of(values->dtype))});
    }
    std::size_t shape[ndim_max];
    std::copy(values->shape.begin(), values->shape.end(), shape);
    void* const data = values->bytes.data();
    const auto ndim = static_cast<std::size_t>(values->shape.size());
    const nb::capsule owner(values.release(),
                            [](void* p) noexcept { delete static_cast<compute::Array*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy>(data, ndim, shape, owner, nullptr, dlpack_dtype(dataset.dtype())));
}

void bind_dataset(nb::module_& m) {
    nb::class_<Dataset>(m, "FileDataset", "A dataset of one file.")
        .def_prop_ro("name", &Dataset::name)
        .def_prop_ro("path", [](const Dataset& d) { return d.bytes().path(); })
        .def_prop_ro("dtype", [](const Dataset& d) { return std::string(name_of(d.dtype())); })
        .def_prop_ro("shape", [](const Dataset& d) { return to_tuple(d.shape()); })
        .def_prop_ro("dimensions", &Dataset::dimensions,
                     "A name an axis, empty where there is none.")
        .def_prop_ro("attributes", &Dataset::attributes)
        .def_prop_ro(
            "constant", &Dataset::constant,
            "What all elements are, where the file has one value instead of them; or None.")
        .def_prop_ro(
            "layout",
            [](const Dataset& d) {
                return std::visit([](const auto& layout) { return to_dict(layout); }, d.layout());
            },
            "Where its bytes lie and how they are encoded: a dict whose 'kind' is 'affine' "
            "(offset, "
            "strides, swapped), 'chunked' (chunk, filters, swapped) or 'by library' (why, "
            "granule).")
        .def("read", &read, "start"_a, "count"_a,
             "The elements of a region in native byte order. Local.")
        .def_prop_ro("unlimited", &Dataset::unlimited,
                     "Whether it may become longer, an entry an axis; or [].")
        .def(
            "is_stored",
            [](const Dataset& d, nb::handle start, nb::handle count) {
                const Region region{to_coordinates(start, "start"), to_coordinates(count, "count")};
                const nb::gil_scoped_release release;
                return d.is_stored(region);
            },
            "start"_a, "count"_a,
            "Whether all chunks of a region were written, as the file's index says now. Local.");
}

void bind_file(nb::module_& m) {
    nb::class_<File>(m, "File", "A file and what is in it.")
        .def_prop_ro("path", &File::path)
        .def_prop_ro("format", &File::format)
        .def_prop_ro("attributes", &File::attributes)
        .def_prop_ro(
            "dimensions",
            [](const File& f) {
                nb::list out;
                for (const store::Dimension& dimension : f.dimensions()) {
                    out.append(
                        nb::make_tuple(dimension.name, dimension.length, dimension.unlimited));
                }
                return out;
            },
            "(name, length, unlimited) of each.")
        .def_prop_ro("names", &File::names)
        .def_prop_ro("unreadable", &File::unreadable,
                     "Why datasets cannot be opened, by name: those that are damaged.")
        .def_prop_ro("left_out", &File::left_out,
                     "Why what else is stored is no dataset, by name: text, compound types.")
        .def_prop_ro("groups", &File::groups, "Paths of the groups below the root.")
        .def_prop_ro("grows", &File::grows,
                     "Whether a program was writing it when it was opened, for others to read.")
        .def(
            "group_attributes",
            [](const File& f, nb::handle group) {
                return f.group_attributes(to_text(group, "the path of a group"));
            },
            "group"_a.none(), "Attributes of a group. Local.")
        .def_prop_ro("is_openpmd", &store::is_openpmd)
        .def(
            "dataset",
            [](const File& f, nb::handle name) {
                return shared(f.dataset(to_text(name, "the name of a dataset")));
            },
            "name"_a.none());
    m.def(
        "open_file",
        [](const std::string& path) {
            const nb::gil_scoped_release release;
            return shared(store::open_file(path));
        },
        "path"_a, "Opens a file by its first bytes. Local.");
    m.def(
        "iterations_of",
        [](const std::shared_ptr<File>& file) {
            std::vector<std::pair<std::uint64_t, std::shared_ptr<File>>> found;
            for (const store::Iteration& iteration : store::iterations_of(file)) {
                found.emplace_back(iteration.index, shared(iteration.contents));
            }
            return found;
        },
        "file"_a, "(index, contents) of each iteration of an openPMD file. Local.");
}

void bind_packing(nb::module_& m) {
    using Elements = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    m.def(
        "pack_chunk",
        [](const Elements& elements, std::size_t element_bytes, int level) {
            store::ChunkPacker::Packed packed;
            {
                const nb::gil_scoped_release release;
                packed = store::ChunkPacker(level).pack(
                    std::as_bytes(std::span(elements.data(), elements.size())), element_bytes);
            }
            return nb::make_tuple(nb::bytes(packed.bytes.data(), packed.bytes.size()),
                                  packed.filters_left_out);
        },
        "elements"_a, "element_bytes"_a, "level"_a,
        "A chunk's bytes shuffled and deflated, and the filters that were left out because they "
        "gain nothing, as HDF5 has it: bit i for filter i. Local.");
}

const char* name_of(store::Progress::Writer writer) {
    switch (writer) {
        case store::Progress::Writer::Writes:
            return "writes";
        case store::Progress::Writer::Gone:
            return "gone";
        case store::Progress::Writer::None:
            break;
    }
    return "none";
}

const char* name_of(store::Hdf5Writer writer) {
    switch (writer) {
        case store::Hdf5Writer::Alone:
            return "alone";
        case store::Hdf5Writer::WithReaders:
            return "with readers";
        case store::Hdf5Writer::None:
            return "none";
        case store::Hdf5Writer::Unknown:
            break;
    }
    return "unknown";
}

/// A mark with what is being changed, between two calls.
struct ChangingMark {
    explicit ChangingMark(const std::string& name) : mark(name) {}
    store::ProgressMark mark;
    std::optional<store::ProgressMark::Changing> changing{};
};

struct EndedRest {
    explicit EndedRest(const std::string& name) { rest.emplace(name); }
    std::optional<store::WriterRests> rest{};
};

void bind_progress(nb::module_& m) {
    const auto released = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<ChangingMark>(m, "ProgressMark",
                             "What a writer of files leaves beside them for those that follow it.")
        .def(nb::init<const std::string&>(), "name"_a)
        .def(
            "begin_change", [](ChangingMark& m) { m.changing.emplace(m.mark); }, released,
            "What says what is in the files may not be whole now. Waits, at most a second, for a "
            "follower that has asked for a rest.")
        .def(
            "end_change", [](ChangingMark& m) { m.changing.reset(); }, "It is whole again.")
        .def(
            "finish", [](ChangingMark& m, std::uint64_t number) { m.mark.finish(number); },
            "number"_a, "Notes a step that is finished.")
        .def(
            "fail", [](ChangingMark& m, const std::string& why) { m.mark.fail(why); }, "why"_a,
            "Says that no step will follow, though the files are not what they were to be.")
        .def(
            "close", [](ChangingMark& m) { m.mark.close(); },
            "Says that no step follows. Idempotent.");
    nb::class_<EndedRest>(m, "WriterRests",
                          "Until its end, a writer begins no change, for up to a second.")
        .def(nb::init<const std::string&>(), "name"_a, released)
        .def("end", [](EndedRest& r) { r.rest.reset(); }, "The writer may go on.");
    m.def(
        "progress_of",
        [](const std::string& name) {
            const store::Progress found = store::progress_of(name);
            const auto said = nb::steal(PyUnicode_DecodeUTF8(
                found.said.data(), static_cast<Py_ssize_t>(found.said.size()), "replace"));
            return nb::make_tuple(name_of(found.writer), found.changes, found.finished, said);
        },
        "name"_a,
        "(writer, changes, steps, said) of what the writer of files has left beside them. Local.");
    m.def(
        "hdf5_writer_of",
        [](const std::string& path) { return name_of(store::hdf5_writer_of(path)); }, "path"_a,
        "What an HDF5 file says of its writer: unknown, alone, with readers, none. Local.");
}

/// (name, dtype, shape, offset, swapped, dimensions, attributes)
store::RawLayout to_raw_layout(nb::handle stated) {
    const Index offset = to_int(stated[3], "the offset of a raw dataset");
    if (offset < 0) {
        throw InvalidArgument(Problem{"the offset of a raw dataset is out of range", text(offset),
                                      "0 or more bytes", ""});
    }
    return {dtype_from_name(to_text(stated[1], "the dtype of a raw dataset")),
            to_coordinates(stated[2], "the shape of a raw dataset"),
            static_cast<std::uint64_t>(offset),
            nb::cast<bool>(stated[4]),
            to_text(stated[0], "the name of a raw dataset"),
            to<std::vector<std::string>>(stated[5], "dims of a raw dataset", "a list of str"),
            to<Attributes>(stated[6], "attrs of a raw dataset", "a dict of str to values")};
}

void bind_raw(nb::module_& m) {
    m.def(
        "open_raw",
        [](const std::string& path, nb::handle datasets) {
            std::vector<store::RawLayout> layouts;
            for (const nb::handle stated : datasets) {
                layouts.push_back(to_raw_layout(stated));
            }
            const nb::gil_scoped_release release;
            return shared(store::open_raw(path, layouts));
        },
        "path"_a, "datasets"_a,
        "Opens a file of numbers alone. `datasets`: (name, dtype, shape, offset in bytes, whether "
        "the byte order is not this machine's, dimensions, attributes). Local.");
}

}  // namespace
}  // namespace fluvial::python

void bind_store(nanobind::module_& m) {
    fluvial::python::bind_dataset(m);
    fluvial::python::bind_file(m);
    fluvial::python::bind_raw(m);
    fluvial::python::bind_packing(m);
    fluvial::python::bind_progress(m);
}
