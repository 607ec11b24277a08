#ifndef DATA_IMAGES_CIFAR10_H_
#define DATA_IMAGES_CIFAR10_H_

// CIFAR-10 in its public binary version (https://www.cs.toronto.edu/~kriz/cifar.html): data_batch_1.bin to
// data_batch_5.bin and test_batch.bin, each of 10000 records of one byte label and 3072 bytes of pixels, red plane
// first.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "data/images/image_set.h"

namespace reprise::data {

struct Cifar10 {
  ImageSplits splits;
  std::vector<Digest> sha256_of_file;  // in the order of Cifar10FileNames
};

struct Cifar10Limits {
  int64_t records = 10000;                    // of a file
  int64_t train = 50000, validation = 10000;  // images that are kept, from the first on
};

// Returns the names of the files in the folder, those to train on first.
std::vector<std::string> Cifar10FileNames();

// Reads the folder. NotFound, naming the file and where to get it, if a file is missing; DataLoss, naming file and
// record, for a file of another size or a label above 9. All files are checked, whatever is kept of them.
absl::StatusOr<Cifar10> ReadCifar10(FileSystem& files, const std::string& folder, const Cifar10Limits& limits = {});

}  // namespace reprise::data

#endif  // DATA_IMAGES_CIFAR10_H_
