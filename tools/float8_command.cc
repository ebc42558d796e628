// SPDX-License-Identifier: Apache-2.0
#include "tools/float8_command.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "float8/format.h"
#include "float8/scaling.h"
#include "tools/amax_report.h"
#include "tools/cast_error_report.h"

namespace octet::tools {
namespace {

using Command = absl::StatusOr<std::string> (*)(const CommandLine& line);

struct CommandSpec {
  absl::string_view name;
  Command run;
  std::vector<FlagSpec> flags;
  absl::string_view usage;
};

absl::Status UsageError(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

absl::StatusOr<DType> FormatOf(const CommandLine& line) {
  const auto flag = line.flags.find("format");
  if (flag == line.flags.end() || flag->second == "e4m3") {
    return DType::kF8E4M3;
  }
  if (flag->second == "e5m2") return DType::kF8E5M2;
  return UsageError(
      absl::StrCat("--format=", flag->second, " is neither e4m3 nor e5m2"));
}

absl::string_view ShortName(DType format) {
  return format == DType::kF8E5M2 ? "e5m2" : "e4m3";
}

std::string Number(double x) { return absl::StrFormat("%.9g", x); }

// "0 1111 110": sign, exponent, mantissa.
std::string BitsOf(uint8_t code, DType format) {
  const int mantissa = float8::TraitsOf(format).mantissa_bits;
  std::string bits;
  for (int bit = 7; bit >= 0; --bit) {
    bits += code >> bit & 1 ? '1' : '0';
    if (bit == 7 || bit == mantissa) bits += ' ';
  }
  return bits;
}

absl::StatusOr<std::string> RunEncode(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const DType format, FormatOf(line));
  if (line.words.empty()) return UsageError("encode needs values");
  const float8::Overflow overflow = line.flags.count("no-saturate") > 0
                                        ? float8::Overflow::kNonFinite
                                        : float8::Overflow::kSaturate;
  std::string out = absl::StrFormat("%-24s  byte  decoded (%s)\n", "value",
                                    ShortName(format));
  for (const std::string& word : line.words) {
    double x;
    if (!absl::SimpleAtod(word, &x)) {
      return UsageError(absl::StrCat("encode: \"", word, "\" is no number"));
    }
    const uint8_t code = float8::Encode(x, format, overflow);
    absl::StrAppendFormat(&out, "%-24s  0x%02x  %s\n", word, code,
                          Number(float8::Decode(code, format)));
  }
  return out;
}

std::string CodeLine(int code, DType format) {
  const uint8_t byte = static_cast<uint8_t>(code);
  return absl::StrFormat("0x%02x  %s  %s\n", code, BitsOf(byte, format),
                         Number(float8::Decode(byte, format)));
}

std::string CodeHeader(DType format) {
  return absl::StrCat("byte  bits        value (", ShortName(format), ")\n");
}

absl::StatusOr<std::string> RunDecode(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const DType format, FormatOf(line));
  if (line.words.empty()) return UsageError("decode needs bytes");
  std::string out = CodeHeader(format);
  for (const std::string& word : line.words) {
    absl::string_view digits = word;
    if (!absl::ConsumePrefix(&digits, "0x")) absl::ConsumePrefix(&digits, "0X");
    int code = 0;
    if (digits.empty() || digits.size() > 2 ||
        !std::all_of(digits.begin(), digits.end(),
                     [](char c) { return absl::ascii_isxdigit(c); }) ||
        !absl::SimpleHexAtoi(digits, &code)) {
      return UsageError(absl::StrCat("decode: \"", word,
                                     "\" is no byte of two hexadecimal "
                                     "digits"));
    }
    out += CodeLine(code, format);
  }
  return out;
}

absl::StatusOr<std::string> RunTable(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const DType format, FormatOf(line));
  if (!line.words.empty()) {
    return UsageError(
        absl::StrCat("table takes no argument \"", line.words[0], "\""));
  }
  std::string out = CodeHeader(format);
  for (int code = 0; code < 256; ++code) out += CodeLine(code, format);
  return out;
}

absl::StatusOr<float8::ScaleRounding> RoundingOf(const CommandLine& line) {
  const auto flag = line.flags.find("rounding");
  if (flag == line.flags.end()) return float8::ScaleRounding::kExact;
  for (float8::ScaleRounding rounding :
       {float8::ScaleRounding::kExact, float8::ScaleRounding::kPowerOfTwo,
        float8::ScaleRounding::kE8m0}) {
    if (flag->second == float8::Name(rounding)) return rounding;
  }
  return UsageError(absl::StrCat("--rounding=", flag->second,
                                 " is none of exact, pow2, e8m0"));
}

std::string WithBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return absl::StrFormat("%s (f32 0x%08x)", Number(x), bits);
}

absl::StatusOr<std::string> RunScale(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(const DType format, FormatOf(line));
  OCTET_ASSIGN_OR_RETURN(const float8::ScaleRounding rounding,
                         RoundingOf(line));
  if (!line.words.empty()) {
    return UsageError(
        absl::StrCat("scale takes no argument \"", line.words[0], "\""));
  }
  const auto flag = line.flags.find("amax");
  if (flag == line.flags.end()) return UsageError("scale needs --amax=VALUE");
  float amax;
  if (!absl::SimpleAtof(flag->second, &amax) || std::signbit(amax)) {
    return UsageError(
        absl::StrCat("--amax=", flag->second, " is no number of at least 0"));
  }
  const float scale = float8::ScaleFor(amax, format, rounding);
  return absl::StrCat("format     ", ShortName(format), ", largest value ",
                      Number(float8::TraitsOf(format).max), "\namax       ",
                      WithBits(amax), "\nrounding   ", float8::Name(rounding),
                      "\nscale      ", WithBits(scale), "\n1 / scale  ",
                      WithBits(1.0f / scale), "\n");
}

