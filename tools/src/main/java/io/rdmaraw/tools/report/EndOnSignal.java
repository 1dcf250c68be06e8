package io.rdmaraw.tools.report;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Lets a command that is interrupted (Ctrl-C, SIGTERM) end in order: it sees that it should, prints its result, closes
 * its files, and only then the JVM goes. True until then.
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

    /** Whether the command may go on. */
    @Override
    public boolean getAsBoolean() {
        return running;
    }

    /** The command is through. */
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
