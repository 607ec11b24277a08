#include "models/olmoe/memory_action_head.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(MemoryActionHeadTest, HasTheParametersOfTwoLinearLayers) {
  EXPECT_EQ(MemoryActionHead(2048).num_parameters(), 2104326);
  const MemoryActionHead head(5);  // half of the width, rounded down
  std::vector<std::string> shapes;
  for (const ParameterSpec& spec : head.layout().specs) shapes.push_back(spec.name + ToString(spec.shape));
  EXPECT_THAT(shapes, ElementsAre("action_head.0.weight[2, 5]", "action_head.0.bias[2]", "action_head.1.weight[6, 2]",
                                  "action_head.1.bias[6]"));
}

TEST(MemoryActionHeadTest, ComputesLogitsOfOneEmbeddingAndOfSeveral) {
  MemoryActionHead head(4);
  for (size_t i = 0; i < head.layout().specs.size(); ++i) {
    const ParameterSpec& spec = head.layout().specs[i];
    for (int64_t j = 0; j < spec.size; ++j) {
      head.mutable_parameters()[spec.offset + j] = static_cast<float>((i + 1) * (j % 3)) - 1.0f;
    }
  }
  head.Refresh();
  // W0 = [-1 0 1 -1; 0 1 -1 0], b0 = [-1 1], W1 = [-1 2; 5 -1; 2 5; ...], b1 = [-1 3 7 -1 3 7].
  const std::vector<float> embeddings = {-1, 2, 3, 0.5f, 2, 1, 0, 0};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> first, head.Forward(absl::MakeConstSpan(embeddings).first(4)));
  // Hidden: relu(1 + 3 - 0.5 - 1) = 2.5, relu(2 - 3 + 1) = 0.
  EXPECT_THAT(first, ElementsAre(-3.5f, 15.5f, 12.0f, -3.5f, 15.5f, 12.0f));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> both, head.Forward(kernels::ConstRows{embeddings.data(), 2, 4}));
  ASSERT_THAT(both, SizeIs(12));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
  // Hidden: relu(-2 - 1) = 0, relu(1 + 1) = 2.
  EXPECT_THAT(std::vector<float>(both.begin() + 6, both.end()), ElementsAre(3.0f, 1.0f, 17.0f, 3.0f, 1.0f, 17.0f));
}

TEST(MemoryActionHeadTest, RefusesEmbeddingsOfAnotherWidthAndNamesBothSizes) {
  const MemoryActionHead head(4);
  for (const size_t width : {0, 3, 128}) {
    EXPECT_THAT(head.Forward(std::vector<float>(width)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("the embedding has " + std::to_string(width) + " elements"),
                               HasSubstr("reads 4 (hidden_dim)"))));
  }
}

TEST(MemoryActionHeadTest, ItsFirstParametersAreAFunctionOfTheSeed) {
  MemoryActionHead head(4), same(4), other(4);
  head.Initialize(1), same.Initialize(1), other.Initialize(2);
  EXPECT_EQ(head.parameters(), same.parameters());
  EXPECT_NE(head.parameters(), other.parameters());
  EXPECT_EQ(head.Copy()->parameters(), head.parameters());
}

}  // namespace
}  // namespace reprise::models
