#include "data/artifact/format/hdf5/version.h"

#include "absl/strings/str_cat.h"
#include "hdf5.h"

namespace reprise {

std::string Hdf5Version() { return absl::StrCat(H5_VERS_MAJOR, ".", H5_VERS_MINOR, ".", H5_VERS_RELEASE); }

}  // namespace reprise
