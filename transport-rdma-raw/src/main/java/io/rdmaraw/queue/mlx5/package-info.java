/** Direct access to the rings of mlx5 devices ({@code infiniband/mlx5dv.h}). */
package io.rdmaraw.queue.mlx5;
