// 8-bit pixels (N, H, W, RGB) into a map (N, 3, H, W): each becomes code/255,
// rounded once. One thread a pixel; neighbours in a warp are neighbours in
// memory on both sides.
#pragma once
#include "types.cuh"

namespace reprise {

template <class Index, class T>
__device__ __forceinline__ void write_images(const reprise_images_arguments &p) {
  const Index w = Index(p.width), h = Index(p.height);
  const Index pixel = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pixel >= Index(p.batch) * h * w)
    return;
  const unsigned char *from = pointer<const unsigned char>(p.pixels) + pixel * 3;
  T *to = pointer<T>(p.map.data) + pixel_offset<Index>(p.map, pixel / w / h, pixel / w % h, pixel % w);
#pragma unroll
  for (int c = 0; c < 3; c++)
    to[Index(c) * Index(p.map.channel)] = storage<T>::round(float(from[c]) / 0x1.fep+7f);
}

} // namespace reprise
