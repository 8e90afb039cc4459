// Products of attention: what a warp multiplies while it walks over columns.
//
// A warp has 16 rows of one operand and meets the columns of others, Step at a time.
// In 16 bits the rows are operands of the tensor cores in registers, columns come
// through shared memory, and what is computed of a score goes from the result of
// one product to the operand of the next in registers. In FP32 both are read where
// they lie, from the nearest cache, and each lane multiplies what the tensor cores
// would give it.
#pragma once
#include "tile.cuh"

namespace reprise {

// The positions of one matrix of an operand, each of Width elements.
template <class T, class Index>
struct attention_matrix {
  T *data;
  Index position, element; // strides
  int count;

  __device__ __forceinline__ attention_matrix(const reprise_tensor &t, int inner, int count) : position(Index(t.stride[2])), element(Index(t.stride[3])), count(count) {
    data = pointer<T>(t.data) + Index(blockIdx.z) / Index(inner) * Index(t.stride[0]) + Index(blockIdx.z) % Index(inner) * Index(t.stride[1]);
  }

  template <bool Vector>
  __device__ __forceinline__ T *at(int position_, int element_) const { return data + Index(position_) * position + Index(element_) * Index(Vector ? 1 : element); }
};

// Which of 16 x 8 results of a product a lane has: those of its row and the one 8
// further, of its column and the next.
struct attention_lane {
  static __device__ __forceinline__ int row() { return int(threadIdx.x) % 32 / 4; }
  static __device__ __forceinline__ int column() { return int(threadIdx.x) % 4 * 2; }
};

template <class T, int Width>
constexpr int attention_width = sizeof(T) == 2 ? ceiling(Width, 16) * 16 : ceiling(Width, 8) * 8;

// Sixteen rows of an operand. Vector: elements of a position lie side by side,
// eight of them aligned to 16 bytes.
template <class T, class Index, int Width, bool Vector>
struct attention_rows {
  static constexpr int parts = ceiling(Width, 16);
  uint32_t part[parts][4];

  __device__ __forceinline__ attention_rows(const attention_matrix<const T, Index> &from, int first) {
#pragma unroll
    for (int i = 0; i < parts; i++)
#pragma unroll
      for (int h = 0; h < 4; h++)
        part[i][h] = two(from, first + attention_lane::row() + h % 2 * 8, i * 16 + attention_lane::column() + h / 2 * 8);
  }

  static __device__ __forceinline__ uint32_t two(const attention_matrix<const T, Index> &from, int position, int element) {
    group<T, 2> g = {};
    if (position < from.count) {
      if constexpr (Vector) {
        if (Width % 16 == 0 || element < Width)
          g = fetch<2>(from.template at<true>(position, element));
      } else {
        if (element < Width)
          g.element[0] = *from.template at<false>(position, element);
        if (element + 1 < Width)
          g.element[1] = *from.template at<false>(position, element + 1);
      }
    }
    return g.word[0];
  }
};

template <class Index, int Width, bool Vector>
struct attention_rows<float, Index, Width, Vector> {
  const attention_matrix<const float, Index> &from;
  int row[2]; // the last one in place of those that do not exist

  __device__ __forceinline__ attention_rows(const attention_matrix<const float, Index> &from, int first) : from(from) {
    row[0] = smaller(first + attention_lane::row(), from.count - 1);
    row[1] = smaller(first + attention_lane::row() + 8, from.count - 1);
  }
};

// Columns of an operand, in 16 bits a tile in shared memory: Columns of them, those
// that do not exist are zeros.
template <class T, class Index, int Width, bool Vector, int Columns>
struct attention_columns {
  using memory = tile<T, Columns, attention_width<T, Width>>;
  memory &held;

  __device__ __forceinline__ attention_columns(memory &held, const attention_matrix<const T, Index> &, int) : held(held) {}

  template <int Threads>
  static __device__ __forceinline__ void fill(memory &to, const attention_matrix<const T, Index> &from, int first) {
    constexpr int across = attention_width<T, Width> / chunk<T>;
#pragma unroll
    for (int i = 0; i < ceiling(Columns * across, Threads); i++) {
      const int c = int(threadIdx.x) + i * Threads;
      if (Columns * across % Threads != 0 && c >= Columns * across)
        break;
      const int column = c / across, element = c % across * chunk<T>;
      const bool exists = first + column < from.count && element < Width;
      bring<Vector>(to.at(column, element), from.template at<Vector>(exists ? first + column : 0, exists ? element : 0), exists ? smaller(Width - element, chunk<T>) : 0, from.element);
    }
  }

