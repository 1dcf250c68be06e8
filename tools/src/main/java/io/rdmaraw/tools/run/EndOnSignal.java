package io.rdmaraw.tools.run;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Ends an interrupted command (Ctrl-C, SIGTERM) in an orderly way. The command polls this condition, prints its result
 * and closes its files; only then the JVM exits.
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

    /** Returns true until the interruption. */
    @Override
    public boolean getAsBoolean() {
        return running;
    }

    /** Records that the command has finished. */
    @Override
    public void close() {
        finished.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException goingDown) {
            // The JVM is shutting down, so the hook is already running.
        }
    }
}
