package io.rdmaraw.verbs.mlx5;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * A doorbell register of send queues, with the number of queues of this process that write to it.
 *
 * <p>libmlx5 has few registers per context. By default four queue pairs have one each, and all others share
 * twelve ({@code mlx5_get_qp_uar} in {@code providers/mlx5/verbs.c}). For each write to a shared register
 * libmlx5 takes a lock ({@code need_lock}) that {@code mlx5dv} does not expose. A doorbell of 8 bytes is a
 * single store and needs no lock. A request of 64 bytes may be written in several parts, and two concurrent
 * ones would be mixed.
 */
final class BlueFlameRegister {
    private static final ConcurrentMap<Long, BlueFlameRegister> IN_USE = new ConcurrentHashMap<>();

    private final long address;
    /** Modified only within an atomic operation on the map's entry. */
    private volatile int users;

    private BlueFlameRegister(long address) {
        this.address = address;
    }

    /** Counts one more queue that writes to a register. Must be called before its queue pair is ready to send. */
    static BlueFlameRegister claim(long address) {
        return IN_USE.compute(address, (key, known) -> {
            BlueFlameRegister register = known == null ? new BlueFlameRegister(key) : known;
            register.users = register.users + 1;
            return register;
        });
    }

    /** Returns whether several queues write to the register. */
    boolean isShared() {
        return users > 1;
    }

    int users() {
        return users;
    }

    /** Counts one queue less. */
    void release() {
        IN_USE.computeIfPresent(address, (key, register) -> {
            register.users = register.users - 1;
            return register.users == 0 ? null : register;
        });
    }
}
