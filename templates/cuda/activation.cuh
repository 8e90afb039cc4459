// Activation functions and their derivatives, in FP32.
#pragma once
#include "types.cuh"

namespace reprise {

enum activation { identity,
                  silu,
                  relu,
                  leaky_relu,
                  sigmoid,
                  tangent };

// exp(x) from the hardware's power of two. The product x * log2(e) is kept to
// twice the precision of a float, because its error would be magnified by |x|.
__device__ __forceinline__ float exponential(float x) {
  const float log2e = 0x1.715476p+0f, log2e_rest = 0x1.4ae0cp-26f, ln2 = 0x1.62e43p-1f;
  const float high = x * log2e;
  const float rest = fused_multiply_add(x, log2e_rest, fused_multiply_add(x, log2e, -high));
  const float power = power_of_two(high);
  // At the ends of the range high or power is infinite and rest is not a number.
  return high > -0x1.f8p+6f && high < 0x1p+7f ? fused_multiply_add(power, rest * ln2, power) : power;
}

__device__ __forceinline__ float sigmoid_of(float x) { return divide(0x1p+0f, 0x1p+0f + exponential(-x)); }

// tanh(x) = 1 - 2/(exp(2x)+1), but its series near 0, where that cancels.
__device__ __forceinline__ float tangent_of(float x) {
  const float s = x * x;
  if (s < 0x1p-8f) {
    const float series = fused_multiply_add(s, fused_multiply_add(s, -0x1.ba1ba2p-5f, 0x1.111112p-3f), -0x1.555556p-2f);
    return fused_multiply_add(x * s, series, x);
  }
  return 0x1p+0f - divide(0x1p+1f, exponential(x + x) + 0x1p+0f);
}

// The same for a result that is stored in 16 bits: two special functions with
// a relative error below 2^-18, where 16 bits hold 11 digits at most, in place
// of an exact division. Below 2^-126 it is zero.
__device__ __forceinline__ float sigmoid_16(float x) { return flushed_reciprocal(0x1p+0f + flushed_power_of_two(x * -0x1.715476p+0f)); }

// exp(x) for a result of T that is at most 1: in 16 bits one special function,
// with a relative error below 2^-16.
template <class T>
__device__ __forceinline__ float exponential_for(float x) {
  if constexpr (sizeof(T) == 2)
    return flushed_power_of_two(x * 0x1.715476p+0f);
  else
    return exponential(x);
}

template <class T>
__device__ __forceinline__ float sigmoid_for(float x) {
  if constexpr (sizeof(T) == 2)
    return sigmoid_16(x);
  else
    return sigmoid_of(x);
}

// Slope, of leaky_relu, is a float by its bits: C++17 has no float parameters
// of templates. T is what x was stored as.
template <int A, uint32_t Slope, class T>
__device__ __forceinline__ float activate(float x) {
  if constexpr (A == silu)
    return x * sigmoid_for<T>(x);
  else if constexpr (A == relu)
    return x <= 0x0p+0f ? 0x0p+0f : x;
  else if constexpr (A == leaky_relu)
    return x < 0x0p+0f ? x * float_from_bits(Slope) : x;
  else if constexpr (A == sigmoid)
    return sigmoid_for<T>(x);
  else if constexpr (A == tangent)
    return tangent_of(x);
  else
    return x;
}

// The derivative at x, the value before the activation. At the kink of relu
// and leaky_relu it is that of the left side.
template <int A, uint32_t Slope, class T>
__device__ __forceinline__ float activate_derivative(float x) {
  if constexpr (A == silu) {
    const float s = sigmoid_for<T>(x);
    return s * fused_multiply_add(x, 0x1p+0f - s, 0x1p+0f);
  } else if constexpr (A == relu) {
    return x > 0x0p+0f ? 0x1p+0f : 0x0p+0f;
  } else if constexpr (A == leaky_relu) {
    return x > 0x0p+0f ? 0x1p+0f : float_from_bits(Slope);
  } else if constexpr (A == sigmoid) {
    const float s = sigmoid_for<T>(x);
    return s * (0x1p+0f - s);
  } else if constexpr (A == tangent) {
    const float t = tangent_of(x);
    return fused_multiply_add(-t, t, 0x1p+0f);
  } else {
    return 0x1p+0f;
  }
}

} // namespace reprise
