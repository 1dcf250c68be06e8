package io.rdmaraw.verbs.mlx5;

/** Gives tests access to the registers of send queues. */
public final class BlueFlameFixture {
    private BlueFlameFixture() {
    }

    /** Returns whether several queue pairs of this process write to a register. */
    public static boolean isShared(long register) {
        BlueFlameRegister known = BlueFlameRegister.claim(register);
        try {
            // One of the users is this claim.
            return known.users() > 2;
        } finally {
            known.release();
        }
    }
}
