package io.rdmaraw.verbs.mlx5;

import java.util.Map;

/**
 * Selects the requests that are written to the register as a whole. Users choose by libmlx5's variables, for example in
 * a virtual machine whose pages of registers are not write-combining ({@code get_shut_up_bf} and {@code get_always_bf}
 * in {@code providers/mlx5/mlx5.c}).
 */
enum BlueFlameUse {
    /** None ({@code MLX5_SHUT_UP_BF}). */
    NEVER,
    /** Requests that contain their frame ({@code MLX5_POST_SEND_PREFER_BF=0}). */
    INLINE,
    /** Each single request of one block. */
    SINGLE;

    /** The choice for this process. libmlx5 reads the variables when it opens a device. */
    static final BlueFlameUse OF_PROCESS = of(System.getenv());

    static BlueFlameUse of(Map<String, String> environment) {
        if (!environment.getOrDefault("MLX5_SHUT_UP_BF", "0").equals("0")) {
            return NEVER;
        }
        return environment.getOrDefault("MLX5_POST_SEND_PREFER_BF", "1").equals("0") ? INLINE : SINGLE;
    }
}