  // result[j] += rows times columns, for the eight columns from first + 8 * j on.
  template <int N>
  __device__ __forceinline__ void dot(float (&result)[N][4], const attention_rows<T, Index, Width, Vector> &rows, int first) const {
    const int lane = threadIdx.x % 32, low = lane % 8 + lane / 16 * 8, side = lane / 8 % 2 * 8;
#pragma unroll
    for (int i = 0; i < attention_rows<T, Index, Width, Vector>::parts; i++)
#pragma unroll
      for (int j = 0; j < N; j += 2) {
        uint32_t r[4];
        load_matrix_4(r, shared_address(held.at(first + j * 8 + low, i * 16 + side)));
        multiply_16(result[j], rows.part[i], {r[0], r[1]}, static_cast<const T *>(nullptr));
        multiply_16(result[j + 1], rows.part[i], {r[2], r[3]}, static_cast<const T *>(nullptr));
      }
  }

  // sum += weights times columns; weights[j] are those of eight columns.
  template <int N, int Parts>
  __device__ __forceinline__ void mix(float (&sum)[Parts][4], const float (&weights)[N][4], int first) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < N; j += 2) {
      const uint32_t a[4] = {storage<T>::pair(weights[j][0], weights[j][1]), storage<T>::pair(weights[j][2], weights[j][3]),
                             storage<T>::pair(weights[j + 1][0], weights[j + 1][1]), storage<T>::pair(weights[j + 1][2], weights[j + 1][3])};
#pragma unroll
      for (int n = 0; n < Parts; n += 2) {
        uint32_t r[4];
        load_matrix_4_transposed(r, shared_address(held.at(first + j * 8 + lane % 16, n * 8 + lane / 16 * 8)));
        multiply_16(sum[n], a, {r[0], r[1]}, static_cast<const T *>(nullptr));
        multiply_16(sum[n + 1], a, {r[2], r[3]}, static_cast<const T *>(nullptr));
      }
    }
  }
};

template <class Index, int Width, bool Vector, int Columns>
struct attention_columns<float, Index, Width, Vector, Columns> {
  struct memory {};
  const attention_matrix<const float, Index> &from;
  int start;

  __device__ __forceinline__ attention_columns(memory &, const attention_matrix<const float, Index> &from, int start) : from(from), start(start) {}

  // The last column in place of those that do not exist: their weights are zero.
  __device__ __forceinline__ int column(int i) const { return smaller(start + i, from.count - 1); }

  __device__ __forceinline__ void two(float (&b)[2], int position, int element) const {
    if constexpr (Vector) {
      load<2>(b, from.template at<true>(position, element));
    } else {
#pragma unroll
      for (int h = 0; h < 2; h++)
        b[h] = Width % 8 == 0 || element + h < Width ? *from.template at<false>(position, element + h) : 0x0p+0f;
    }
  }

  template <int N>
  __device__ __forceinline__ void dot(float (&result)[N][4], const attention_rows<float, Index, Width, Vector> &rows, int first) const {
    constexpr int V = Vector ? 4 : 1;
#pragma unroll 1
    for (int i = 0; i < Width; i += V) {
      float a[2][V], b[V];
#pragma unroll
      for (int h = 0; h < 2; h++)
        load<V>(a[h], rows.from.template at<Vector>(rows.row[h], i));
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
          load<V>(b, from.template at<Vector>(column(first + j * 8 + attention_lane::column() + e), i));
#pragma unroll
          for (int v = 0; v < V; v++) {
            result[j][e] = fused_multiply_add(a[0][v], b[v], result[j][e]);
            result[j][e + 2] = fused_multiply_add(a[1][v], b[v], result[j][e + 2]);
          }
        }
    }
  }

  // The four lanes of a row take turns with each other's weights.
  template <int N, int Parts>
  __device__ __forceinline__ void mix(float (&sum)[Parts][4], const float (&weights)[N][4], int first) const {
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
          const float upper = shuffle_xor(weights[j][e], turn), lower = shuffle_xor(weights[j][e + 2], turn);
          const int position = column(first + j * 8 + (attention_lane::column() ^ turn * 2) + e);
#pragma unroll
          for (int n = 0; n < Parts; n++) {
            float b[2];
            two(b, position, n * 8 + attention_lane::column());
#pragma unroll
            for (int h = 0; h < 2; h++) {
              sum[n][h] = fused_multiply_add(upper, b[h], sum[n][h]);
              sum[n][h + 2] = fused_multiply_add(lower, b[h], sum[n][h + 2]);
            }
          }
        }
  }
};

} // namespace reprise
