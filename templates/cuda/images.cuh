// 8-bit pixels (N, H, W, RGB) into a map (N, 3, H, W): each becomes code/255,
// rounded once, after its colour has been changed by the jitter of its image. One
// thread a pixel; neighbours in a warp are neighbours in memory on both sides.
#pragma once
#include "types.cuh"

namespace reprise {

// Jitter of colours in HSV, in whole numbers, so that every machine gives the same
// codes: positions on the hue circle, saturations and chromas are times 2^24,
// factors and channels times 2^16.
struct jitter {
  int32_t hue, saturation, value;
};

// A channel is the value less the chroma times how far the hue is from its own
// third of the circle; place, in sixths from 0 to below 12, is as far ahead of the
// hue as the channel wants.
__device__ __forceinline__ unsigned char jittered_channel(int32_t value, int32_t chroma, int32_t place) {
  place = place >= 6 << 24 ? place - (6 << 24) : place;
  const int32_t fall = smaller(place, (4 << 24) - place);
  const int32_t away = smaller(fall < 0 ? 0 : fall, 1 << 24);
  const int32_t channel = value - int32_t(int64_t(chroma) * away >> 24);
  return (unsigned char)((channel + 0x7fff + (channel >> 16 & 1)) >> 16);
}

__device__ __forceinline__ void jitter_color(unsigned char (&color)[3], const jitter &j) {
  const int32_t r = color[0], g = color[1], b = color[2];
  const int32_t low = smaller(smaller(r, g), b), high = larger(larger(r, g), b);
  const int32_t value = smaller(high * (65536 + j.value), 255 << 16);
  int32_t chroma = 0, hue = 0;
  if (high > low) {
    const int32_t full = (high - low) * ((1 << 24) / high); // saturation 1 at most
    const int32_t saturation = smaller(int32_t(int64_t(full) * (65536 + j.saturation) >> 16), 1 << 24);
    chroma = int32_t(int64_t(value) * saturation >> 24);
    const int32_t scale = (1 << 24) / (high - low);
    if (high == r)
      hue = (g - b) * scale + (g < b ? 6 << 24 : 0);
    else if (high == g)
      hue = (b - r) * scale + (2 << 24);
    else
      hue = (r - g) * scale + (4 << 24);
    hue += j.hue;
    hue += hue < 0 ? 6 << 24 : 0;
    hue -= hue >= 6 << 24 ? 6 << 24 : 0;
  }
  color[0] = jittered_channel(value, chroma, hue + (5 << 24));
  color[1] = jittered_channel(value, chroma, hue + (3 << 24));
  color[2] = jittered_channel(value, chroma, hue + (1 << 24));
}

template <class Index, class T>
__device__ __forceinline__ void write_images(const reprise_images_arguments &p) {
  const Index w = Index(p.width), h = Index(p.height);
  const Index pixel = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pixel >= Index(p.batch) * h * w)
    return;
  const unsigned char *from = pointer<const unsigned char>(p.pixels) + pixel * 3;
  unsigned char color[3] = {from[0], from[1], from[2]};
  if (p.jitter != 0)
    jitter_color(color, pointer<const jitter>(p.jitter)[pixel / w / h]);
  T *to = pointer<T>(p.map.data) + pixel_offset<Index>(p.map, pixel / w / h, pixel / w % h, pixel % w);
#pragma unroll
  for (int c = 0; c < 3; c++)
    to[Index(c) * Index(p.map.channel)] = storage<T>::round(float(color[c]) / 0x1.fep+7f);
}

} // namespace reprise
