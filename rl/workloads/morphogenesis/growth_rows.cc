#include "rl/workloads/morphogenesis/growth_rows.h"

namespace reprise::rl::internal {
namespace {

ColumnSchema I64(absl::string_view name) { return ScalarColumn(name, DType::kI64); }
ColumnSchema F64(absl::string_view name) { return ScalarColumn(name, DType::kF64); }
ColumnSchema U8(absl::string_view name) { return ScalarColumn(name, DType::kU8); }

}  // namespace

std::vector<StreamSchema> GrowthStreams() {
  return {RecordStream("hosts", {I64("prompt"), I64("host_seed")}),
          RecordStream("episodes", {I64("prompt"), I64("sample"), I64("host_params"),
                                    RaggedColumn("logprobs", DType::kF32), RaggedColumn("ref_logprobs", DType::kF32),
                                    RaggedColumn("rewards", DType::kF64), F64("reward"), F64("advantage")}),
          RecordStream("networks", {I64("prompt"),
                                    I64("sample"),
                                    I64("epoch"),
                                    F64("train_loss"),
                                    F64("train_accuracy"),
                                    F64("val_loss"),
                                    F64("val_accuracy"),
                                    F64("host_gradient_norm"),
                                    U8("rolled_back"),
                                    I64("embargo_epochs"),
                                    I64("fossil_params"),
                                    U8("has_seed"),
                                    U8("stage"),
                                    U8("previous_stage"),
                                    I64("blueprint"),
                                    I64("epochs_in_stage"),
                                    I64("previous_epochs_in_stage"),
                                    I64("age"),
                                    I64("seed_params"),
                                    F64("alpha"),
                                    F64("stage_improvement"),
                                    F64("total_improvement"),
                                    F64("germination_accuracy"),
                                    RaggedColumn("counterfactual", DType::kF64),
                                    F64("gradient_norm"),
                                    F64("gradient_health"),
                                    U8("vanishing"),
                                    U8("exploding"),
                                    RaggedColumn("features", DType::kF32)}),
          RecordStream("decisions", {I64("prompt"), I64("sample"), I64("epoch"), ScalarColumn("action", DType::kI32),
                                     RaggedColumn("allowed", DType::kI32), F64("earned"), F64("advantage")}),
          RecordStream("events", {I64("prompt"), I64("sample"), I64("epoch"), U8("kind"), U8("severity"),
                                  StringColumn("seed_id"), StringColumn("slot_id"), StringColumn("blueprint_id"),
                                  U8("from"), U8("to"), U8("gate"), I64("params"), F64("improvement"),
                                  F64("blending_delta"), RaggedColumn("counterfactual", DType::kF64),
                                  I64("epochs_total"), I64("epochs_in_stage"), StringColumn("reason")})};
}

}  // namespace reprise::rl::internal
