// SPDX-License-Identifier: Apache-2.0
/// Objects of HDF5 that this process makes, in files whose elements all ranks write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/hdf5/session.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::store {

inline constexpr std::uint64_t hdf5_object_bytes_max = 4096;  ///< of one with its attributes
inline constexpr std::uint64_t hdf5_index_bytes_max = 256;    ///< of a chunk's entry, at rank 32

/// `result` of a call that writes, unless it is negative. Throws SystemError.
template <class T>
T written(T result, const std::string& path) {
    if (result < 0) {
        throw SystemError(Problem{"'" + path + "' cannot be written", last_hdf5_error().text,
                                  "a folder in which this user may write, on a disk with room",
                                  ""});
    }
    return result;
}

/// How elements of a dtype lie in a file that is written here.
Hdf5Id hdf5_type_of(DType dtype);
/// Of a dataset or an attribute of this shape, which does not grow.
Hdf5Id hdf5_space_of(const Coordinates& shape);
/// For links: the groups on the way are made, too.
Hdf5Id hdf5_with_groups();

/// Gives an object an attribute that it does not have yet. Throws SystemError.
void write_hdf5_attribute(hid_t object, const std::string& name, hid_t type,
                          const Coordinates& shape, const void* data, const std::string& path);
/// Texts of fixed length, which all programs read.
void write_hdf5_texts(hid_t object, const std::string& name, std::span<const std::string> values,
                      const Coordinates& shape, const std::string& path);

/// What ranks will write is not there yet; room for it is made behind the file's end, which
/// libhdf5 takes back at its next flush where it is too much: it does not survive a full disk.
void add_hdf5_room(const std::string& path, std::uint64_t bytes);

/// Puts a chunk of so many bytes into the index of its dataset, and says at which byte of the file
/// it begins. Nothing is written there. Within one Hdf5Session.
class Hdf5ChunkPlacer {
  public:
    Hdf5ChunkPlacer(const std::string& path, std::uint64_t bytes_max);
    /// For these, with room for them. Throws SystemError.
    Hdf5ChunkPlacer(const std::string& path, std::span<const PackedChunk> chunks);
    std::uint64_t place(hid_t dataset, const Coordinates& offset, std::uint64_t bytes,
                        std::uint32_t filters_left_out);

  private:
    const std::string& path_;
    /// What libhdf5 is given in place of the bytes that ranks have; it looks at none of them.
    std::unique_ptr<std::byte[]> nothing_;
};

}  // namespace fluvial::store
