package io.rdmaraw.tools.dump;

import java.io.IOException;

/** The destination of captured frames. */
interface FrameSink extends AutoCloseable {
    /** Adds a queue. The index of the first one is 0. */
    void add(CaptureReply.Point point) throws IOException;

    /** @param point index of the frame's queue */
    void write(int point, CaptureReply.Frame frame) throws IOException;

    /** Sets the counters of a queue, for {@link #close}. */
    void count(int point, long seen, long dropped);

    /** Writes buffered frames to their destination. */
    void flush() throws IOException;

    @Override
    void close() throws IOException;
}
