// Storage types, their conversions, and loads and stores of several elements
// at once. All arithmetic is in FP32; only memory holds 16-bit numbers.
#pragma once
#include "mma.cuh"

namespace reprise {

struct fp16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(fp16 x) { return half_to_float(x.bits); }
__device__ __forceinline__ float to_float(bf16 x) { return float_from_bits(uint32_t(x.bits) << 16); }

template <class T>
struct storage;
template <>
struct storage<float> {
  static __device__ __forceinline__ float round(float x) { return x; }
};
template <>
struct storage<fp16> {
  static __device__ __forceinline__ fp16 round(float x) { return {float_to_half(x)}; }
  static __device__ __forceinline__ uint32_t pair(float low, float high) { return floats_to_halves(low, high); }
  static __device__ __forceinline__ void unpair(float &low, float &high, uint32_t word) {
    low = half_to_float((unsigned short)(word));
    high = half_to_float((unsigned short)(word >> 16));
  }
};
template <>
struct storage<bf16> {
  static __device__ __forceinline__ bf16 round(float x) { return {float_to_bfloat(x)}; }
  static __device__ __forceinline__ uint32_t pair(float low, float high) { return floats_to_bfloats(low, high); }
  static __device__ __forceinline__ void unpair(float &low, float &high, uint32_t word) {
    low = float_from_bits(word << 16);
    high = float_from_bits(word & 0xffff0000u);
  }
};

// V neighbours in memory, moved by as few instructions as their alignment allows.
template <class T, int V, bool Paired = sizeof(T) == 2 && V % 2 == 0>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) group {
  T element[V];
};

// 16-bit neighbours are also words of two, the form in which they are converted:
// one by one, a pair would take three more instructions each way.
template <class T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) group<T, V, true> {
  union {
    uint32_t word[V / 2];
    T element[V];
  };
};

// A group as it lies in memory. Kernels that want several groups on their way
// at once fetch them all before they widen the first.
template <int V, class T>
__device__ __forceinline__ group<T, V> fetch(const T *from) { return *reinterpret_cast<const group<T, V> *>(from); }

template <int V, class T>
__device__ __forceinline__ void widen(float (&out)[V], const group<T, V> &g) {
  if constexpr (sizeof(T) == 2 && V % 2 == 0) {
#pragma unroll
    for (int i = 0; i < V; i += 2)
      storage<T>::unpair(out[i], out[i + 1], g.word[i / 2]);
  } else {
#pragma unroll
    for (int i = 0; i < V; i++)
      out[i] = to_float(g.element[i]);
  }
}

template <int V, class T>
__device__ __forceinline__ void load(float (&out)[V], const T *from) { widen<V>(out, fetch<V>(from)); }

// The Tail elements of a group that exist, by the fewest loads.
template <int Width, int Tail, int At, class T, int V>
__device__ __forceinline__ void fetch_tail(group<T, V> &g, const T *from) {
  if constexpr (Width > 0) {
    if constexpr ((Tail & Width) != 0) {
      const group<T, Width> part = fetch<Width>(from + At);
#pragma unroll
      for (int i = 0; i < Width; i++)
        g.element[At + i] = part.element[i];
    }
    fetch_tail<Width / 2, Tail, (Tail & Width) != 0 ? At + Width : At>(g, from);
  }
}

// V channels from `channel` on, of C. The last group of a padded map reaches
// beyond the channels, where nobody need have written: zeros take their place.
template <int C, int V, class T>
__device__ __forceinline__ group<T, V> fetch_channels(const T *from, int channel) {
  if constexpr (C % V != 0) {
    if (channel + V > C) {
      group<T, V> g = {};
      fetch_tail<V / 2, C % V, 0>(g, from);
      return g;
    }
  }
  return fetch<V>(from);
}

template <class T, int V>
__device__ __forceinline__ group<T, V> narrow(const float (&in)[V]) {
  group<T, V> g;
  if constexpr (sizeof(T) == 2 && V % 2 == 0) {
#pragma unroll
    for (int i = 0; i < V; i += 2)
      g.word[i / 2] = storage<T>::pair(in[i], in[i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < V; i++)
      g.element[i] = storage<T>::round(in[i]);
  }
  return g;
}

template <int V, class T>
__device__ __forceinline__ void store(T *to, const float (&in)[V]) { *reinterpret_cast<group<T, V> *>(to) = narrow<T>(in); }

template <class T>
__device__ __forceinline__ T *pointer(uint64_t address) { return reinterpret_cast<T *>(address); }

// One of two types.
template <bool First, class A, class B>
struct choice {
  using type = A;
};
template <class A, class B>
struct choice<false, A, B> {
  using type = B;
};

template <class I>
__host__ __device__ constexpr I ceiling(I a, I b) { return (a + b - 1) / b; }
template <class I>
__host__ __device__ constexpr I smaller(I a, I b) { return a < b ? a : b; }
template <class I>
__host__ __device__ constexpr I larger(I a, I b) { return a > b ? a : b; }

// Element offset of a row of a flattened tensor. Rank 1: the generator has
// merged the three outer dimensions, which saves two divisions.
template <class Index, int Rank>
__device__ __forceinline__ Index row_offset(Index row, const int64_t *extent, const int64_t *stride) {
  if constexpr (Rank == 1) {
    return row * Index(stride[2]);
  } else {
    const Index e2 = Index(extent[2]), e1 = Index(extent[1]);
    const Index i2 = row % e2, rest = row / e2;
    return (rest / e1) * Index(stride[0]) + (rest % e1) * Index(stride[1]) + i2 * Index(stride[2]);
  }
}

// V inner neighbours of a flattened tensor. V = 1 also serves a tensor whose
// inner dimension is not contiguous.
template <int V, class Index>
__device__ __forceinline__ Index inner_offset(Index inner, const int64_t *stride) {
  return V > 1 ? inner : inner * Index(stride[3]);
}

// Where a pixel of a map lies.
template <class Index>
__device__ __forceinline__ Index pixel_offset(const reprise_map &m, Index n, Index y, Index x) {
  return n * Index(m.image) + y * Index(m.row) + x * Index(m.column);
}

} // namespace reprise
