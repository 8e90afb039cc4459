// Sums over the pixels of a convolution's result, channel by channel, taken
// while the result is written: batch statistics in a forward pass, and in a
// backward pass the two sums of the batch norm whose gradient the result is.
//
// Each thread keeps V of C channels over all tiles of its block. At the end the
// threads of a channel merge through shared memory, in order, and the block
// leaves one row of partial results, which the finishing kernel of the reduction
// merges (see reduce.cuh).
//
// Threads of a block that can agree on where a channel's values are counted from
// use `tiled`, whose sums merge by plain additions; others use `of`.
#pragma once
#include "normalize.cuh"
#include "reduce.cuh"

namespace reprise {

// For sums that need no coefficients of a channel.
struct no_coefficients {
  __device__ __forceinline__ no_coefficients(const reprise_convolution_arguments &, int) {}
};

// A result that nobody sums.
struct no_sums {
  template <int C, int V, class Y>
  struct of {
    static constexpr bool wanted = false, reads_below = false;
    using below = Y;
    using part = one_sum;
    using coefficients = no_coefficients;
    __device__ __forceinline__ void take(const float (&)[V], const group<below, V> &, const no_coefficients &) {}
    __device__ __forceinline__ void follow(const float (&)[V], const group<below, V> &, const no_coefficients &) {}
    __device__ __forceinline__ part result(int) const { return {}; }
    static __device__ __forceinline__ void start(const reprise_convolution_arguments &) {}
  };

  template <int C, int V, class Y>
  struct tiled : of<C, V, Y> {
    __device__ __forceinline__ void begin(const float (&)[V]) {}
    template <int Lanes>
    __device__ __forceinline__ void begin_warp(const float (&)[V]) {}
    __device__ __forceinline__ two_sums result(int) const { return {}; }
    __device__ __forceinline__ float counted() const { return 0x0p+0f; }
    template <int N>
    __device__ __forceinline__ void leave_first(float *) const {}
    static __device__ __forceinline__ one_sum whole(const two_sums &, float, float) { return {}; }
  };
};

// Moments of the result as it was stored. Values are summed from the first one
// that a thread meets, so that no digits cancel when |mean| is far above the
// deviation.
struct statistics_sums {
  template <int C, int V, class Y>
  struct of {
    static constexpr bool wanted = true, reads_below = false;
    using below = Y;
    using part = moments;
    using coefficients = no_coefficients;
    float first[V] = {}, sum[V] = {}, squares[V] = {}, count = 0x0p+0f;

    __device__ __forceinline__ void take(const float (&y)[V], const group<below, V> &at, const no_coefficients &none) {
#pragma unroll
      for (int i = 0; i < V; i++)
        if (count == 0x0p+0f)
          first[i] = y[i];
      follow(y, at, none);
    }

    // The same for values that are not the first.
    __device__ __forceinline__ void follow(const float (&y)[V], const group<below, V> &, const no_coefficients &) {
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float d = y[i] - first[i];
        sum[i] += d;
        squares[i] = fused_multiply_add(d, d, squares[i]);
      }
      count += 0x1p+0f;
    }

    __device__ __forceinline__ moments result(int i) const {
      const float mean = count > 0x0p+0f ? divide(sum[i], count) : 0x0p+0f;
      return {count, first[i] + mean, fused_multiply_add(-sum[i], mean, squares[i])};
    }

    // The counter moves here and is read by the finishing kernel.
    static __device__ __forceinline__ void start(const reprise_convolution_arguments &p) {
      if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0)
        *pointer<int64_t>(p.batches) += 1;
    }
  };

  // The same for threads of a block that count from one value, that of the
  // block's first pixel.
  template <int C, int V, class Y>
  struct tiled {
    static constexpr bool wanted = true, reads_below = false;
    using below = Y;
    using part = moments;
    using coefficients = no_coefficients;
    float first[V], sum[V] = {}, squares[V] = {}, count = 0x0p+0f;
    bool begun = false;

    __device__ __forceinline__ void begin(const float (&y)[V]) {
      if (begun)
        return;
      begun = true;
#pragma unroll
      for (int i = 0; i < V; i++)
        first[i] = y[i];
    }

    // The value is that of the warp's first Lanes lanes, for lanes as far apart.
    template <int Lanes>
    __device__ __forceinline__ void begin_warp(const float (&y)[V]) {
      if (begun)
        return;
      begin(y);
#pragma unroll
      for (int lanes = Lanes; lanes < 32; lanes *= 2)
#pragma unroll
        for (int i = 0; i < V; i++) {
          const float lower = shuffle_xor(first[i], lanes);
          first[i] = (threadIdx.x & lanes) != 0 ? lower : first[i];
        }
    }

    __device__ __forceinline__ void take(const float (&y)[V], const group<below, V> &, const no_coefficients &) {
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float d = y[i] - first[i];
        sum[i] += d;
        squares[i] = fused_multiply_add(d, d, squares[i]);
      }
      count += 0x1p+0f;
    }

    __device__ __forceinline__ two_sums result(int i) const { return {sum[i], squares[i]}; }
    __device__ __forceinline__ float counted() const { return count; }
    template <int N>
    __device__ __forceinline__ void leave_first(float *to) const {
#pragma unroll
      for (int i = 0; i < N; i++)
        to[i] = first[i];
    }

    // What all threads of a channel have met.
    static __device__ __forceinline__ moments whole(const two_sums &total, float count, float first) {
      if (count == 0x0p+0f)
        return {};
      const float mean = divide(total.a, count);
      return {count, first + mean, fused_multiply_add(-total.a, mean, total.b)};
    }
    static __device__ __forceinline__ void start(const reprise_convolution_arguments &p) { of<C, V, Y>::start(p); }
  };
};

