// Weights as the tile kernels read them: rounded to the storage type, taps
// outermost, [tap][group][Cout][Cin padded to 16 with zeros]. All layers of a
// stage in one launch, before the first of them. blockIdx.y selects the layer.
#pragma once
#include "types.cuh"

namespace reprise {

template <class T>
__device__ __forceinline__ void pack_weights(const reprise_pack_arguments &p) {
  const reprise_pack_entry &e = p.entry[blockIdx.y];
  const int total = e.taps * e.outputs * e.padded, step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const int input = i % e.padded, output = i / e.padded % e.outputs, tap = i / e.padded / e.outputs;
    const float value = input < e.inputs ? pointer<const float>(e.source)[(output * e.inputs + input) * e.taps + tap] : 0x0p+0f;
    pointer<T>(e.target)[i] = storage<T>::round(value);
  }
}

} // namespace reprise
