// Launch arguments, one structure for each family of kernels. The same text is
// compiled by the C compiler into the wrapper and by the CUDA compiler into the
// kernels, so the two cannot disagree about a layout.
//
// Addresses travel as 64-bit numbers, which is what the driver API hands out.
// All strides count elements.
#pragma once
#if defined(__CUDACC_RTC__)
typedef int int32_t;
typedef long long int64_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

// An image tensor (N, C, H, W) as a view: channels-last when channel is 1.
struct reprise_map {
  uint64_t data;
  int64_t image, row, column, channel;
};

// A tensor of any shape, flattened by the generator to three outer dimensions
// and one inner dimension, which is the one contiguous in memory if any is.
struct reprise_tensor {
  uint64_t data;
  int64_t stride[4];
};

// One convolution or its input gradient; for the latter input is dY and output
// dX. partial and what follows belong to the sums that a launch takes of its
// result on the way: batch statistics, which count the batch, or the sums of the
// gradient of the batch norm below, whose input is below.
struct reprise_convolution_arguments {
  struct reprise_map input, output;
  uint64_t weight, bias;
  int32_t batch, input_height, input_width, output_height, output_width;
  uint64_t partial, batches;
  struct reprise_map below;
  uint64_t mean, rstd, scale, shift;
};

// Both gradients of a depthwise layer: its input gradient, and the first pass of
// its weight gradient from X.
struct reprise_depthwise_gradients_arguments {
  struct reprise_convolution_arguments dx;
  struct reprise_map x;
  uint64_t weight_partial;
};

// The first pass of a weight gradient: span pixels of dY for each split.
struct reprise_weight_gradient_arguments {
  struct reprise_map x, dy;
  uint64_t partial;
  int32_t batch, input_height, input_width, output_height, output_width;
  int64_t span;
};

// The second passes of several weight gradients: rows of partial sums, each of
// total weights [group][tap][Cout][Cin], into a gradient. first is the first block
// of an entry, lanes the logarithm of how many lanes share the rows, accumulate 1
// to add to the gradient.
struct reprise_reduce_entry {
  uint64_t partial, result;
  int32_t first, lanes, rows, total, inputs, outputs, taps, accumulate;
};
struct reprise_reduce_arguments {
  int32_t entries;
  struct reprise_reduce_entry entry[64];
};

// Weights rewritten for the convolution kernels, many layers in one launch.
struct reprise_pack_entry {
  uint64_t source, target;
  int32_t outputs, inputs, taps, padded;
};
struct reprise_pack_arguments {
  struct reprise_pack_entry entry[64];
};

// y from up to two inputs, element by element.
struct reprise_elementwise_arguments {
  struct reprise_tensor y, a, b;
  int64_t extent[4];
};

// y from up to three inputs, each times one element at the address factor.
struct reprise_combination_arguments {
  struct reprise_tensor y, x[3];
  int64_t extent[4];
  uint64_t factor[3];
};

// Matrices {outer, inner, rows, columns} and the sums of parts of each.
struct reprise_matrix_norm_arguments {
  struct reprise_tensor x, y;
  int64_t extent[4];
  uint64_t partial;
  int32_t parts;
};

// Kernels with one coefficient a channel: the inner dimension is the channel.
struct reprise_channel_arguments {
  struct reprise_tensor x, dy, y;
  int64_t extent[4];
  uint64_t mean, rstd, scale, shift, dscale, dshift;
  uint64_t partial, running_mean, running_variance, batches;
  int64_t span;
  int32_t rows;
};

// Pooling and nearest upsampling, forward and gradient.
struct reprise_map_arguments {
  struct reprise_map x, y, index;
  int32_t batch, input_height, input_width, output_height, output_width;
};

// A batch of matrix products; stride is {outer, inner, row, column}, extent
// {outer batch, inner batch, rows of Y, columns of Y} and depth the inner size.
struct reprise_matmul_arguments {
  struct reprise_tensor a, b, y;
  uint64_t bias;
  int64_t extent[4];
  int64_t depth;
};

// Attention and its gradients; stride is {outer, inner, position, element} and inner
// the size of the inner batch. Rows of log_sum lie one after the other, row_sums has
// a pair for each of `padded` rows.
struct reprise_attention_arguments {
  struct reprise_tensor q, k, v, y, dy, dq, dk, dv;
  uint64_t log_sum, row_sums;
  int32_t inner, queries, keys, padded;
};

// Dropout: the mask is written, state holds {seed, draws taken so far}.
struct reprise_dropout_arguments {
  struct reprise_tensor x, mask, y;
  int64_t extent[4];
  uint64_t state;
};

// 8-bit pixels (N, H, W, RGB) into a map of activations; jitter is 0, or three
// 32-bit numbers for each image: what is added to the hue, in sixths of a turn
// times 2^24, and the gains of saturation and value times 2^16.
struct reprise_images_arguments {
  uint64_t jitter, pixels;
  struct reprise_map map;
  int32_t batch, height, width;
};
