// Convolution and its input gradient as an implicit matrix product on tiles.
//
// GEMM view: rows are pixels of the result, counted over the whole batch, so
// that any batch and map size fills its tiles; columns are channels of the
// result; the inner dimension runs over taps and, within a tap, over channels.
//
// Tiling: a block makes BM pixels x BN channels at a time and goes on to the
// tile that lies gridDim.x tiles further. It walks the inner dimension in steps
// of one tap and tile_depth channels through a ring of stages in shared memory,
// filled by asynchronous copies ahead of the arithmetic. Copies outside the map
// bring zeros, which is the padding. The result goes through shared memory too:
// it is written, and summed if wanted, V neighbouring channels at a time.
// Grid: (pixels/BM or fewer, channels/BN, groups * parity classes). Block: 128
// threads, or as many as the kernel has whose launch it takes.
//
// Input gradient of stride S: the pixels of dX fall into S*S parity classes;
// each class meets a fixed subset of the taps, so no product with zero is made.
//
// A narrow layer has too few input channels for a tile of its own: its inner
// dimension runs over all weights of an output channel in one tap, as the
// parameter holds them, and its tiles are gathered element by element.
#pragma once
#include "sums.cuh"
#include "tile.cuh"

namespace reprise {

// Shared memory that a ring may fill; more than 48 KiB would need a launch
// attribute.
constexpr int ring_bytes = 47 << 10;

// The taps that pixels of one parity meet along one axis: tap first + j * S
// reads source base + i - j, i counting pixels of that parity.
template <int Kernel, int Stride>
struct parity_taps {
  int first, count, base;

  __device__ __forceinline__ explicit parity_taps(int parity) {
    constexpr int padding = (Kernel - 1) / 2;
    first = (parity + padding) % Stride;
    count = first < Kernel ? (Kernel - first + Stride - 1) / Stride : 0;
    base = (parity + padding - first) / Stride;
  }
};

// Constants that the forward pass and the gradient share. CI, CO: channels of
// X and Y of the layer; Padded: channels of a packed weight row.
template <int CI_, int CO_, int Kernel_, int Stride_, int Groups_, int BM_, int BN_>
struct convolution_shape {
  static constexpr int Kernel = Kernel_, Stride = Stride_, Groups = Groups_, BM = BM_, BN = BN_;
  static constexpr int CI = CI_ / Groups, CO = CO_ / Groups, Padded = (CI + 15) / 16 * 16;
  static constexpr int Padding = (Kernel - 1) / 2;
};

// Where one pixel of the result gets its inputs.
template <class Index>
struct source {
  Index image; // offset of the image
  int y, x;    // source of tap 0; taps add (forward) or subtract (gradient)
  bool exists;
};

// Neighbouring columns of a narrow layer's tile: weights first to first + chunk
// of an output channel, [input channel][tap], as places in the window of a pixel.
template <class T, class Index, class S>
struct narrow_chunk {
  static constexpr int taps = S::Kernel * S::Kernel, weights = S::CI * taps;
  const int first;
  Index offset[chunk<T>]; // from the window's first pixel

  __device__ __forceinline__ narrow_chunk(const reprise_map &map, int group, int first) : first(first) {
#pragma unroll
    for (int e = 0; e < chunk<T>; e++)
      offset[e] = Index(row(e)) * Index(map.row) + Index(column(e)) * Index(map.column) + Index(group * S::CI + (first + e) / taps) * Index(map.channel);
  }

  __device__ __forceinline__ int row(int e) const { return (first + e) % taps / S::Kernel; }
  __device__ __forceinline__ int column(int e) const { return (first + e) % S::Kernel; }

