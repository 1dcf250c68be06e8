package io.rdmaraw.channel;

/** How long a test waits for what comes at once on an idle host. Only a test that fails waits so long, and says why. */
final class Patience {
    static final int SECONDS = 50;
    static final int MILLIS = SECONDS * 1_000;
    static final long NANOS = SECONDS * 1_000_000_000L;

    private Patience() {
    }
}
