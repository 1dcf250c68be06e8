package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.run.RunFailure;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Runs the receiving side on a separate thread if both sides run in this process. */
final class ServerThread implements AutoCloseable {
    private final RunFailure failure = new RunFailure();
    private final Thread thread;
    private volatile boolean running = true;

    /**
     * Starts the thread.
     *
     * @param server runs until the condition passed to it is false
     */
    ServerThread(Consumer<BooleanSupplier> server) {
        thread = Thread.ofPlatform().daemon().name("perf server").start(() -> {
            try {
                server.accept(() -> running);
            } catch (RuntimeException | Error e) {
                failure.report(e);
            }
        });
    }

    /** Returns whether the server has not failed, so that the other side can continue. */
    boolean isHealthy() {
        return failure.latch().getCount() > 0;
    }

    /** Waits until the server has returned. */
    void await() throws InterruptedException {
        thread.join();
        failure.throwIfReported("the receiving side");
    }

    @Override
    public void close() {
        running = false;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        failure.throwIfReported("the receiving side");
    }
}
