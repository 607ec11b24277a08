#include "data/artifact/format/user_block.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/io/foreign_format.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/hdf5/arrays.h"
#include "kernels/contract/numeric_contract.h"

namespace reprise::internal {
namespace {

constexpr absl::string_view kProofKey = "block_sha256 ";
constexpr size_t kProofBytes = kProofKey.size() + 64 + 1;               // the last line
constexpr size_t kProvedBytes = size_t{kUserBlockBytes} - kProofBytes;  // the bytes that its digest covers

std::string ProofOf(absl::string_view block) {
  return absl::StrCat(kProofKey, ToHex(Sha256(block.substr(0, kProvedBytes))), "\n");
}

// Consumes "KEY VALUE\n" at the front of `text`.
absl::StatusOr<absl::string_view> TakeValue(absl::string_view& text, absl::string_view key) {
  const size_t end = text.find('\n');
  absl::string_view line = text.substr(0, end);
  if (end == absl::string_view::npos || !absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, " ")) {
    return absl::DataLossError(absl::StrCat("the user block has no line \"", key, "\""));
  }
  text.remove_prefix(end + 1);
  return line;
}

absl::StatusOr<int64_t> TakeNumber(absl::string_view& text, absl::string_view key) {
  ASSIGN_OR_RETURN(const absl::string_view value, TakeValue(text, key));
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 0) {
    return absl::DataLossError(absl::StrCat("the user block's ", key, " is \"", value, "\""));
  }
  return number;
}

absl::StatusOr<Digest> TakeDigest(absl::string_view& text, absl::string_view key) {
  ASSIGN_OR_RETURN(const absl::string_view value, TakeValue(text, key));
  const auto digest = DigestFromHex(value);
  if (!digest.ok()) return absl::DataLossError(absl::StrCat("the user block's ", key, " is \"", value, "\""));
  return *digest;
}

// Checks the rules that hold for every version of the format: the first line, the last line, and the format's number.
absl::Status CheckAnyVersion(absl::string_view start, int64_t file_bytes) {
  if (start.substr(0, kMagic.size()) != kMagic.substr(0, start.size())) {
    const std::string foreign = ForeignFormat(start.substr(0, static_cast<size_t>(kUserBlockBytes)));
    return absl::DataLossError(
        absl::StrCat("it is not a run file: ", foreign.empty() ? "it does not begin with \"reprise run\"" : foreign));
  }
  if (start.size() < static_cast<size_t>(kUserBlockBytes)) {
    return absl::DataLossError(absl::StrCat("it was truncated: it has ", file_bytes, " bytes"));
  }
  if (start.substr(kProvedBytes, kProofBytes) != ProofOf(start)) {
    return absl::DataLossError("its first 512 bytes are damaged: they do not have the SHA-256 that they state");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeUserBlock(const UserBlock& block) {
  std::string text = absl::StrCat(kMagic, "format ", kFormatVersion, "\nnumeric_contract ", kNumericContract,
                                  "\nbody_bytes ", block.body_bytes, "\nbody_sha256 ", ToHex(block.body_digest),
                                  "\nrun_digest ", ToHex(block.run_digest), "\n");
  CHECK_LT(text.size(), kProvedBytes);
  text.resize(kProvedBytes - 1, ' ');
  text += '\n';
  return text + ProofOf(text);
}

absl::StatusOr<UserBlock> ParseUserBlock(absl::string_view file) {
  return ParseUserBlock(file, static_cast<int64_t>(file.size()));
}

absl::StatusOr<UserBlock> ParseUserBlock(absl::string_view start, int64_t file_bytes) {
  RETURN_IF_ERROR(CheckAnyVersion(start, file_bytes));
  absl::string_view text = start.substr(kMagic.size(), kProvedBytes - kMagic.size());
  ASSIGN_OR_RETURN(const int64_t format, TakeNumber(text, "format"));
  if (format != kFormatVersion) {
    return absl::UnimplementedError(absl::StrCat("it has format version ", format, "; this program reads version ",
                                                 kFormatVersion, ": use the version of Reprise that wrote it"));
  }
  ASSIGN_OR_RETURN(const int64_t contract, TakeNumber(text, "numeric_contract"));
  if (contract != kNumericContract) {
    return absl::UnimplementedError(
        absl::StrCat("it has numeric contract ", contract, "; this program reads contract ", kNumericContract,
                     ": use the version of Reprise that wrote it, whose \"revision\" is in the run's execution.jsonl"));
  }
  UserBlock block;
  ASSIGN_OR_RETURN(block.body_bytes, TakeNumber(text, "body_bytes"));
  ASSIGN_OR_RETURN(block.body_digest, TakeDigest(text, "body_sha256"));
  ASSIGN_OR_RETURN(block.run_digest, TakeDigest(text, "run_digest"));
  const int64_t body_bytes = file_bytes - kUserBlockBytes;
  if (body_bytes != block.body_bytes) {
    return absl::DataLossError(absl::StrCat("it was ", body_bytes < block.body_bytes ? "truncated" : "appended to",
                                            ": it has ", file_bytes, " bytes instead of ",
                                            block.body_bytes + kUserBlockBytes));
  }
  if (EncodeUserBlock(block) != start.substr(0, static_cast<size_t>(kUserBlockBytes))) {
    return absl::DataLossError("its first 512 bytes are damaged: they hold more than a user block has");
  }
  return block;
}

}  // namespace reprise::internal