  // window is where the first pixel of the window is. Windows inside the map,
  // which are almost all, need no further tests.
  __device__ __forceinline__ void copy(T *to, const reprise_map &map, const source<Index> &window, int height, int width) const {
    T value[chunk<T>] = {}; // apart, so that all loads are on their way before the first is packed
    const T *from = pointer<const T>(map.data) + (window.image + Index(window.y) * Index(map.row) + Index(window.x) * Index(map.column));
    if (window.exists && window.y >= 0 && window.x >= 0 && window.y + S::Kernel <= height && window.x + S::Kernel <= width) {
#pragma unroll
      for (int e = 0; e < chunk<T>; e++)
        if (first + e < weights)
          value[e] = from[offset[e]];
    } else if (window.exists) {
      const T *corner = pointer<const T>(map.data) + window.image;
#pragma unroll
      for (int e = 0; e < chunk<T>; e++) {
        const int y = window.y + row(e), x = window.x + column(e);
        if (first + e < weights && y >= 0 && y < height && x >= 0 && x < width)
          value[e] = corner[Index(window.y) * Index(map.row) + Index(window.x) * Index(map.column) + offset[e]];
      }
    }
    reprise::group<T, chunk<T>> g;
#pragma unroll
    for (int e = 0; e < chunk<T>; e++)
      g.element[e] = value[e];
    *reinterpret_cast<reprise::group<T, chunk<T>> *>(to) = g;
  }
};

// Vector: channels of the source lie side by side, eight of them aligned. V: as
// many channels of the result are moved at once. Rows: the pixels of the whole
// batch lie at equal distances, in the result and, for 1x1 layers, in the source.
template <class T, bool Tf32, class Index, class S, bool Gradient, bool Narrow, bool Vector, int V, bool HasBias, bool Accumulate, class Y, class Sums, bool Rows = false, int Threads = tile_threads>
struct convolution_kernel {
  static constexpr int all_taps = S::Kernel * S::Kernel;
  static constexpr int depth = Gradient ? S::CO : Narrow ? S::CI * all_taps
                                                         : S::CI,
                       width = Gradient ? S::CI : S::CO;
  static constexpr int padded = Narrow ? (depth + 15) / 16 * 16 : S::Padded; // of a packed weight row
  static constexpr int BK = tile_depth<T, depth>, slices = (depth + BK - 1) / BK;
  static constexpr int step = Gradient ? S::Stride : 1, BM = S::BM;
  static constexpr bool plain = Rows && all_taps == 1 && S::Stride == 1 && !Narrow; // a row of the product is a row of the input
  using product = tensor_product<T, Tf32, S::BM, S::BN, BK, false, Gradient, Threads>;
  static constexpr int chunks_a = BK / chunk<T>;
  static constexpr int pixels_a_thread = S::BM * chunks_a / Threads;
  struct stage {
    typename product::tile_a a;
    typename product::tile_b b;
  };
  static constexpr int stages = int(sizeof(stage)) * 4 <= ring_bytes ? 4 : 3;

  // The result on its way from the registers of the product to memory.
  using result = tile<float, S::BM, S::BN>;
  static constexpr int lanes = S::BN / V, row_lanes = Threads / lanes, rows_a_thread = S::BM / row_lanes;
  static constexpr int rows_at_once = smaller(rows_a_thread, 8); // whose loads are on their way together
  using sums = typename Sums::template tiled<S::Groups * width, V, Y>;
  using parts = tile_parts<row_lanes, S::BN>;
  union alignas(16) memory {
    stage ring[stages];
    result tile;
    parts partial;
  };

  const reprise_convolution_arguments &p;
  const int group, parity_y, parity_x, first_column;
  const parity_taps<S::Kernel, S::Stride> taps_y, taps_x;
  int height, width_pixels; // of the map whose pixels are the rows of the product
  Index pixels, first_pixel;
  source<Index> from[pixels_a_thread];

  __device__ __forceinline__ explicit convolution_kernel(const reprise_convolution_arguments &p, int parity_class)
      : p(p), group(blockIdx.z % S::Groups), parity_y(parity_class / step), parity_x(parity_class % step),
        first_column(blockIdx.y * S::BN), taps_y(parity_y), taps_x(parity_x) {
    height = (p.output_height - parity_y + step - 1) / step;
    width_pixels = (p.output_width - parity_x + step - 1) / step;
    pixels = Index(p.batch) * Index(height) * Index(width_pixels);
  }

