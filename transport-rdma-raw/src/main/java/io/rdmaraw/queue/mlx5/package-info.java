/**
 * Rings of mlx5 devices, written and read in place ({@code infiniband/mlx5dv.h}).
 */
package io.rdmaraw.queue.mlx5;
