/**
 * The rings of mlx5 devices, written and read in place ("direct verbs"): no call per burst into libmlx5.
 *
 * <p>Objects are made and modified by libibverbs; {@link io.rdmaraw.verbs.mlx5.Mlx5dv} then asks libmlx5 where
 * the rings of an object lie, and its calls for posting and polling are not used on that object any more. What the
 * rings hold is defined by {@code infiniband/mlx5dv.h} and NVIDIA's Adapters Programmer's Reference Manual ("PRM").
 * Everything the device reads or writes is big-endian.
 *
 * <p>The classes here are for one thread, the one that drives the queue.
 */
package io.rdmaraw.verbs.mlx5;
