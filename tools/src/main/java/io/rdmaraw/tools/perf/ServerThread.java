package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.report.RunFailure;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** The side that receives, on a thread of its own, when both sides run in this process. */
final class ServerThread implements AutoCloseable {
    private final RunFailure failure = new RunFailure();
    private final Thread thread;
    private volatile boolean running = true;

    /** @param server runs until the condition it is given is false */
    ServerThread(Consumer<BooleanSupplier> server) {
        thread = Thread.ofPlatform().daemon().name("perf server").start(() -> {
            try {
                server.accept(() -> running);
            } catch (RuntimeException | Error e) {
                failure.report(e);
            }
        });
    }

    /** Whether the other side should go on. */
    boolean isWell() {
        return failure.latch().getCount() > 0;
    }

    /** Waits until it has ended by itself. */
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
