// SPDX-License-Identifier: Apache-2.0

// <immintrin.h> where the CPU is an x86, else nothing.
#ifndef OCTET_BASE_SIMD_INTRINSICS_H_
#define OCTET_BASE_SIMD_INTRINSICS_H_

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own header leaves a vector unset where its value does not matter.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#endif  // OCTET_BASE_SIMD_INTRINSICS_H_
