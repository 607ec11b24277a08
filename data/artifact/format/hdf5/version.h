#ifndef DATA_ARTIFACT_FORMAT_HDF5_VERSION_H_
#define DATA_ARTIFACT_FORMAT_HDF5_VERSION_H_

#include <string>

namespace reprise {

// Returns the HDF5 version that this was built with, such as "1.10.8". HDF5 itself refuses to run with another version.
std::string Hdf5Version();

}  // namespace reprise

#endif  // DATA_ARTIFACT_FORMAT_HDF5_VERSION_H_
