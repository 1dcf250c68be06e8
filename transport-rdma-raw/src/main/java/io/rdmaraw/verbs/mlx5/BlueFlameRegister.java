package io.rdmaraw.verbs.mlx5;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * A register that doorbells of send queues are written to, and how many queues of this process write to it.
 *
 * <p>libmlx5 has few of them for a context: by default four queue pairs have one each, all others share twelve, so that
 * the seventeenth gets one that has a user ({@code mlx5_get_qp_uar} in {@code providers/mlx5/verbs.c}). libmlx5 takes a
 * lock for each write to a register that may be shared ({@code need_lock}), which {@code mlx5dv} does not hand out. A
 * doorbell of eight bytes is one store and needs none. A request of 64 bytes may leave the processor in pieces, and two
 * of them at a time would be mixed.
 */
final class BlueFlameRegister {
    private static final ConcurrentMap<Long, BlueFlameRegister> IN_USE = new ConcurrentHashMap<>();

    private final long address;
    /** Changed under the map's lock of the address alone. */
    private volatile int users;

    private BlueFlameRegister(long address) {
        this.address = address;
    }

    /** Notes one more queue that writes to a register: before its queue pair is ready to send. */
    static BlueFlameRegister claim(long address) {
        return IN_USE.compute(address, (key, known) -> {
            BlueFlameRegister register = known == null ? new BlueFlameRegister(key) : known;
            register.users = register.users + 1;
            return register;
        });
    }

    /** Tells whether several queues write to it. */
    boolean isShared() {
        return users > 1;
    }

    int users() {
        return users;
    }

    /** A queue writes to it no more. */
    void release() {
        IN_USE.computeIfPresent(address, (key, register) -> {
            register.users = register.users - 1;
            return register.users == 0 ? null : register;
        });
    }
}
