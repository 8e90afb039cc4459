// Kernel images: shared objects that hold kernels, loaded from memory.
#pragma once

#include "../device/abi.h"

#include <cuda.h>
#include <memory>
#include <string>
#include <vector>

namespace cudasim {

// What has happened to four bytes of shared memory in the block that runs.
struct Cell {
  uint32_t block;       // in which block it was written last, or one of the marks below
  uint32_t write_epoch; // barriers that the block had passed then
  uint32_t read_epoch;
  uint16_t writer, reader; // threads; many_readers for more than one
};
constexpr uint32_t no_variable = ~0u;    // belongs to no variable
constexpr uint32_t on_its_way = ~0u - 1; // an asynchronous copy will write it
constexpr uint16_t many_readers = 0xffff;

struct Image {
  void *library = nullptr;
  const cudasim_table *table = nullptr;
  uintptr_t low = 0, high = 0;   // the writable data of the object: its shared memory
  uintptr_t first = 0, last = 0; // all of the object
  std::vector<Cell> cells;
  size_t dynamic = ~size_t(0); // dynamic shared memory of the last launch, in bytes

  ~Image();
  const cudasim_kernel *find(const char *name) const;
};

// Loads an image. Equal images share one copy.
CUresult load_image(const void *data, std::shared_ptr<Image> *image);

} // namespace cudasim
