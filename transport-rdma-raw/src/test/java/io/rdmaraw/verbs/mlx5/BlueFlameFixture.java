package io.rdmaraw.verbs.mlx5;

/** What tests ask of the registers that send queues write to. */
public final class BlueFlameFixture {
    private BlueFlameFixture() {
    }

    /** Returns whether several queue pairs of this process write to a register that one does. */
    public static boolean isShared(long register) {
        BlueFlameRegister known = BlueFlameRegister.claim(register);
        try {
            // This claim is one of them.
            return known.users() > 2;
        } finally {
            known.release();
        }
    }
}
