#include "image.h"
#include "report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>
#include <unordered_map>

namespace cudasim {

Image::~Image() {
  if (library != nullptr)
    dlclose(library);
}

const cudasim_kernel *Image::find(const char *name) const {
  const auto end = table->kernels + table->count;
  const auto k = std::find_if(table->kernels, end, [&](const cudasim_kernel &k) { return strcmp(k.name, name) == 0; });
  return k == end ? nullptr : k;
}

namespace {

const Elf64_Ehdr *header(const char *data) { return reinterpret_cast<const Elf64_Ehdr *>(data); }

// The length of an object file: its section headers come last.
size_t length(const char *data) {
  const auto *h = header(data);
  return h->e_shoff + size_t(h->e_shnum) * h->e_shentsize;
}

bool write_all(int file, const char *data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(file, data, bytes);
    if (n <= 0)
      return false;
    data += n;
    bytes -= size_t(n);
  }
  return true;
}

// The loader knows objects by their paths, so each needs another one for a moment.
void *open_object(const char *data, size_t bytes) {
  const char *folder = getenv("TMPDIR");
  std::string path = text("%s/cudasim-image-XXXXXX", folder != nullptr ? folder : "/tmp");
  const int file = mkstemp(path.data());
  if (file < 0)
    return nullptr;
  void *library = write_all(file, data, bytes) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr)
    report(text("cuModuleLoadData: the image cannot be opened: %s", dlerror()));
  close(file);
  unlink(path.c_str());
  return library;
}

void find_segments(const char *data, uintptr_t base, Image *image) {
  const auto *h = header(data);
  const auto *segment = reinterpret_cast<const Elf64_Phdr *>(data + h->e_phoff);
  for (int i = 0; i < h->e_phnum; i++) {
    if (segment[i].p_type != PT_LOAD)
      continue;
    const uintptr_t first = base + segment[i].p_vaddr, last = first + segment[i].p_memsz;
    image->first = image->first == 0 ? first : std::min(image->first, first);
    image->last = std::max(image->last, last);
    if (segment[i].p_flags & PF_W) {
      image->low = first & ~uintptr_t(15);
      image->high = last;
    }
  }
}

// Only variables may be accessed; what lies between them is for alignment.
void mark_variables(const char *data, uintptr_t base, Image *image) {
  image->cells.assign((image->high - image->low) / 4 + 1, Cell{no_variable, 0, 0, 0, 0});
  const auto *h = header(data);
  const auto *section = reinterpret_cast<const Elf64_Shdr *>(data + h->e_shoff);
  for (int s = 0; s < h->e_shnum; s++) {
    if (section[s].sh_type != SHT_SYMTAB)
      continue;
    const auto *symbol = reinterpret_cast<const Elf64_Sym *>(data + section[s].sh_offset);
    for (size_t i = 0; i < section[s].sh_size / sizeof *symbol; i++) {
      const uintptr_t at = base + symbol[i].st_value;
      if (ELF64_ST_TYPE(symbol[i].st_info) != STT_OBJECT || at < image->low || at >= image->high)
        continue;
      for (uintptr_t a = at; a < at + symbol[i].st_size; a += 4)
        image->cells[(a - image->low) / 4].block = 0;
    }
  }
}

std::unordered_map<std::string, std::shared_ptr<Image>> loaded; // by content

} // namespace

CUresult load_image(const void *data, std::shared_ptr<Image> *image) {
  const auto *bytes = static_cast<const char *>(data);
  if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || header(bytes)->e_ident[EI_CLASS] != ELFCLASS64)
    return CUDA_ERROR_INVALID_IMAGE;
  if (header(bytes)->e_machine != EM_X86_64)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const std::string content(bytes, length(bytes));
  auto &known = loaded[content];
  if (known == nullptr) {
    auto made = std::make_shared<Image>();
    if ((made->library = open_object(bytes, content.size())) == nullptr)
      return CUDA_ERROR_INVALID_IMAGE;
    made->table = static_cast<const cudasim_table *>(dlsym(made->library, "cudasim_image"));
    Dl_info where;
    if (made->table == nullptr || dladdr(made->table, &where) == 0)
      return CUDA_ERROR_INVALID_IMAGE;
    const auto base = reinterpret_cast<uintptr_t>(where.dli_fbase);
    find_segments(bytes, base, made.get());
    mark_variables(bytes, base, made.get());
    known = std::move(made);
  }
  *image = known;
  return CUDA_SUCCESS;
}

} // namespace cudasim
