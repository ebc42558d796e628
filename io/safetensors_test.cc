// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/atomic_file.h"
#include "io/checksum.h"
#include "io/file.h"
#include "testing/goldens.h"
#include "testing/random_tensor.h"
#include "testing/status_matchers.h"
#include "testing/temp_folder.h"
#include "testing/tensor_matchers.h"

namespace octet::io {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;
using ::octet::testing::RandomTensor;
using ::octet::testing::StatusIs;
using ::octet::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

std::string WithLength(uint64_t length, const std::string& rest) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text.push_back(static_cast<char>(length >> 8 * i));
  return text + rest;
}

// A file of this header and `data_bytes` zeros.
std::string File(const std::string& header, int64_t data_bytes) {
  return WithLength(header.size(), header) + std::string(data_bytes, '\0');
}

class SafetensorsTest : public ::testing::Test {
 protected:
  absl::Status OpenText(const std::string& text) {
    const absl::Status written = WriteFile(path_, text);
    return written.ok() ? SafetensorsFile::Open(path_).status() : written;
  }

  // The error must name the file and `field`.
  void ExpectBroken(const std::string& text, const std::string& field) {
    EXPECT_THAT(OpenText(text),
                StatusIs(kDataLoss, AllOf(HasSubstr(path_), HasSubstr(field))))
        << text;
  }

  TempFolder folder_;
  std::string path_ = folder_.Join("t.safetensors");
};

TEST_F(SafetensorsTest, EveryDTypeComesBack) {
  std::vector<Tensor> tensors;
  std::vector<NamedTensor> named;
  for (const DType dtype :
       {DType::kU8, DType::kF64, DType::kF32, DType::kBf16, DType::kF16,
        DType::kF8E4M3, DType::kF8E5M2, DType::kF8E8M0, DType::kI64,
        DType::kI32, DType::kI16, DType::kI8, DType::kU64, DType::kU32,
        DType::kU16, DType::kBool}) {
    OCTET_ASSERT_OK_AND_ASSIGN(Tensor t,
                               Tensor::Allocate(dtype, Shape({3, 1, 5})));
    for (int64_t i = 0; i < t.view().num_bytes(); ++i) {
      t.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + named.size());
    }
    named.push_back({std::string(Name(dtype)), t});
    tensors.push_back(std::move(t));
  }
  OCTET_ASSERT_OK_AND_ASSIGN(const WrittenFile written,
                             WriteSafetensors(path_, named));
  EXPECT_EQ(written.checksum, ChecksumFile(path_).value());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(path_));
  EXPECT_EQ(file.names().size(), named.size());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  for (const NamedTensor& expected : named) {
    OCTET_ASSERT_OK_AND_ASSIGN(const TensorView got, file.Find(expected.name));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(got.data()) % SizeOf(got.dtype()), 0u)
        << expected.name;
    ASSERT_EQ(got.num_bytes(), expected.tensor.num_bytes());
    EXPECT_EQ(std::memcmp(got.data(), expected.tensor.data(), got.num_bytes()),
              0)
        << expected.name;
    EXPECT_EQ(got.ToString(), expected.tensor.ToString());
  }
}

// Case 93 (huggingface/transformers#36828, mlverse/safetensors#13).
TEST_F(SafetensorsTest, Float8BytesAreKept) {
  uint8_t bytes[] = {0x00, 0x01, 0x7e, 0x7f, 0x80, 0xff};
  const TensorView e4m3(bytes, DType::kF8E4M3, Shape({2, 3}));
  const TensorView e5m2(bytes, DType::kF8E5M2, Shape({2, 3}));
  ASSERT_THAT(WriteSafetensors(path_, {{"a", e4m3}, {"b", e5m2}}), IsOk());
  EXPECT_THAT(ReadFile(path_).value(),
              AllOf(HasSubstr("\"dtype\":\"F8_E4M3\""),
                    HasSubstr("\"dtype\":\"F8_E5M2\"")));
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(path_));
  for (const char* name : {"a", "b"}) {
    OCTET_ASSERT_OK_AND_ASSIGN(const TensorView got, file.Find(name));
    EXPECT_EQ(got.shape(), Shape({2, 3}));
    ASSERT_EQ(got.num_bytes(), 6);
    EXPECT_EQ(std::memcmp(got.data(), bytes, 6), 0);
  }
}