// With g the gradient before the activation: sum g and sum g * xhat.
template <int A, uint32_t Slope, class X>
struct gradient_sums {
  template <int C, int V, class Y>
  struct of {
    static constexpr bool wanted = true, reads_below = true;
    using below = X;
    using part = two_sums;
    using coefficients = reprise::coefficients<C, V>;
    two_sums sum[V] = {};

    __device__ __forceinline__ void take(const float (&dy)[V], const group<X, V> &at, const coefficients &k) {
      float x[V];
      widen<V>(x, at);
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float xhat = k.hat(x[i], i);
        const float g = dy[i] * activate_derivative<A, Slope, X>(k.apply(xhat, i));
        sum[i].a += g;
        sum[i].b = fused_multiply_add(g, xhat, sum[i].b);
      }
    }

    __device__ __forceinline__ void follow(const float (&dy)[V], const group<X, V> &at, const coefficients &k) { take(dy, at, k); }

    __device__ __forceinline__ two_sums result(int i) const { return sum[i]; }
    static __device__ __forceinline__ void start(const reprise_convolution_arguments &) {}
  };

  template <int C, int V, class Y>
  struct tiled : of<C, V, Y> {
    __device__ __forceinline__ void begin(const float (&)[V]) {}
    template <int Lanes>
    __device__ __forceinline__ void begin_warp(const float (&)[V]) {}
    __device__ __forceinline__ float counted() const { return 0x0p+0f; }
    template <int N>
    __device__ __forceinline__ void leave_first(float *) const {}
    static __device__ __forceinline__ two_sums whole(const two_sums &total, float, float) { return total; }
  };
};

// The parts of one channel, Rows of them Step apart, in order.
template <int Rows, int Step, class Part>
__device__ __forceinline__ Part merge_column(const Part *from) {
  Part total = {};
#pragma unroll 8
  for (int r = 0; r < Rows; r++)
    total.merge(from[r * Step]);
  return total;
}

// Moments take two rounds, as in batch_statistics_finish, which needs one division.
template <int Rows, int Step>
__device__ __forceinline__ moments merge_column(const moments *from) {
  float count = 0x0p+0f, weighted = 0x0p+0f, squares = 0x0p+0f;
#pragma unroll 4
  for (int r = 0; r < Rows; r++) {
    count += from[r * Step].count;
    weighted = fused_multiply_add(from[r * Step].count, from[r * Step].mean, weighted);
  }
  const float mean = count > 0x0p+0f ? divide(weighted, count) : 0x0p+0f;
#pragma unroll 4
  for (int r = 0; r < Rows; r++) {
    const float d = from[r * Step].mean - mean;
    squares += fused_multiply_add(from[r * Step].count * d, d, from[r * Step].squares);
  }
  return {count, mean, squares};
}

// Where the threads of a block leave the sums of a tiled result: Rows of them for
// each of Columns channels.
template <int Rows, int Columns>
struct tile_parts {
  two_sums sum[Rows * Columns];
  one_sum count[Rows];
  float first[Columns];

  // One thread's V channels.
  template <int V, class Sums>
  __device__ __forceinline__ void leave(const Sums &sums, int row, int column) {
#pragma unroll
    for (int i = 0; i < V; i++)
      sum[row * Columns + column + i] = sums.result(i);
    if (column == 0)
      count[row] = {sums.counted()};
    if (row == 0)
      sums.template leave_first<V>(first + column);
  }

  template <class Sums>
  __device__ __forceinline__ typename Sums::part merge(int column) const {
    return Sums::whole(merge_column<Rows, Columns>(sum + column), merge_column<Rows, 1>(count).a, first[column]);
  }
};

} // namespace reprise
