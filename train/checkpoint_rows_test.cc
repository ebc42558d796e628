// SPDX-License-Identifier: Apache-2.0

// Checkpoints whose rows go elsewhere than they came from.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"
#include "train/checkpoint.h"

namespace octet::train {
namespace {

using ::octet::testing::IsOk;

// Case 87 (pytorch/torchtitan#811, #1702): rows as any number of ranks has
// them.
TEST(CheckpointRowsTest, RowsOfATensorLoadIntoOtherRows) {
  const ::octet::testing::TempFolder folder;
  for (const int64_t total : {5, 6}) {
    std::vector<float> values(total * 3);
    for (int64_t i = 0; i < total * 3; ++i) values[i] = i / 3;  // its row
    const Shape shape({total, 3});
    const TensorView whole(values.data(), DType::kF32, shape);
    Checkpoint checkpoint;
    checkpoint.step = total;
    checkpoint.groups = {{"master", {{"w", whole}}},
                         {"adam_m", {{"w", whole}}}};
    OCTET_ASSERT_OK_AND_ASSIGN(const SavedCheckpoint saved,
                               SaveCheckpoint(folder.path(), checkpoint));
    OCTET_ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint loaded,
                               LoadCheckpoint(saved.path));
    for (int64_t first = 0; first <= total; ++first) {
      for (int64_t rows = 0; rows <= total - first; ++rows) {
        for (const char* group : {"master", "adam_m"}) {
          std::vector<float> part(rows * 3, -1.0f);
          const TensorView view(part.data(), DType::kF32, Shape({rows, 3}));
          ASSERT_THAT(
              loaded.Restore(Stream(), group, {{"w", view, shape, first}}),
              IsOk());
          for (int64_t i = 0; i < rows * 3; ++i) {
            EXPECT_EQ(part[i], static_cast<float>(first + i / 3));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::train