TEST_F(SafetensorsTest, TheSameTensorsGiveTheSameBytes) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             RandomTensor(DType::kF32, Shape({4, 2}), 1));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor b,
                             RandomTensor(DType::kBf16, Shape({3}), 2));
  ASSERT_THAT(WriteSafetensors(path_, {{"a", a}, {"b", b}}), IsOk());
  const std::string other = folder_.Join("other");
  ASSERT_THAT(WriteSafetensors(other, {{"b", b}, {"a", a}}), IsOk());
  EXPECT_EQ(ReadFile(path_).value(), ReadFile(other).value());

  SafetensorsOptions as_given;
  as_given.order = TensorOrder::kAsGiven;
  ASSERT_THAT(WriteSafetensors(other, {{"b", b}, {"a", a}}, as_given), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(other));
  EXPECT_THAT(file.names(), ElementsAre("b", "a"));
  // "a" stands at byte 6: not where a float may.
  EXPECT_THAT(file.Find("a").value(), BitwiseEq(a));
}

TEST_F(SafetensorsTest, ReadsWhatOthersWrote) {
  OCTET_ASSERT_OK_AND_ASSIGN(
      const SafetensorsFile file,
      testing::LoadGolden("llama_gqa/model.safetensors"));
  std::vector<NamedTensor> tensors;
  for (const std::string& name : file.names()) {
    tensors.push_back({name, file.Find(name).value()});
  }
  ASSERT_THAT(WriteSafetensors(path_, tensors), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile again,
                             SafetensorsFile::Open(path_));
  for (const NamedTensor& tensor : tensors) {
    EXPECT_THAT(again.Find(tensor.name).value(), BitwiseEq(tensor.tensor));
  }
}

// Case 91 (safetensors/safetensors#466, #601): zero tensors are valid.
TEST_F(SafetensorsTest, EmptyThingsAreValid) {
  EXPECT_THAT(OpenText(File("{}", 0)), IsOk());
  EXPECT_THAT(OpenText(File(R"({"__metadata__":{"a":"b"}})", 0)), IsOk());
  EXPECT_THAT(
      OpenText(File(
          R"({"z":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})", 0)),
      IsOk());
  EXPECT_THAT(
      OpenText(File(
          R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )", 4)),
      IsOk());
  ASSERT_THAT(WriteSafetensors(path_, {}), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(path_));
  EXPECT_TRUE(file.names().empty());
}

// Case 91 (osaurus-ai/vmlx-swift#217, invoke-ai/InvokeAI#7009).
TEST_F(SafetensorsTest, CutFilesAreDataLoss) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             RandomTensor(DType::kF32, Shape({64}), 1));
  ASSERT_THAT(WriteSafetensors(path_, {{"a", a}}), IsOk());
  const std::string whole = ReadFile(path_).value();
  ExpectBroken(whole.substr(0, whole.size() - 1), "'data_offsets'");
  ExpectBroken(whole.substr(0, whole.size() / 2), "'data_offsets'");
  ExpectBroken(whole.substr(0, 20), "header length");
  ExpectBroken(whole.substr(0, 8), "header length");
  ExpectBroken(whole.substr(0, 7), "header length");
  ExpectBroken("", "header length");
  ExpectBroken(whole + "x", "data_offsets end at 256");
}

// Case 91: no huge allocation.
TEST_F(SafetensorsTest, LengthsOutOfReach) {
  ExpectBroken(WithLength(uint64_t{1} << 63, "{}"),
               "header length is 9223372036854775808");
  ExpectBroken(WithLength(~uint64_t{0}, "{}"), "header length");
  ExpectBroken(WithLength(100'000'001, "{}"), "the most is 100000000");
  ExpectBroken(WithLength(3, "{}"), "the file has 10 bytes");
  ExpectBroken(WithLength(0, ""), "header");
}

