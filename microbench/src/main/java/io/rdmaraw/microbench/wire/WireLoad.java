package io.rdmaraw.microbench.wire;

import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;

/** An echo server on AF_XDP under load, until it is closed. {@code profile} observes it. */
public final class WireLoad implements AutoCloseable {
    private static final int WINDOW = 64;
    private static final int FRAME_BYTES = 64;
    private static final double TURN_SECONDS = 1;

    private final Wire wire = new Wire(new PrintWriter(System.err, true));
    private final Wire.Server server;
    private final Thread generator = new Thread(this::generate, "generator");
    private volatile boolean ended;
    private volatile RuntimeException failure;

    /** @param datagrams whether the server echoes datagrams instead of frames */
    public WireLoad(boolean datagrams) {
        try {
            server = wire.startServer(datagrams ? WireTransport.XDP_DATAGRAM : WireTransport.XDP);
            server.open();
        } catch (RuntimeException e) {
            wire.close();
            throw e;
        }
        generator.start();
    }

    private void generate() {
        try {
            while (!ended) {
                wire.generate(WINDOW, FRAME_BYTES, TURN_SECONDS);
            }
        } catch (RuntimeException e) {
            failure = e;
        }
    }

    /** Returns the ID of the server process. */
    public long pid() {
        return server.pid();
    }

    /** Stops the generator and the server. Throws if the generator has failed. */
    @Override
    public void close() {
        ended = true;
        try {
            generator.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            server.close();
            wire.close();
        }
        if (failure != null) {
            throw new ToolException("the generator failed: " + failure.getMessage(), failure);
        }
    }
}
