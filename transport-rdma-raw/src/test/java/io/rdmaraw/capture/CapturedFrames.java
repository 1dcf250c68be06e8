package io.rdmaraw.capture;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The frames and counters of a capture, read from replies of {@link FrameCapture#read}. */
public final class CapturedFrames implements AutoCloseable {
    private final long id;
    private final List<Frame> frames = new ArrayList<>();
    private final List<String> points = new ArrayList<>();
    private long[] seen = new long[0];
    private long[] dropped = new long[0];
    private int uncapturedQueues;
    private boolean last;

    /** A captured frame. */
    public record Frame(int point, boolean sent, long timeNanos, String dropReason, String channel, byte[] bytes,
            int lengthBytes) {
    }

    /** @param id the result of {@link FrameCapture#start} */
    public CapturedFrames(long id) {
        this.id = id;
    }

    /** Reads once. */
    public CapturedFrames read() {
        ByteBuffer in = ByteBuffer.wrap(FrameCapture.read(id, points.size()));
        last = in.get() == 1;
        uncapturedQueues = in.getInt();
        int count = in.getInt();
        for (int added = in.getInt(); added > 0; added--) {
            int port = in.getInt();
            points.add(text(in, in.getInt()) + ' ' + port + ' ' + text(in, in.getInt()));
        }
        seen = new long[count];
        dropped = new long[count];
        for (int i = 0; i < count; i++) {
            seen[i] = in.getLong();
            dropped[i] = in.getLong();
        }
        while (in.hasRemaining()) {
            int source = in.getInt();
            byte[] bytes = new byte[in.getInt()];
            int length = in.getInt();
            long time = in.getLong();
            String dropReason = text(in, in.get());
            String channel = text(in, in.get());
            in.get(bytes);
            frames.add(new Frame(source >>> 1, (source & 1) != 0, time, dropReason, channel, bytes, length));
        }
        return this;
    }

    /** Stops the capture and reads the rest. */
    public CapturedFrames stop() {
        FrameCapture.stop(id);
        do {
            read();
        } while (!last);
        return this;
    }

    /** Ends the capture if it runs. */
    @Override
    public void close() {
        if (!last) {
            stop();
        }
    }

    private static String text(ByteBuffer in, int length) {
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    public List<Frame> frames() {
        return frames;
    }

    /** Returns the device, the port and the loop of each queue. */
    public List<String> points() {
        return points;
    }

    /** Returns the number of frames that the filter has seen on a device. */
    public long seen(String device) {
        return seen[indexOf(device)];
    }

    public long dropped(String device) {
        return dropped[indexOf(device)];
    }

    /** Returns the number of queues that are not captured, or no longer because of an error. */
    public int uncapturedQueues() {
        return uncapturedQueues;
    }

    private int indexOf(String device) {
        int index = 0;
        while (!points.get(index).startsWith(device + ' ')) {
            index++;
        }
        return index;
    }
}
