package io.rdmaraw.tools.dump;

import java.io.IOException;
import java.io.PrintWriter;

/** Prints a line for each frame. */
final class FrameLines implements FrameSink {
    private final PrintWriter out;

    FrameLines(PrintWriter out) {
        this.out = out;
    }

    @Override
    public void add(CaptureReply.Point point) {
        // Lines do not name queues.
    }

    @Override
    public void write(int point, CaptureReply.Frame frame) {
        out.println(FrameText.of(frame));
    }

    @Override
    public void count(int point, long seen, long dropped) {
        // The command prints the sums.
    }

    @Override
    public void flush() throws IOException {
        if (out.checkError()) {
            throw new IOException("the standard output is closed");
        }
    }

    @Override
    public void close() {
        out.flush();
    }
}
