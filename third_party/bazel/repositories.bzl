# SPDX-License-Identifier: Apache-2.0

"""The libraries, by repository name: one list for WORKSPACE and MODULE.bazel."""

load("//third_party/absl:repository.bzl", "absl_repository")
load("//third_party/benchmark:repository.bzl", "benchmark_repository")
load("//third_party/cuda:repository.bzl", "cuda_repository")
load("//third_party/cudnn:repository.bzl", "cudnn_frontend_repository", "cudnn_repository")
load("//third_party/googletest:repository.bzl", "googletest_repository")
load("//third_party/nlohmann_json:repository.bzl", "nlohmann_json_repository")
load("//third_party/onednn:repository.bzl", "onednn_repository")
load("//third_party/tomlplusplus:repository.bzl", "tomlplusplus_repository")

REPOSITORIES = {
    "com_github_google_benchmark": benchmark_repository,
    "com_google_absl": absl_repository,
    "com_google_googletest": googletest_repository,
    "cudnn_frontend": cudnn_frontend_repository,
    "local_cuda": cuda_repository,
    "local_cudnn": cudnn_repository,
    "nlohmann_json": nlohmann_json_repository,
    "onednn": onednn_repository,
    "tomlplusplus": tomlplusplus_repository,
}