absl::StatusOr<std::string> RunError(const CommandLine& line) {
  const std::vector<std::string> known = Float8Recipes();
  const std::string recipe = line.Get("recipe", "all");
  if (recipe != "all" &&
      std::find(known.begin(), known.end(), recipe) == known.end()) {
    return UsageError(absl::StrCat("--recipe=", recipe, " is none of all, ",
                                   absl::StrJoin(known, ", ")));
  }
  if (line.words.size() != 1) {
    return UsageError(absl::StrCat("error takes one FILE or FOLDER, not ",
                                   line.words.size()));
  }
  return CastErrorReport(
      line.words[0], line.Get("tensor", ""),
      recipe == "all" ? known : std::vector<std::string>{recipe});
}

absl::StatusOr<std::string> RunAmax(const CommandLine& line) {
  OCTET_ASSIGN_OR_RETURN(
      const float8::Granularity granularity,
      float8::ParseGranularity(line.Get("granularity", "tensor")));
  if (line.words.size() != 1) {
    return UsageError(
        absl::StrCat("amax takes one FILE, not ", line.words.size()));
  }
  return AmaxReport(line.words[0], line.Get("tensor", ""), granularity,
                    line.Get("device", "auto"));
}

const std::vector<CommandSpec>& Commands() {
  static const auto* const commands = new std::vector<CommandSpec>{
      {"encode",
       &RunEncode,
       {{"format"}, {"no-saturate", FlagKind::kSwitch}},
       "encode [--format=e4m3|e5m2] [--no-saturate] VALUE...\n"
       "      The byte that each value becomes, and what that stands for.\n"
       "      --no-saturate: past the largest value comes NaN (e4m3) or "
       "infinity (e5m2).\n"},
      {"decode",
       &RunDecode,
       {{"format"}},
       "decode [--format=e4m3|e5m2] BYTE...\n"
       "      The value of bytes such as 7b or 0x01.\n"},
      {"table",
       &RunTable,
       {{"format"}},
       "table [--format=e4m3|e5m2]\n"
       "      All 256 codes.\n"},
      {"scale",
       &RunScale,
       {{"format"}, {"amax"}, {"rounding"}},
       "scale --amax=VALUE [--format=e4m3|e5m2] [--rounding=exact|pow2|e8m0]\n"
       "      What a tile whose largest magnitude is VALUE is multiplied "
       "by.\n"},
      {"error",
       &RunError,
       {{"tensor"}, {"recipe"}},
       "error FILE.safetensors|FOLDER [--tensor=NAME] [--recipe=all]\n"
       "      What each recipe's forward cast loses of each matrix: signal to\n"
       "      noise, share that saturates, share that becomes zero. A folder "
       "is a\n"
       "      model's, sharded or not.\n"},
      {"amax",
       &RunAmax,
       {{"tensor"}, {"granularity"}, {"device"}},
       "amax FILE.safetensors [--tensor=NAME] [--granularity=tensor]\n"
       "       [--device=auto|cpu|cuda|cuda:N]\n"
       "      Largest magnitudes of each tensor, one for each tile: tensor, "
       "row,\n"
       "      column, 1x128, 128x1, 128x128, 1x32, 32x1. On a GPU if there is "
       "one.\n"},
  };
  return *commands;
}

std::string Help() {
  std::string help =
      "usage: float8 COMMAND [FLAGS] ...\n"
      "\n"
      "Float8 numbers and what casting to them loses. --format is e4m3 unless "
      "given.\n"
      "\n";
  for (const CommandSpec& command : Commands()) {
    absl::StrAppend(&help, "  ", command.usage);
  }
  absl::StrAppend(&help, "\nRecipes: all, ",
                  absl::StrJoin(Float8Recipes(), ", "),
                  "\nExit codes: 0 done, 1 failed, 2 wrong command line.\n");
  return help;
}

CommandResult Usage(absl::string_view message) {
  return {2, "",
          absl::StrCat("float8: ", message,
                       "\nfloat8 --help lists the commands.\n")};
}

}  // namespace

CommandResult RunFloat8Command(absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help") return {0, Help(), ""};
  }
  if (arguments.empty()) return Usage("no command");
  for (const CommandSpec& command : Commands()) {
    if (command.name != arguments[0]) continue;
    const absl::StatusOr<CommandLine> line =
        ParseCommandLine(command.name, command.flags, arguments.subspan(1));
    if (!line.ok()) return Usage(line.status().message());
    absl::StatusOr<std::string> out = command.run(*line);
    if (out.ok()) return {0, *std::move(out), ""};
    if (absl::IsInvalidArgument(out.status())) {
      return Usage(out.status().message());
    }
    return {1, "", absl::StrCat("float8: ", out.status().message(), "\n")};
  }
  return Usage(absl::StrCat("no command \"", arguments[0], "\""));
}

}  // namespace octet::tools
