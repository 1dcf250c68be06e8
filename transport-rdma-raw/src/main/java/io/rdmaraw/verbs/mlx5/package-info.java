/**
 * Direct access to the rings of mlx5 devices ("direct verbs"), which avoids a call of libmlx5 per burst.
 *
 * <p>Objects are created and modified by libibverbs. {@link io.rdmaraw.verbs.mlx5.Mlx5dv} locates their rings.
 * From then on, libmlx5 must not be used to post to or poll these objects. The layout of the rings is defined
 * by {@code infiniband/mlx5dv.h} and NVIDIA's Adapters Programmer's Reference Manual ("PRM"). All data that the
 * device reads or writes is big-endian.
 *
 * <p>The classes are not thread-safe. One thread drives each queue.
 */
package io.rdmaraw.verbs.mlx5;
