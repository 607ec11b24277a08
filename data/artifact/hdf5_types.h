#ifndef DATA_ARTIFACT_HDF5_TYPES_H_
#define DATA_ARTIFACT_HDF5_TYPES_H_

#include "core/tensor/tensor.h"
#include "data/artifact/hdf5_handle.h"

namespace reprise::internal {

inline constexpr DType kStoredTypes[] = {DType::kF32, DType::kF64, DType::kBF16, DType::kF16,
                                         DType::kI64, DType::kI32, DType::kU8};

// The HDF5 type that stores `dtype`; different for different arguments. bf16 and f16 are floats of their own layout, so
// that h5dump and h5py show their values. Within an Hdf5Session.
Hdf5Handle StoredTypeOf(DType dtype);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_HDF5_TYPES_H_