  // The channel that this thread writes and sums, in memory of all groups.
  __device__ __forceinline__ int column() const { return first_column + int(threadIdx.x) % lanes * V; }
  __device__ __forceinline__ bool writes() const { return column() < width; }
  __device__ __forceinline__ int channel() const { return group * width + (writes() ? column() : 0); }

  // Moves to a tile.
  __device__ __forceinline__ void enter(Index tile) {
    first_pixel = tile * S::BM;
#pragma unroll
    for (int i = 0; i < pixels_a_thread; i++)
      from[i] = locate(first_pixel + threadIdx.x / chunks_a + i * (Threads / chunks_a));
  }

  __device__ __forceinline__ source<Index> locate(Index pixel) const {
    source<Index> s;
    s.exists = pixel < pixels;
    if constexpr (plain) {
      s.image = pixel * Index(p.input.column);
      return s;
    }
    const Index x = pixel % Index(width_pixels), rest = pixel / Index(width_pixels);
    const int column = int(x), row = int(rest % Index(height));
    s.image = rest / Index(height) * Index(p.input.image);
    s.y = Gradient ? row + taps_y.base : row * S::Stride - S::Padding;
    s.x = Gradient ? column + taps_x.base : column * S::Stride - S::Padding;
    return s;
  }

  __device__ __forceinline__ int steps() const { return (Gradient ? taps_y.count * taps_x.count : Narrow ? 1
                                                                                                         : all_taps) *
                                                        slices; }

  __device__ __forceinline__ bool inside(const source<Index> &s, int y, int x) const { return s.exists && y >= 0 && y < p.input_height && x >= 0 && x < p.input_width; }

  // Starts the copies of one step.
  __device__ __forceinline__ void fill(stage &to, int number) const {
    const int slice = number % slices, tap = number / slices;
    const int across = Gradient ? taps_x.count : S::Kernel;
    const int ty = tap / across, tx = tap % across;
    if constexpr (Narrow) {
      gather(to.a, slice * BK + threadIdx.x % chunks_a * chunk<T>);
    } else {
      const int channel = slice * BK + threadIdx.x % chunks_a * chunk<T>;
#pragma unroll
      for (int i = 0; i < pixels_a_thread; i++) {
        const int y = Gradient ? from[i].y - ty : from[i].y + ty, x = Gradient ? from[i].x - tx : from[i].x + tx;
        const int valid = (plain ? from[i].exists : inside(from[i], y, x)) ? smaller(depth - channel, chunk<T>) : 0;
        const Index within = plain ? 0 : Index(y) * Index(p.input.row) + Index(x) * Index(p.input.column);
        const Index offset = valid > 0 ? from[i].image + within + Index(group * depth + channel) * Index(Vector ? 1 : p.input.channel) : 0;
        bring<Vector>(to.a.at(threadIdx.x / chunks_a + i * (Threads / chunks_a), threadIdx.x % chunks_a * chunk<T>), pointer<const T>(p.input.data) + offset, smaller(valid < 0 ? 0 : valid, chunk<T>), Index(p.input.channel));
      }
    }
    const int ky = Gradient ? taps_y.first + ty * S::Stride : ty, kx = Gradient ? taps_x.first + tx * S::Stride : tx;
    const int weight_tap = Narrow ? 0 : ky * S::Kernel + kx;
    fill_weight(to.b, pointer<const T>(p.weight) + int64_t(weight_tap * S::Groups + group) * S::CO * padded, slice * BK);
  }

  // One chunk of a narrow layer's tile for each of the thread's pixels.
  __device__ __forceinline__ void gather(typename product::tile_a &to, int first) const {
    const narrow_chunk<T, Index, S> columns(p.input, group, first);
#pragma unroll
    for (int i = 0; i < pixels_a_thread; i++)
      columns.copy(to.at(threadIdx.x / chunks_a + i * (Threads / chunks_a), threadIdx.x % chunks_a * chunk<T>), p.input, from[i], p.input_height, p.input_width);
  }

