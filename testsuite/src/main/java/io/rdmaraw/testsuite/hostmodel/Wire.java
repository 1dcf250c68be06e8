package io.rdmaraw.testsuite.hostmodel;

import java.util.function.Consumer;

/** The far end of a link, which injects frames to the host and reads the frames of the host. Used by one thread. */
interface Wire extends AutoCloseable {
    /** Sends a frame to the host. Returns false while the link is down. */
    boolean inject(byte[] frame);

    /** Reads the frames that the host has sent. Returns whether there were any. */
    boolean read(Consumer<Frame> receiver);

    @Override
    void close();
}
