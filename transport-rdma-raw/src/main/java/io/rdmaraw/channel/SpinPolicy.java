package io.rdmaraw.channel;

/**
 * Whether polling on before a sleep is worth it. Where the work comes later than a spin lasts, or the other end needs
 * the core that the spin takes, spins find nothing: then only every few waits tries one. For one loop.
 */
final class SpinPolicy {
    /** In vain so often in a row before spins become rare. */
    private static final int PATIENCE = 4;
    /** Of so many waits one spins all the same, to find out whether times have changed. */
    private static final int TRIAL_INTERVAL = 16;

    private int inVain;
    private int waitsUntilTrial;

    /** Returns whether this wait begins with a spin. */
    boolean isWorthwhile() {
        if (inVain < PATIENCE) {
            return true;
        }
        if (--waitsUntilTrial > 0) {
            return false;
        }
        waitsUntilTrial = TRIAL_INTERVAL;
        return true;
    }

    /** The spin ended; {@code found} says whether a frame had come. */
    void ended(boolean found) {
        if (found) {
            inVain = 0;
        } else if (inVain < PATIENCE && ++inVain == PATIENCE) {
            waitsUntilTrial = TRIAL_INTERVAL;
        }
    }
}
