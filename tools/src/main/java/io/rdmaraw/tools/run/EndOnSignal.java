package io.rdmaraw.tools.run;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Lets an interrupted command (Ctrl-C, SIGTERM) end in order: the command notices, prints its result and closes its
 * files, and only then the JVM exits. True until the interruption.
 */
public final class EndOnSignal implements BooleanSupplier, AutoCloseable {
    private static final long PATIENCE_SECONDS = 5;

    private final CountDownLatch finished = new CountDownLatch(1);
    private final Thread hook = new Thread(this::endInOrder, "end on signal");
    private volatile boolean running = true;

    public EndOnSignal() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void endInOrder() {
        running = false;
        try {
            finished.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether the command may continue. */
    @Override
    public boolean getAsBoolean() {
        return running;
    }

    /** The command has finished. */
    @Override
    public void close() {
        finished.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException goingDown) {
            // Then the hook is what waited for us.
        }
    }
}
