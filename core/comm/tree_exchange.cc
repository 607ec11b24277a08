#include "core/comm/tree_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

void CopyFloats(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

}  // namespace

// Elements [begin, end) of every rank's stream, where it is that long.
struct TreeExchange::Round {
  int64_t begin = 0;
  int64_t end = 0;
};

TreeExchange::TreeExchange(Communicator* comm, const ShardMap& shards, Ownership ownership, AddFloats add,
                           int64_t floats_per_round)
    : comm_(*comm), ownership_(std::move(ownership)), add_(std::move(add)), floats_per_round_(floats_per_round) {
  CHECK_EQ(shards.ranks(), comm->size());
  CHECK_EQ(ownership_.ranks(), comm->size());
  CHECK_GE(floats_per_round, 1);
  std::vector<TreeNode> all;
  for (int rank = 0; rank < comm->size(); ++rank) {
    subtrees_.push_back(shards.SubtreesOf(rank));
    all.insert(all.end(), subtrees_.back().begin(), subtrees_.back().end());
  }
  additions_ = AdditionsToRoot(shards.shards(), all);
}

int64_t TreeExchange::FloatsOfRound(int rank, const Round& round) const {
  const int64_t floats = ownership_.FloatsOf(rank);
  return std::min(floats, round.end) - std::min(floats, round.begin);
}

int64_t TreeExchange::Rounds() const { return (ownership_.MaxFloats() + floats_per_round_ - 1) / floats_per_round_; }

absl::Status TreeExchange::SumOwned(absl::Span<SubtreeSum> mine) {
  const std::vector<TreeNode>& nodes = subtrees_[static_cast<size_t>(comm_.rank())];
  CHECK_EQ(mine.size(), nodes.size());
  for (size_t k = 0; k < nodes.size(); ++k) {
    CHECK(mine[k].node == nodes[k]);
    CHECK_GE(mine[k].sum.size(), ownership_.FlatEnd());
  }
  if (comm_.size() == 1) return absl::OkStatus();  // one subtree: the tree is finished
  std::vector<int64_t> send_bytes(subtrees_.size()), receive_bytes(subtrees_.size());
  for (int64_t r = 0; r < Rounds(); ++r) {
    const Round round = {r * floats_per_round_, (r + 1) * floats_per_round_};
    int64_t received = 0;
    for (size_t peer = 0; peer < subtrees_.size(); ++peer) {
      const bool self = static_cast<int>(peer) == comm_.rank();
      const int64_t theirs = FloatsOfRound(static_cast<int>(peer), round), ours = FloatsOfRound(comm_.rank(), round);
      send_bytes[peer] = self ? 0 : kFloatBytes * theirs * static_cast<int64_t>(nodes.size());
      receive_bytes[peer] = self ? 0 : kFloatBytes * ours * static_cast<int64_t>(subtrees_[peer].size());
      received += receive_bytes[peer] / kFloatBytes;
    }
    PackSubtrees(round, mine);
    receive_.resize(static_cast<size_t>(received));
    RETURN_IF_ERROR(comm_.Alltoallv(AsBytes(absl::MakeConstSpan(send_)), send_bytes,
                                    AsWritableBytes(absl::MakeSpan(receive_)), receive_bytes));
    FinishOwned(round, mine);
  }
  return absl::OkStatus();
}

// A message is, for each subtree of the sender, the receiver's slice of it.
void TreeExchange::PackSubtrees(const Round& round, absl::Span<const SubtreeSum> mine) {
  int64_t floats = 0;
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer != comm_.rank()) floats += FloatsOfRound(peer, round) * static_cast<int64_t>(mine.size());
  }
  send_.resize(static_cast<size_t>(floats));
  float* to = send_.data();
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer == comm_.rank()) continue;
    const std::vector<FlatRange> ranges = ownership_.StreamSlice(peer, round.begin, round.end);
    for (const SubtreeSum& subtree : mine) {
      const float* const sum = subtree.sum.data<float>().data();
      for (const FlatRange& range : ranges) {
        CopyFloats(sum + range.offset, range.size, to);
        to += range.size;
      }
    }
  }
}

// Finishes the tree over the slices received and this rank's own, which stay where they are.
void TreeExchange::FinishOwned(const Round& round, absl::Span<SubtreeSum> mine) {
  const int64_t floats = FloatsOfRound(comm_.rank(), round);
  int64_t done = 0;  // of this round's slice
  std::vector<float*> sums;
  for (const FlatRange& range : ownership_.StreamSlice(comm_.rank(), round.begin, round.end)) {
    sums.clear();
    float* received = receive_.data() + done;
    for (int peer = 0; peer < comm_.size(); ++peer) {
      for (size_t k = 0; k < subtrees_[static_cast<size_t>(peer)].size(); ++k) {
        if (peer == comm_.rank()) {
          sums.push_back(mine[k].sum.mutable_data<float>().data() + range.offset);
        } else {
          sums.push_back(received);
          received += floats;
        }
      }
    }
    for (const TreeAddition& addition : additions_) {
      add_(range.size, sums[static_cast<size_t>(addition.right)], sums[static_cast<size_t>(addition.left)]);
    }
    if (comm_.rank() != 0) {  // the total is in the slice of rank 0's first subtree
      CopyFloats(sums[0], range.size, mine[0].sum.mutable_data<float>().data() + range.offset);
    }
    done += range.size;
  }
}

absl::Status TreeExchange::AllgatherOwned(absl::Span<float> flat) {
  CHECK_GE(static_cast<int64_t>(flat.size()), ownership_.FlatEnd());
  if (comm_.size() == 1) return absl::OkStatus();
  std::vector<int64_t> bytes(subtrees_.size());
  for (int64_t r = 0; r < Rounds(); ++r) {
    const Round round = {r * floats_per_round_, (r + 1) * floats_per_round_};
    int64_t floats = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      bytes[static_cast<size_t>(rank)] = kFloatBytes * FloatsOfRound(rank, round);
      floats += FloatsOfRound(rank, round);
    }
    send_.resize(static_cast<size_t>(FloatsOfRound(comm_.rank(), round)));
    float* to = send_.data();
    for (const FlatRange& range : ownership_.StreamSlice(comm_.rank(), round.begin, round.end)) {
      CopyFloats(flat.data() + range.offset, range.size, to);
      to += range.size;
    }
    receive_.resize(static_cast<size_t>(floats));
    RETURN_IF_ERROR(
        comm_.Allgatherv(AsBytes(absl::MakeConstSpan(send_)), bytes, AsWritableBytes(absl::MakeSpan(receive_))));
    const float* from = receive_.data();
    for (int rank = 0; rank < comm_.size(); ++rank) {
      for (const FlatRange& range : ownership_.StreamSlice(rank, round.begin, round.end)) {
        if (rank != comm_.rank()) CopyFloats(from, range.size, flat.data() + range.offset);
        from += range.size;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise
