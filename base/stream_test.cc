// SPDX-License-Identifier: Apache-2.0

// Streams, events and graphs.
#include "base/stream.h"

#include <cstdint>

#include "base/event.h"
#include "base/graph.h"
#include "base/tensor.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/test_device.h"

namespace octet {
namespace {

using ::octet::testing::IsOk;
using ::octet::testing::StatusIs;

std::vector<double> Values(const Stream& stream, const TensorView& tensor) {
  EXPECT_THAT(stream.Synchronize(), IsOk());
  return *testing::ToDoubles(tensor);
}

Tensor Filled(const Stream& stream, double value) {
  return *testing::ToDevice(
      stream, *testing::FromDoubles({value, value}, DType::kF32, Shape({2})));
}

TEST(StreamTest, ScratchIsReusedAndGrows) {
  OCTET_TEST_STREAM(stream);
  if (stream.device().kind == DeviceKind::kCpu) {
    EXPECT_THAT(stream.Scratch(1),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    return;
  }
  OCTET_ASSERT_OK_AND_ASSIGN(void* small, stream.Scratch(1000));
  OCTET_ASSERT_OK_AND_ASSIGN(void* smaller, stream.Scratch(10));
  EXPECT_EQ(small, smaller);
  OCTET_ASSERT_OK_AND_ASSIGN(void* large, stream.Scratch(1 << 20));
  EXPECT_NE(large, small);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 256, 0u);
  OCTET_ASSERT_OK_AND_ASSIGN(void* again, stream.Scratch(1000));
  EXPECT_EQ(again, large);
}

TEST(StreamTest, CountersStartAtZeroAndStay) {
  OCTET_TEST_STREAM(stream);
  if (stream.device().kind == DeviceKind::kCpu) {
    EXPECT_THAT(stream.Counters(),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    return;
  }
  OCTET_ASSERT_OK_AND_ASSIGN(uint32_t * counters, stream.Counters());
  const TensorView view(counters, DType::kI32, Shape({Stream::kCounters}),
                        stream.device());
  EXPECT_EQ(Values(stream, view), std::vector<double>(Stream::kCounters, 0.0));
  OCTET_ASSERT_OK_AND_ASSIGN(uint32_t * again, stream.Counters());
  EXPECT_EQ(again, counters);
}

TEST(EventTest, OrdersStreamsAndTellsTime) {
  OCTET_TEST_STREAM(stream);
  OCTET_ASSERT_OK_AND_ASSIGN(const Stream other,
                             Stream::Create(stream.device()));
  OCTET_ASSERT_OK_AND_ASSIGN(const Event begin, Event::Create(stream.device()));
  OCTET_ASSERT_OK_AND_ASSIGN(const Event end, Event::Create(stream.device()));
  const Tensor a = Filled(stream, 3.0), b = Filled(stream, 0.0),
               c = Filled(stream, 0.0);
  ASSERT_THAT(begin.Record(stream), IsOk());
  ASSERT_THAT(Copy(stream, a, b), IsOk());
  ASSERT_THAT(end.Record(stream), IsOk());
  ASSERT_THAT(end.Wait(other), IsOk());
  ASSERT_THAT(Copy(other, b, c), IsOk());
  EXPECT_EQ(Values(other, c)[1], 3.0);
  OCTET_ASSERT_OK_AND_ASSIGN(const double seconds, SecondsBetween(begin, end));
  EXPECT_GE(seconds, 0.0);
}

TEST(EventTest, OfNoDeviceIsAnError) {
  OCTET_TEST_STREAM(stream);
  EXPECT_THAT(Event().Record(stream),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Event().Wait(stream),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(SecondsBetween(Event(), Event()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(GraphTest, LaunchesWhatWasCaptured) {
  OCTET_TEST_STREAM(stream);
  const Tensor a = Filled(stream, 3.0), b = Filled(stream, 0.0);
  OCTET_ASSERT_OK_AND_ASSIGN(const Graph graph, Graph::Capture(stream, [&] {
                               return Copy(stream, a, b);
                             }));
  EXPECT_EQ(Values(stream, b)[0], 0.0) << "captured work must not have run";
  ASSERT_THAT(graph.Launch(stream), IsOk());
  EXPECT_EQ(Values(stream, b)[0], 3.0);
  // What it reads is read at each launch.
  ASSERT_THAT(Copy(stream, Filled(stream, 5.0), a), IsOk());
  ASSERT_THAT(graph.Launch(stream), IsOk());
  EXPECT_EQ(Values(stream, b)[0], 5.0);
}

TEST(GraphTest, FailedWorkLeavesTheStreamUsable) {
  OCTET_TEST_STREAM(stream);
  const auto fail = [] { return absl::DataLossError("broken"); };
  const absl::StatusOr<Graph> graph = Graph::Capture(stream, fail);
  // On the CPU the work is done at launch.
  EXPECT_THAT(graph.ok() ? graph->Launch(stream) : graph.status(),
              StatusIs(absl::StatusCode::kDataLoss));
  const Tensor a = Filled(stream, 3.0), b = Filled(stream, 0.0);
  ASSERT_THAT(Copy(stream, a, b), IsOk());
  EXPECT_EQ(Values(stream, b)[0], 3.0);
  EXPECT_THAT(Graph().Launch(stream),
              StatusIs(stream.device() == Device{}
                           ? absl::StatusCode::kFailedPrecondition
                           : absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace octet
