#ifndef CORE_TESTING_GOLDENS_H_
#define CORE_TESTING_GOLDENS_H_

#include <string>
#include <vector>

namespace reprise::testing {

// Returns the folder of golden vectors: the environment variable REPRISE_GOLDENS, or the repository's own set
// (tests/goldens/README.md describes formats and tolerances).
std::string GoldensDirectory();

// Returns the names of the set's models, sorted: those NAME for which models/NAME and fwd_NAME.safetensors exist.
std::vector<std::string> GoldenModels();

}  // namespace reprise::testing

#endif  // CORE_TESTING_GOLDENS_H_