  // The gradient reads weights as they lie, [Cout][Cin], with Cout as depth.
  __device__ __forceinline__ void fill_weight(typename product::tile_b &to, const T *weight, int first_depth) const {
    constexpr int across = (Gradient ? S::BN : BK) / chunk<T>;
    for (int c = threadIdx.x; c < product::tile_b::chunks; c += Threads) {
      const int row = c / across, column = c % across * chunk<T>;
      const int output = Gradient ? first_depth + row : first_column + row;
      const int input = Gradient ? first_column + column : first_depth + column;
      const bool exists = output < S::CO && input < padded;
      bring<true>(to.at(row, column), weight + (exists ? output * padded + input : 0), exists ? chunk<T> : 0, 1);
    }
  }

  // Whether row m of the tile exists, and where it lies in a map of the shape of
  // the result.
  __device__ __forceinline__ bool exists(int m) const { return first_pixel + Index(m) < pixels; }

  __device__ __forceinline__ Index place(const reprise_map &map, int m) const {
    const Index pixel = first_pixel + Index(m);
    if constexpr (Rows)
      return pixel * Index(map.column) + Index(channel()) * Index(V > 1 ? 1 : map.channel);
    const Index x = pixel % Index(width_pixels), rest = pixel / Index(width_pixels);
    return place(map, rest / Index(height), rest % Index(height), x);
  }

  // The same for a pixel of this parity.
  __device__ __forceinline__ Index place(const reprise_map &map, Index n, Index y, Index x) const {
    return pixel_offset(map, n, y * step + Index(parity_y), x * step + Index(parity_x)) + Index(channel()) * Index(V > 1 ? 1 : map.channel);
  }

  template <class E>
  using neighbours = reprise::group<E, V>;

  // Writes the tile and sums it on the way.
  __device__ __forceinline__ void write(result &tile, sums &total) const {
    if (!writes())
      return;
    float bias[V] = {};
    if constexpr (HasBias)
#pragma unroll
      for (int i = 0; i < V; i++)
        bias[i] = column() + i < width ? pointer<const float>(p.bias)[channel() + i] : 0x0p+0f;
    if constexpr (sums::wanted) {
      float v[V];
      load<V>(v, tile.at(0, int(threadIdx.x) % lanes * V));
#pragma unroll
      for (int j = 0; j < V; j++)
        v[j] += bias[j];
      total.begin(v);
    }
    for (int first = threadIdx.x / lanes; first < S::BM; first += rows_at_once * row_lanes)
      write_rows(tile, first, bias, total);
  }

  __device__ __forceinline__ void write_rows(result &tile, int first, const float (&bias)[V], sums &total) const {
    neighbours<Y> old[rows_at_once];
    neighbours<typename sums::below> below[rows_at_once];
    Index to[rows_at_once];
    // Read again for each tile, so that they hold no register in between.
    const typename sums::coefficients coefficients(p, channel());
#pragma unroll
    for (int i = 0; i < rows_at_once; i++) {
      const int m = first + i * row_lanes;
      if (!exists(m))
        continue;
      to[i] = place(p.output, m);
      if constexpr (Accumulate)
        old[i] = fetch_channels<width, V>(pointer<const Y>(p.output.data) + to[i], column());
      if constexpr (sums::reads_below)
        below[i] = fetch_channels<width, V>(pointer<const typename sums::below>(p.below.data) + place(p.below, m), column());
    }
#pragma unroll
    for (int i = 0; i < rows_at_once; i++) {
      const int m = first + i * row_lanes;
      if (!exists(m))
        continue;
      float v[V], before[V] = {};
      load<V>(v, tile.at(m, int(threadIdx.x) % lanes * V));
      if constexpr (Accumulate)
        widen<V>(before, old[i]);
#pragma unroll
      for (int j = 0; j < V; j++)
        v[j] += Accumulate ? before[j] : bias[j];
      const neighbours<Y> rounded = narrow<Y>(v);
      *reinterpret_cast<neighbours<Y> *>(pointer<Y>(p.output.data) + to[i]) = rounded;
      widen<V>(v, rounded);
      total.take(v, below[i], coefficients);
    }
  }

