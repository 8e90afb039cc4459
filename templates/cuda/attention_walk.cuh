// How a block of attention walks over columns, and how its groups of warps put their
// results together.
//
// A block has attention_block rows, 16 a warp, and Groups groups of warps. Of the
// columns it takes Groups * Step at a time, and each group Step of these. In the end
// the groups' results are added in the order of the groups. In 16 bits columns come
// through a ring of stages in dynamic shared memory.
//
// Exponentials are powers of two: scores are multiplied by Alpha * log2(e).
#pragma once
#include "attention_tile.cuh"

namespace reprise {

constexpr int attention_block = 64; // rows

__device__ __forceinline__ float infinity() { return float_from_bits(0x7f800000u); }

// The factor of scores.
template <uint32_t Alpha>
__device__ __forceinline__ float attention_factor() { return float_from_bits(Alpha) * 0x1.715476p+0f; }

// Two to the power x; in 16 bits numbers below 2^-126 are zero.
template <class T>
__device__ __forceinline__ float attention_power(float x) {
  if constexpr (sizeof(T) == 2)
    return flushed_power_of_two(x);
  else
    return power_of_two(x);
}

// What groups do one after the other: the walk in 16 bits, the exchange of results.
template <class Walk, class Exchange>
union attention_memory {
  typename Walk::memory ring;
  Exchange exchange;
};

// The memory of a block: static in FP32.
template <class T, int Bytes, class Memory>
__device__ __forceinline__ Memory &attention_shared() {
  if constexpr (sizeof(T) == 2) {
    static_assert(sizeof(Memory) == Bytes, "not the memory that the launch asks for");
    return dynamic_memory<Memory>();
  } else {
    __shared__ Memory memory;
    return memory;
  }
}

// The columns of two operands, a ring of stages of them. A warp meets Part columns at
// a time.
template <class T, class Index, int First, int Second, bool Vector, int Groups, int Step, int Part, int Stages>
struct attention_walk {
  static constexpr int columns = Groups * Step, threads = 128 * Groups;
  using first_columns = attention_columns<T, Index, First, Vector, columns>;
  using second_columns = attention_columns<T, Index, Second, Vector, columns>;
  struct stage {
    typename first_columns::memory first;
    typename second_columns::memory second;
  };
  struct memory {
    stage ring[Stages];
  };

  memory &shared;
  const attention_matrix<const T, Index> first, second;

  __device__ __forceinline__ int steps() const { return ceiling(first.count, columns); }

  __device__ __forceinline__ void fill(int s) const {
    if (s < steps()) {
      first_columns::template fill<threads>(shared.ring[s % Stages].first, first, s * columns);
      second_columns::template fill<threads>(shared.ring[s % Stages].second, second, s * columns);
    }
    copy_commit();
  }

  // Calls visit(first columns, second columns, at, column) for all parts of the warp:
  // each begins at position `at` of the stage, and at `column` of all columns.
  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
    if constexpr (sizeof(T) == 2)
#pragma unroll
      for (int s = 0; s < Stages - 1; s++)
        fill(s);
#pragma unroll 1
    for (int s = 0; s < steps(); s++) {
      if constexpr (sizeof(T) == 2) {
        copy_wait<Stages - 2>();
        __syncthreads(); // the stage has arrived for all, and all have left the one that is filled next
        fill(s + Stages - 1);
      }
      stage &here = shared.ring[s % Stages];
      const int start = s * columns, group = int(threadIdx.x) / 128 * Step;
#pragma unroll
      for (int at = group; at < group + Step; at += Part)
        if (start + at < first.count)
          visit(first_columns(here.first, first, start), second_columns(here.second, second, start), at, start + at);
    }
    if constexpr (sizeof(T) == 2)
      copy_wait<0>();
  }
};

// Memory through which groups hand their sums over: for each lane of a group
// Values of them.
template <int Values>
struct attention_exchange {
  float value[Values][128];

  __device__ __forceinline__ float &at(int i) { return value[i][threadIdx.x % 128]; }
};

// The first group takes the values of each other group, in order, and gives them to
// add(values).
template <int Groups, int Values, class Give, class Take>
__device__ __forceinline__ void attention_merge(attention_exchange<Values> &exchange, Give give, Take take) {
#pragma unroll 1
  for (int g = 1; g < Groups; g++) {
    __syncthreads(); // the memory has been read
    if (int(threadIdx.x) / 128 == g)
      give(exchange);
    __syncthreads();
    if (threadIdx.x < 128)
      take(exchange);
  }
}

// Writes 16 rows of a result from `first` on, or adds to them.
template <bool Accumulate, int Width, bool Vector, class T, class Index, int Parts>
__device__ __forceinline__ void attention_write(const attention_matrix<T, Index> &to, int first, const float (&sum)[Parts][4], const float (&factor)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = first + attention_lane::row() + h * 8;
    if (row >= to.count)
      continue;
#pragma unroll
    for (int n = 0; n < Parts; n++) {
      const int element = n * 8 + attention_lane::column();
      if (Width % 16 == 0 || element < Width)
        store_two<Vector, Accumulate>(to.template at<Vector>(row, element), to.element, Width - element, sum[n][2 * h] * factor[h], sum[n][2 * h + 1] * factor[h]);
    }
  }
}

// Makes sums of parts of a row those of the row.
__device__ __forceinline__ float attention_row_sum(float value) {
  value += shuffle_xor(value, 1);
  return value + shuffle_xor(value, 2);
}

} // namespace reprise
