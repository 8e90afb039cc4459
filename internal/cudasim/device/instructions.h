// The functions that the kernels write as PTX, in C++: this file stands in for
// the section of a generated kernel file that holds all inline assembly. It takes
// the compiler's own functions, because the headers of the C library are more
// source than a kernel file.
#pragma once
#include "abi.h"

// Runs for a whole warp on what its lanes hand over: no accesses of the kernel.
#define CUDASIM_UNCHECKED inline __attribute__((no_sanitize("thread")))

namespace reprise {

inline void wait_for_launch_before() { cudasim_wait_for_launch_before(); }
inline uint32_t shared_address(const void *p) { return cudasim_shared_address(p); }
inline void copy_async_16(uint32_t to, const void *from, int bytes) { cudasim_copy_begin(to, from, bytes); }
inline void copy_commit() { cudasim_copy_commit(); }
template <int Pending>
inline void copy_wait() {
  cudasim_copy_wait(Pending);
}

inline float float_from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

inline uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Rounds to the nearest, ties away from zero, as cvt.rna does; 10 bits of fraction stay.
inline uint32_t round_tf32(float x) {
  const uint32_t bits = bits_of(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

inline float half_to_float(unsigned short bits) {
  _Float16 h;
  __builtin_memcpy(&h, &bits, sizeof h);
  return float(h);
}

inline unsigned short float_to_half(float x) {
  const _Float16 h = _Float16(x);
  unsigned short bits;
  __builtin_memcpy(&bits, &h, sizeof bits);
  return bits;
}

inline unsigned short float_to_bfloat(float x) {
  const uint32_t bits = bits_of(x);
  if (x != x)
    return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline uint32_t floats_to_halves(float low, float high) { return float_to_half(low) | uint32_t(float_to_half(high)) << 16; }
inline uint32_t floats_to_bfloats(float low, float high) { return float_to_bfloat(low) | uint32_t(float_to_bfloat(high)) << 16; }

inline float fused_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float square_root(float x) { return __builtin_sqrtf(x); }
inline float power_of_two(float x) { return __builtin_exp2f(x); }
inline float reciprocal(float x) { return 1.0f / x; }
inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }
inline float flushed_power_of_two(float x) { return flushed(power_of_two(flushed(x))); }
inline float flushed_reciprocal(float x) { return flushed(reciprocal(flushed(x))); }
inline float approximate_logarithm_of_two(float x) { return __builtin_log2f(x); }
inline float divide(float a, float b) { return a / b; }
inline float larger(float a, float b) { return a != a || b != b ? __builtin_nanf("") : (a > b ? a : b); }
inline uint32_t multiply_high(uint32_t a, uint32_t b) { return uint32_t((uint64_t(a) * b) >> 32); }

template <class Word>
struct shuffle_operand {
  Word in, out;
  int lanes;
};

template <class Word>
CUDASIM_UNCHECKED void shuffle_warp(void *const operand[32]) {
  for (int i = 0; i < 32; i++) {
    auto *o = static_cast<shuffle_operand<Word> *>(operand[i]);
    o->out = static_cast<shuffle_operand<Word> *>(operand[(i ^ o->lanes) & 31])->in;
  }
}

template <class Word>
inline Word shuffle_xor(Word x, int lanes) {
  shuffle_operand<Word> o = {x, x, lanes};
  cudasim_warp(shuffle_warp<Word>, &o);
  return o.out;
}

struct matrix_operand {
  uint32_t (&r)[4];
  uint32_t at;
};

// Four 8x8 matrices of 16-bit elements. Lane 8 * m + i gives the address of row
// i of matrix m; lane t receives elements (t / 4, t % 4 * 2) and the next.
template <bool Transposed>
CUDASIM_UNCHECKED void load_matrix_warp(void *const operand[32]) {
  uint16_t element[4][8][8];
  for (int lane = 0; lane < 32; lane++)
    __builtin_memcpy(element[lane / 8][lane % 8], cudasim_shared_read(static_cast<matrix_operand *>(operand[lane])->at, 16, lane), 16);
  for (int lane = 0; lane < 32; lane++)
    for (int m = 0; m < 4; m++) {
      const int i = lane / 4, j = lane % 4 * 2;
      const uint32_t low = Transposed ? element[m][j][i] : element[m][i][j];
      const uint32_t high = Transposed ? element[m][j + 1][i] : element[m][i][j + 1];
      static_cast<matrix_operand *>(operand[lane])->r[m] = low | high << 16;
    }
}

inline void load_matrix_4(uint32_t (&r)[4], uint32_t at) {
  matrix_operand o = {r, at};
  cudasim_warp(load_matrix_warp<false>, &o);
}

inline void load_matrix_4_transposed(uint32_t (&r)[4], uint32_t at) {
  matrix_operand o = {r, at};
  cudasim_warp(load_matrix_warp<true>, &o);
}

struct product_operand {
  float (&c)[4];
  const uint32_t (&a)[4];
  const uint32_t (&b)[2];
};

inline float low_bfloat(uint32_t two) { return float_from_bits(two << 16); }
inline float high_bfloat(uint32_t two) { return float_from_bits(two & 0xffff0000u); }
inline float low_half(uint32_t two) { return half_to_float((unsigned short)two); }
inline float high_half(uint32_t two) { return half_to_float((unsigned short)(two >> 16)); }

// C += A B in the layout of PTX: lane t holds rows t / 4 and t / 4 + 8 of C,
// columns t % 4 * 2 and the next. Products of these types are exact in double.
template <int K>
CUDASIM_UNCHECKED void accumulate_warp(void *const operand[32], const float (&a)[16][K], const float (&b)[K][8]) {
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float &c = static_cast<product_operand *>(operand[lane])->c[i];
      double sum = double(c);
      for (int k = 0; k < K; k++)
        sum += double(a[row][k]) * double(b[k][column]);
      c = float(sum);
    }
}

template <float Low(uint32_t), float High(uint32_t)>
CUDASIM_UNCHECKED void product_16_warp(void *const operand[32]) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; lane++) {
    const auto *o = static_cast<const product_operand *>(operand[lane]);
    const int row = lane / 4, column = lane % 4 * 2;
    for (int i = 0; i < 4; i++) {
      a[row + i % 2 * 8][column + i / 2 * 8] = Low(o->a[i]);
      a[row + i % 2 * 8][column + i / 2 * 8 + 1] = High(o->a[i]);
    }
    for (int i = 0; i < 2; i++) {
      b[column + i * 8][row] = Low(o->b[i]);
      b[column + i * 8 + 1][row] = High(o->b[i]);
    }
  }
  accumulate_warp<16>(operand, a, b);
}

CUDASIM_UNCHECKED void product_8_warp(void *const operand[32]) {
  float a[16][8], b[8][8];
  for (int lane = 0; lane < 32; lane++) {
    const auto *o = static_cast<const product_operand *>(operand[lane]);
    const int row = lane / 4, column = lane % 4;
    for (int i = 0; i < 4; i++)
      a[row + i % 2 * 8][column + i / 2 * 4] = float_from_bits(o->a[i]);
    for (int i = 0; i < 2; i++)
      b[column + i * 4][row] = float_from_bits(o->b[i]);
  }
  accumulate_warp<8>(operand, a, b);
}

inline void mma_m16n8k16_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  product_operand o = {c, a, b};
  cudasim_warp(product_16_warp<low_bfloat, high_bfloat>, &o);
}

inline void mma_m16n8k16_fp16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  product_operand o = {c, a, b};
  cudasim_warp(product_16_warp<low_half, high_half>, &o);
}

inline void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  product_operand o = {c, a, b};
  cudasim_warp(product_8_warp, &o);
}

} // namespace reprise