  // The block's row of partial results: [parity class][block][channel].
  __device__ __forceinline__ void write_sums(parts &partial, const sums &total) const {
    __syncthreads();
    partial.template leave<V>(total, threadIdx.x / lanes, int(threadIdx.x) % lanes * V);
    __syncthreads();
    const int column = first_column + threadIdx.x;
    if (threadIdx.x < S::BN && column < width)
      pointer<typename sums::part>(p.partial)[int64_t(blockIdx.z / S::Groups * gridDim.x + blockIdx.x) * (S::Groups * width) + group * width + column] = partial.template merge<sums>(threadIdx.x);
  }
};

// The tiles of one parity class that are this block's.
template <class Kernel>
__device__ __forceinline__ void convolution_tiles(Kernel &k, typename Kernel::memory &shared, typename Kernel::sums &total) {
  constexpr int stages = Kernel::stages;
  const int steps = k.steps();
  for (decltype(k.pixels) tile = blockIdx.x; tile * Kernel::BM < k.pixels; tile += gridDim.x) {
    k.enter(tile);
#pragma unroll
    for (int s = 0; s < stages - 1; s++) {
      if (s < steps)
        k.fill(shared.ring[s], s);
      copy_commit();
    }
    typename Kernel::product sum;
    sum.clear();
    for (int s = 0; s < steps; s++) {
      copy_wait<stages - 2>();
      __syncthreads(); // step s has arrived for all, and all have left the stage that is filled next
      if (s + stages - 1 < steps)
        k.fill(shared.ring[(s + stages - 1) % stages], s + stages - 1);
      copy_commit();
      sum.accumulate(shared.ring[s % stages].a, shared.ring[s % stages].b);
    }
    copy_wait<0>();
    __syncthreads(); // all have left the ring
    sum.each([&](int m, int n, float v0, float v1) {
      const float v[2] = {v0, v1};
      store<2>(shared.tile.at(m, n), v);
    });
    __syncthreads();
    k.write(shared.tile, total);
    __syncthreads(); // the tile has been read
  }
}

template <class T, bool Tf32, class Index, class S, bool Gradient, bool Narrow, bool Vector, int V, bool HasBias, bool Accumulate, class Y, class Sums, bool Rows = false, int Threads = tile_threads>
__device__ __forceinline__ void convolution(const reprise_convolution_arguments &p) {
  using kernel = convolution_kernel<T, Tf32, Index, S, Gradient, Narrow, Vector, V, HasBias, Accumulate, Y, Sums, Rows, Threads>;
  __shared__ typename kernel::memory shared;
  kernel k(p, blockIdx.z / S::Groups);
  typename kernel::sums total;
  kernel::sums::start(p);
  convolution_tiles(k, shared, total);
  if constexpr (kernel::sums::wanted)
    k.write_sums(shared.partial, total);
}

// The same for launches without parity classes along z: each block makes the
// tiles of all classes of one group.
template <class T, bool Tf32, class Index, class S, bool Gradient, int V, bool HasBias, bool Accumulate, class Y, class Sums>
__device__ __forceinline__ void convolution_of_all_classes(const reprise_convolution_arguments &p) {
  using kernel = convolution_kernel<T, Tf32, Index, S, Gradient, false, true, V, HasBias, Accumulate, Y, Sums, false, tile_threads>;
  __shared__ typename kernel::memory shared;
  typename kernel::sums total;
  kernel::sums::start(p);
  for (int c = 0; c < kernel::step * kernel::step; c++) {
    kernel k(p, c);
    convolution_tiles(k, shared, total);
  }
  if constexpr (kernel::sums::wanted)
    kernel(p, 0).write_sums(shared.partial, total);
}

} // namespace reprise
