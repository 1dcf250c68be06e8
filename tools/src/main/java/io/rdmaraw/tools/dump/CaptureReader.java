package io.rdmaraw.tools.dump;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Reads the captures of a process, one for each copy of the transport, into one sink. Frames of one copy are in the
 * order of their times.
 */
final class CaptureReader {
    private final List<RemoteCapture> captures;
    private final FrameSink sink;
    private final long maxFrames;
    /** Index in the sink of each queue of each capture. */
    private final List<List<Integer>> sinkPoints = new ArrayList<>();
    private final List<CaptureReply> last = new ArrayList<>();
    private int points;
    private long written;

    /** @param maxFrames number of frames after which the sink is full; 0 without a limit */
    CaptureReader(List<RemoteCapture> captures, FrameSink sink, long maxFrames) {
        this.captures = captures;
        this.sink = sink;
        this.maxFrames = maxFrames;
        for (int i = 0; i < captures.size(); i++) {
            sinkPoints.add(new ArrayList<>());
            last.add(null);
        }
    }

    boolean isFull() {
        return maxFrames > 0 && written >= maxFrames;
    }

    /** Reads each capture once. Returns the number of bytes of all frames read. */
    long read() throws IOException {
        long bytes = 0;
        for (int i = 0; i < captures.size(); i++) {
            bytes += read(i);
        }
        sink.flush();
        return bytes;
    }

    private long read(int index) throws IOException {
        CaptureReply reply = captures.get(index).read();
        last.set(index, reply);
        List<Integer> indices = sinkPoints.get(index);
        for (CaptureReply.Point point : reply.newPoints()) {
            sink.add(point);
            indices.add(points++);
        }
        for (int i = 0; i < indices.size(); i++) {
            sink.count(indices.get(i), reply.seen()[i], reply.dropped()[i]);
        }
        for (CaptureReply.Frame frame : reply.frames()) {
            if (!isFull()) {
                sink.write(indices.get(frame.point()), frame);
                written++;
            }
        }
        return reply.frames().stream().mapToLong(frame -> frame.bytes().length).sum();
    }

    /** Stops the captures and reads their remaining frames. */
    void stop() throws IOException {
        for (int i = 0; i < captures.size(); i++) {
            captures.get(i).stop();
            do {
                read(i);
            } while (!last.get(i).isLast());
        }
        sink.flush();
    }

    void printTotals(PrintWriter err) {
        printTotals(err, written, last);
    }

    /** Prints the number of frames written, and the sums of the last replies. */
    static void printTotals(PrintWriter err, long written, List<CaptureReply> replies) {
        long seen = 0;
        long dropped = 0;
        long uncapturedQueues = 0;
        for (CaptureReply reply : replies) {
            seen += LongStream.of(reply.seen()).sum();
            dropped += LongStream.of(reply.dropped()).sum();
            uncapturedQueues += reply.uncapturedQueues();
        }
        err.println(written + " frames captured");
        err.println(seen + " frames seen by the filter");
        err.println(dropped + " frames dropped from the capture because its buffer was full (-B)");
        if (uncapturedQueues > 0) {
            err.println(uncapturedQueues + " queues not captured, or not to the end; the log of the process has the"
                    + " reason");
        }
        err.flush();
    }
}