// Case 91 (safetensors/safetensors#278, Comfy-Org/ComfyUI#14657).
TEST_F(SafetensorsTest, BrokenHeaders) {
  const auto entry = [](const std::string& fields) {
    return File("{\"a\":{" + fields + "}}", 8);
  };
  ExpectBroken(File("[]", 0), "must be an object");
  ExpectBroken(File("{\"a\":1", 0), "header");
  ExpectBroken(File("{\"a\":3}", 0), "tensor 'a'");
  ExpectBroken(File(R"({"__metadata__":{"a":1}})", 0), "field 'a'");
  ExpectBroken(File(R"({"__metadata__":[]})", 0), "__metadata__");
  ExpectBroken(entry(R"("shape":[2],"data_offsets":[0,8])"), "'dtype'");
  ExpectBroken(entry(R"("dtype":"F32","data_offsets":[0,8])"), "'shape'");
  ExpectBroken(entry(R"("dtype":"F32","shape":[2])"), "'data_offsets'");
  ExpectBroken(entry(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"),
               "'F31'");
  ExpectBroken(entry(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"),
               "capitals");
  ExpectBroken(entry(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"),
               "'dtype'");
  for (const char* shape :
       {"[-2]", "[2.0]", "2", "[\"2\"]", "[3]", "[1,1,1,1,1,2]",
        "[4294967296,4294967296]", "[18446744073709551615]",
        "[4611686018427387904]"}) {
    ExpectBroken(entry(absl::StrCat(R"("dtype":"F32","shape":)", shape,
                                    R"(,"data_offsets":[0,8])")),
                 "'shape'");
  }
  for (const char* offsets : {"[8,4]", "[-8,0]", "[0,16]", "[0]", "[0,4,8]",
                              "[0,9223372036854775808]", "{}"}) {
    ExpectBroken(entry(absl::StrCat(
                     R"("dtype":"F32","shape":[2],"data_offsets":)", offsets)),
                 "'data_offsets'");
  }
}

// Case 91: tensors that overlap, or stand twice.
TEST_F(SafetensorsTest, HolesOverlapsAndDuplicates) {
  const auto two = [](const std::string& second, const std::string& begin,
                      const std::string& end) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},")" +
           second + R"(":{"dtype":"F32","shape":[2],"data_offsets":[)" + begin +
           "," + end + "]}}";
  };
  EXPECT_THAT(OpenText(File(two("b", "8", "16"), 16)), IsOk());
  ExpectBroken(File(two("b", "4", "12"), 12), "inside the tensor before");
  ExpectBroken(File(two("b", "0", "8"), 8), "inside the tensor before");
  ExpectBroken(File(two("b", "12", "20"), 20), "after a hole from 8");
  ExpectBroken(File(two("a", "8", "16"), 16), "'a' stands twice");
}

TEST_F(SafetensorsTest, FindSaysWhatIsWrong) {
  EXPECT_THAT(SafetensorsFile::Open(path_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             RandomTensor(DType::kF32, Shape({2, 3}), 1));
  ASSERT_THAT(WriteSafetensors(path_, {{"a", a}}), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(path_));
  EXPECT_TRUE(file.Contains("a"));
  EXPECT_FALSE(file.Contains("b"));
  EXPECT_THAT(file.Find("b"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path_), HasSubstr("'b'"))));
  EXPECT_THAT(file.Find("a", DType::kF32, Shape({2, 3})), IsOk());
  EXPECT_THAT(
      file.Find("a", DType::kF32, Shape({3, 2})),
      StatusIs(kDataLoss, HasSubstr("is f32 [2, 3], expected f32 [3, 2]")));
  EXPECT_THAT(file.Find("a", DType::kBf16, Shape({2, 3})), StatusIs(kDataLoss));
}

TEST_F(SafetensorsTest, WriteRefusesBadNames) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             RandomTensor(DType::kF32, Shape({2}), 1));
  EXPECT_THAT(WriteSafetensors(path_, {{"a", a}, {"a", a}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'a' is given twice")));
  EXPECT_THAT(
      WriteSafetensors(path_, {{"__metadata__", a}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("reserved")));
  EXPECT_TRUE(folder_.List().empty());
}

TEST_F(SafetensorsTest, NamesMayHoldAnything) {
  OCTET_ASSERT_OK_AND_ASSIGN(const Tensor a,
                             RandomTensor(DType::kF32, Shape({2}), 1));
  const std::string name = "quote\" slash\\ \xc3\xa9 \n";
  ASSERT_THAT(WriteSafetensors(path_, {{name, a}}), IsOk());
  OCTET_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                             SafetensorsFile::Open(path_));
  EXPECT_TRUE(file.Contains(name));
}

}  // namespace
}  // namespace octet::io
