#include "tests/golden/golden_model.h"

#include <cctype>
#include <cmath>
#include <cstdio>

#include "core/parallel/thread_pool.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "kernels/sums/sums.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/weights.h"

namespace reprise::golden {

absl::StatusOr<std::unique_ptr<models::Model>> LoadGoldenModel(const std::string& name) {
  const std::string directory = testing::GoldensDirectory() + "/models/" + name;
  ASSIGN_OR_RETURN(const models::DecoderConfig config, models::ReadModelConfig(directory));
  std::unique_ptr<models::Model> model = models::Model::Create(config, /*training=*/true);
  RETURN_IF_ERROR(models::LoadWeights(directory, model->layout(), model->mutable_parameters()));
  ThreadPool pool(1);
  model->Refresh(pool);
  return model;
}

void Perturb(double relative, models::Model* model) {
  const absl::Span<float> parameters = model->mutable_parameters();
  for (size_t i = 0; i < parameters.size(); i += 2) {
    parameters[i] = static_cast<float>(parameters[i] * (1 + relative));
  }
  ThreadPool pool(1);
  model->Refresh(pool);
}

void MakeAnotherModel(models::Model* model) { Perturb(-2.0, model); }

models::PackedBatch Pack(const std::vector<std::vector<int32_t>>& sequences) {
  models::PackedBatch batch;
  for (const std::vector<int32_t>& tokens : sequences) {
    batch.segments.push_back({batch.rows(), static_cast<int64_t>(tokens.size()), models::kNoPrefix});
    for (size_t i = 0; i < tokens.size(); ++i) {
      batch.token_T.push_back(tokens[i]);
      batch.position_T.push_back(static_cast<int32_t>(i));
    }
  }
  return batch;
}

absl::Span<const float> SelectGradient(const ParameterSpec& spec, const std::vector<float>& gradient) {
  return absl::MakeConstSpan(gradient).subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
}

double Norm(absl::Span<const float> x) {
  std::vector<double> blocks(static_cast<size_t>(kernels::SumBlocks(static_cast<int64_t>(x.size()))));
  kernels::SumOfSquaresByBlock(static_cast<int64_t>(x.size()), x.data(), blocks.data());
  return std::sqrt(kernels::TreeSum(blocks));
}

void GoldenModelTest::SetUp() {
  ASSERT_OK_AND_ASSIGN(model_, LoadGoldenModel(GetParam()));
  ASSERT_OK_AND_ASSIGN(vectors_, Vectors::Open(GetParam()));
}

void GoldenModelTest::ExpectWithin(const Errors& errors) const {
  std::printf("%s\n%s", GetParam().c_str(), errors.ToString().c_str());
  EXPECT_TRUE(errors.Within()) << GetParam() << "\n" << errors.ToString();
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace reprise::golden
