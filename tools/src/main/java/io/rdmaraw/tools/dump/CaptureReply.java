package io.rdmaraw.tools.dump;

import io.rdmaraw.tools.command.ToolException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A reply of the operation {@code readCapture}. The process may be hostile, so that all lengths are checked.
 *
 * @param isLast    whether the capture has stopped and has no further frames
 * @param uncapturedQueues number of queues that are not captured, or no longer
 * @param newPoints the queues that earlier replies did not have
 * @param seen      number of frames that the filter of each queue has seen
 * @param dropped   number of frames for which the buffer of each queue had no room
 */
record CaptureReply(boolean isLast, int uncapturedQueues, List<Point> newPoints, long[] seen, long[] dropped,
        List<Frame> frames) {
    /** Limit for hosts with the most queues. */
    private static final int MAX_POINTS = 100_000;

    /** The queue of a loop on a device port. */
    record Point(String device, int port, String loop) {
    }

    /**
     * A captured frame.
     *
     * @param point      index of its queue
     * @param dropReason why the process has dropped it, or an empty text
     * @param channel    ID of its channel, or an empty text
     */
    record Frame(int point, boolean sent, long timeNanos, String dropReason, String channel, byte[] bytes,
            int lengthBytes) {
    }

    /** @param knownPoints number of queues in earlier replies */
    static CaptureReply parse(byte[] reply, int knownPoints) {
        try {
            return parse(ByteBuffer.wrap(reply), knownPoints);
        } catch (BufferUnderflowException | IllegalArgumentException | NegativeArraySizeException e) {
            throw new ToolException("the process sent a malformed reply", e);
        }
    }

    private static CaptureReply parse(ByteBuffer in, int knownPoints) {
        boolean isLast = in.get() != 0;
        int uncapturedQueues = in.getInt();
        int count = in.getInt();
        int added = in.getInt();
        check(count >= 0 && count <= MAX_POINTS && added == count - knownPoints);
        List<Point> points = new ArrayList<>();
        for (int i = 0; i < added; i++) {
            int port = in.getInt();
            points.add(new Point(text(in, in.getInt()), port, text(in, in.getInt())));
        }
        long[] seen = new long[count];
        long[] dropped = new long[count];
        for (int i = 0; i < count; i++) {
            seen[i] = in.getLong();
            dropped[i] = in.getLong();
        }
        List<Frame> frames = new ArrayList<>();
        while (in.hasRemaining()) {
            int source = in.getInt();
            int capturedBytes = in.getInt();
            int lengthBytes = in.getInt();
            long timeNanos = in.getLong();
            String dropReason = text(in, in.get());
            String channel = text(in, in.get());
            check(source >>> 1 < count && capturedBytes >= 0 && capturedBytes <= in.remaining()
                    && capturedBytes <= lengthBytes);
            byte[] bytes = new byte[capturedBytes];
            in.get(bytes);
            frames.add(new Frame(source >>> 1, (source & 1) != 0, timeNanos, dropReason, channel, bytes, lengthBytes));
        }
        return new CaptureReply(isLast, uncapturedQueues, points, seen, dropped, frames);
    }

    /** Returns a text without control characters, which could change the terminal. */
    private static String text(ByteBuffer in, int length) {
        check(length >= 0 && length <= in.remaining());
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
    }

    private static void check(boolean condition) {
        if (!condition) {
            throw new IllegalArgumentException();
        }
    }
}
