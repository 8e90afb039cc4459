// Convolution and input gradient for few channels a group, where a tile of the
// tensor cores would be mostly padding: the first layer, and small groups.
//
// Tiling: a thread makes one pixel x Width channels of the result, the sums in
// registers. The weights of one inner channel at a time lie in shared memory as
// [tap][Width]; every thread reads the same word, which is a broadcast.
// Grid: (pixels/128, channel sets of all groups). Block: 128 threads.
#pragma once
#include "convolution.cuh"

namespace reprise {

template <class Index, class S, int Width, bool Gradient, bool HasBias, bool Accumulate, class X, class Y>
__device__ __forceinline__ void convolution_direct(const reprise_convolution_arguments &p) {
  constexpr int taps = S::Kernel * S::Kernel, depth = Gradient ? S::CO : S::CI, width = Gradient ? S::CI : S::CO;
  constexpr int sets = (width + Width - 1) / Width;
  __shared__ float weight[taps * Width];
  const int group = blockIdx.y / sets, first = blockIdx.y % sets * Width;
  const Index pixels = Index(p.batch) * Index(p.output_height) * Index(p.output_width);
  const Index pixel = Index(blockIdx.x) * tile_threads + threadIdx.x;
  const int x = int(pixel % Index(p.output_width)), y = int(pixel / Index(p.output_width) % Index(p.output_height));
  const Index n = pixel / Index(p.output_width) / Index(p.output_height);
  float sum[Width] = {};
  for (int d = 0; d < depth; d++) {
    __syncthreads();
    for (int i = threadIdx.x; i < taps * Width; i += tile_threads) {
      const int w = first + i % Width, tap = i / Width;
      const int output = Gradient ? d : w, input = Gradient ? w : d;
      weight[i] = w < width ? pointer<const float>(p.weight)[((group * S::CO + output) * S::CI + input) * taps + tap] : 0x0p+0f;
    }
    __syncthreads();
    if (pixel >= pixels)
      continue;
    for (int ky = 0; ky < S::Kernel; ky++)
      for (int kx = 0; kx < S::Kernel; kx++) {
        // Forward: the input under the tap. Gradient: the output that used this pixel under the tap.
        const int ay = Gradient ? y + S::Padding - ky : y * S::Stride - S::Padding + ky;
        const int ax = Gradient ? x + S::Padding - kx : x * S::Stride - S::Padding + kx;
        if (ay < 0 || ax < 0 || (Gradient && (ay % S::Stride != 0 || ax % S::Stride != 0)))
          continue;
        const int sy = Gradient ? ay / S::Stride : ay, sx = Gradient ? ax / S::Stride : ax;
        if (sy >= p.input_height || sx >= p.input_width)
          continue;
        const float v = to_float(pointer<const X>(p.input.data)[pixel_offset(p.input, n, Index(sy), Index(sx)) + Index(group * depth + d) * Index(p.input.channel)]);
        const float *w = weight + (ky * S::Kernel + kx) * Width;
#pragma unroll
        for (int i = 0; i < Width; i++)
          sum[i] = fused_multiply_add(v, w[i], sum[i]);
      }
  }
  if (pixel >= pixels)
    return;
  Y *to = pointer<Y>(p.output.data) + pixel_offset(p.output, n, Index(y), Index(x));
#pragma unroll
  for (int i = 0; i < Width; i++)
    if (first + i < width) {
      const int channel = group * width + first + i;
      const float value = HasBias ? sum[i] + pointer<const float>(p.bias)[channel] : sum[i];
      Y *at = to + Index(channel) * Index(p.output.channel);
      *at = storage<Y>::round(Accumulate ? to_float(*at) + value : value);
    }
}

} // namespace reprise
